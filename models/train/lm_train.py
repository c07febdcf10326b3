"""Trains the bundled language model from scratch on one CPU core: a Qwen2 of two million parameters.

    python -m models.train.lm_train --out DIR [--steps N] [--minutes M] [--tiny]

Running it again with the same --out resumes from the last checkpoint. The learning rate is constant and falls
linearly to zero over the last third of the steps. Curves go to DIR/curve.jsonl, the averaged weights to DIR/model.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from transformers import Qwen2Config, Qwen2ForCausalLM

from models.train.lm_data import Batch, Mixture, Probe, Rows, collate, probes
from models.train.lm_tokenizer import END_OF_TEXT, TURN_END, make_tokenizer

VOCABULARY = 2048
CONTEXT = 4096
MUON_RATE, ADAM_RATE = 0.02, 3e-3
AVERAGING = 0.997


def make_model(tokenizer: Tokenizer, tiny: bool) -> Qwen2ForCausalLM:
    """An untrained model whose attention starts out looking for equal tokens (mimetic initialisation, 2305.09828)."""
    torch.manual_seed(1)
    width, layers, heads = (64, 2, 1) if tiny else (192, 4, 3)
    config = Qwen2Config(
        vocab_size=VOCABULARY,
        hidden_size=width,
        intermediate_size=width * 8 // 3,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.token_to_id(TURN_END),
        pad_token_id=tokenizer.token_to_id(END_OF_TEXT),
        use_cache=False,
        attn_implementation="eager",  # at these lengths faster than the fused kernel, and it compiles
    )
    model = Qwen2ForCausalLM(config)
    with torch.no_grad():
        torch.nn.init.normal_(model.model.embed_tokens.weight, std=width**-0.5)
        for layer in model.model.layers:
            attention = layer.self_attn
            torch.nn.init.normal_(attention.q_proj.weight, std=width**-0.5)
            noise = torch.randn_like(attention.q_proj.weight) * width**-0.5
            attention.k_proj.weight.copy_(0.8 * attention.q_proj.weight + 0.6 * noise)
            torch.nn.init.orthogonal_(attention.v_proj.weight)
            attention.o_proj.weight.copy_(0.5 * attention.v_proj.weight.T)
    return model


def loss_at(model: Qwen2ForCausalLM, ids: torch.Tensor, places: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """Mean cross-entropy of the ids `wanted` int64 [n] after the flat positions `places` int64 [n] of `ids`."""
    with torch.autocast("cpu", dtype=torch.bfloat16):
        hidden = model.model(input_ids=ids).last_hidden_state.flatten(0, 1)
        logits = model.lm_head(hidden[places])
    return F.cross_entropy(logits.float(), wanted)


@torch.no_grad()
def score(model: Qwen2ForCausalLM, held_out: Sequence[Probe]) -> dict[str, float]:
    """Share of held-out calls whose tool, and whose every token, would be written right by greedy decoding."""
    named = exact = 0
    failed: Counter[str] = Counter()
    order = sorted(held_out, key=lambda probe: len(probe.row[0]))
    for at in range(0, len(order), 64):
        group = order[at : at + 64]
        batch = collate([probe.row for probe in group])
        with torch.autocast("cpu", dtype=torch.bfloat16):
            guessed = model(input_ids=batch.ids).logits.argmax(-1)
        right = guessed[:, :-1] == batch.ids[:, 1:]
        for index, probe in enumerate(group):
            span = right[index, probe.start - 1 : len(probe.row[0]) - 1]
            named += bool(span[:4].all())  # <tool_call>, newline, {"name": ", the tool
            exact += bool(span.all())
            failed[probe.tool] += not bool(span.all())
    return {
        "tool": named / len(order),
        "exact": exact / len(order),
        **{f"-{tool}": n for tool, n in failed.most_common(4) if n},
    }


class Trainer:
    """Model, optimisers, averaged weights and data, with everything that a checkpoint must hold."""

    def __init__(self, out: Path, steps: int, tiny: bool, tokens: int) -> None:
        self.out, self.steps, self.tokens = out, steps, tokens
        out.mkdir(parents=True, exist_ok=True)
        path = out / "tokenizer.json"
        if not path.exists():
            make_tokenizer(VOCABULARY).save(str(path))
        self.tokenizer = Tokenizer.from_file(str(path))
        self.rows = Rows(self.tokenizer, seed=11)
        self.model = make_model(self.tokenizer, tiny)
        matrices = [p for n, p in self.model.named_parameters() if p.ndim == 2 and "embed" not in n]
        others = [p for n, p in self.model.named_parameters() if p.ndim != 2 or "embed" in n]
        self.muon = torch.optim.Muon(matrices, lr=MUON_RATE, momentum=0.95, weight_decay=0.01)
        self.adam = torch.optim.AdamW(others, lr=ADAM_RATE, betas=(0.9, 0.95), weight_decay=0.0)
        self.average = {n: p.detach().clone() for n, p in self.model.named_parameters()}
        self.loss = torch.compile(loss_at, dynamic=True) if not tiny else loss_at
        self.step = 0
        self.seen_tokens = 0
        count = 20 if tiny else 300
        self.single = probes(self.rows, [1] * count, seed=101, with_tools=False)
        self.dialogue = probes(self.rows, [2, 3, 4] * (count // 3), seed=102, with_tools=True)
        if (out / "checkpoint.pt").exists():
            self._load(out / "checkpoint.pt")

    def _load(self, path: Path) -> None:
        state = torch.load(path, weights_only=True)
        self.model.load_state_dict(state["model"])
        self.muon.load_state_dict(state["muon"])
        self.adam.load_state_dict(state["adam"])
        self.average = state["average"]
        self.step, self.seen_tokens = state["step"], state["seen_tokens"]
        self.rows = Rows(self.tokenizer, seed=11 + self.step)

    def save(self) -> None:
        """Write the checkpoint in one move, so that a kill leaves the old one."""
        state = {
            "model": self.model.state_dict(),
            "muon": self.muon.state_dict(),
            "adam": self.adam.state_dict(),
            "average": self.average,
            "step": self.step,
            "seen_tokens": self.seen_tokens,
        }
        torch.save(state, self.out / "checkpoint.tmp")
        os.replace(self.out / "checkpoint.tmp", self.out / "checkpoint.pt")

    def learn(self, batch: Batch) -> float:
        """One optimiser step; the loss."""
        left = (self.steps - self.step) / max(1, self.steps / 3)
        factor = min(1.0, (self.step + 1) / 100, max(0.01, left))
        for optimiser, rate in ((self.muon, MUON_RATE), (self.adam, ADAM_RATE)):
            for group in optimiser.param_groups:
                group["lr"] = rate * factor
        places = torch.nonzero(batch.learned[:, 1:].flatten()).flatten()
        width = batch.ids.shape[1]
        places += places // (width - 1)  # the flat index skips each row's last token, which predicts nothing
        loss = self.loss(self.model, batch.ids, places, batch.ids.flatten()[places + 1])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.adam.param_groups[0]["params"], 1.0)
        for optimiser in (self.muon, self.adam):
            optimiser.step()
            optimiser.zero_grad()
        decay = min(AVERAGING, (self.step + 1) / (self.step + 10))
        for name, parameter in self.model.named_parameters():
            self.average[name].lerp_(parameter.detach(), 1 - decay)
        self.step += 1
        self.seen_tokens += batch.ids.numel()
        return float(loss.item())

    def averaged(self) -> Qwen2ForCausalLM:
        """A copy of the model with the averaged weights."""
        model = Qwen2ForCausalLM(self.model.config)
        model.load_state_dict({**self.model.state_dict(), **self.average}, strict=False)
        model.tie_weights()
        return model.eval()

    def run(self, minutes: float, evaluate_every: int) -> None:
        """Train until the steps or the minutes are used up, then save model and checkpoint."""
        started, losses = time.monotonic(), []
        with (self.out / "curve.jsonl").open("a") as curve:
            while self.step < self.steps and time.monotonic() - started < minutes * 60:
                mixture = Mixture(self.step / self.steps)
                for batch in self.rows.batches(mixture, self.tokens, 12):
                    losses.append(self.learn(batch))
                    due = self.step % evaluate_every == 0
                    if due or self.step % 25 == 0:
                        row: dict[str, object] = {
                            "step": self.step,
                            "tokens": self.seen_tokens,
                            "seconds": round(time.monotonic() - started),
                            "loss": round(sum(losses) / len(losses), 4),
                        }
                        losses.clear()
                        if due:
                            model = self.averaged()
                            row |= {"single": score(model, self.single), "dialogue": score(model, self.dialogue)}
                            self.save()
                        curve.write(json.dumps(row) + "\n")
                        curve.flush()
                        print(json.dumps(row), flush=True)
                    if self.step >= self.steps:
                        break
        self.save()
        self.averaged().save_pretrained(self.out / "model")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--tokens", type=int, default=8192, help="tokens a batch")
    parser.add_argument("--evaluate-every", type=int, default=250)
    parser.add_argument("--tiny", action="store_true", help="a very small model, to try the recipe")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    trainer = Trainer(arguments.out, arguments.steps, arguments.tiny, arguments.tokens)
    trainer.run(arguments.minutes, arguments.evaluate_every)


if __name__ == "__main__":
    main()
