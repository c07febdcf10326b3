"""Trains the adapter of SmolLM2-135M-Instruct on made-up agents and conversations, on a CPU.

    python -m models.train.adapter_train --gguf FILE --out DIR --minutes 300 [--resume] [--threads 2]

The learning rate rises over the first steps, is constant, and falls to almost nothing over the last fifth of the minutes or
tokens. A checkpoint is written every ten minutes and at the end; --resume goes on from it. The curve goes to DIR/curve.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F

from models.train.adapter_base import Base
from models.train.adapter_layers import adapt
from models.train.adapter_rows import LONGEST, UNLEARNED, Row, Rows

RATE, WARMUP_STEPS, FALLING_SHARE, LEAST = 1.5e-3, 30, 0.2, 0.02
ROWS_A_STEP = 2
TYPICAL_TOKENS = 60
"""That are learned in a row: keeps the gradients of several rows in a good range until they are divided by the true number."""
CHECKPOINT = "checkpoint.pt"
CHECKPOINT_EVERY_S = 600.0
TINY_LONGEST = 4096
"""A small vocabulary needs many tokens."""


@dataclass
class Progress:
    """How far a training is, over all its runs."""

    step: int = 0
    tokens: int = 0
    learned: int = 0
    seconds: float = 0.0

    def share(self, minutes: float, tokens: float) -> float:
        """Of the whole, 0 to 1."""
        return min(1.0, max(self.seconds / 60 / minutes, self.tokens / tokens))


def factor(step: int, share: float) -> float:
    """Of the learning rate."""
    return min(1.0, 0.03 + step / WARMUP_STEPS, max(LEAST, (1 - share) / FALLING_SHARE))


class Trainer:
    """Model, optimiser and data."""

    def __init__(self, base: Base, out: Path, seed: int, exact: bool, longest: int) -> None:
        self._out, self._model, self._seed = out, base.model, seed
        out.mkdir(parents=True, exist_ok=True)
        torch.manual_seed(seed)
        self._layers = adapt(base.model, exact)
        self._parameters = [p for p in base.model.parameters() if p.requires_grad]
        self._adam = torch.optim.AdamW(self._parameters, RATE, weight_decay=0, betas=(0.9, 0.98))
        self._tokenizer, self._longest = base.tokenizer, longest
        self.progress = Progress()

    def resume(self) -> None:
        """Go on from the checkpoint, with other conversations."""
        state = torch.load(self._out / CHECKPOINT, weights_only=True)
        for name, layer in self._layers.items():
            layer.load_state_dict(state["adapter"][name])
        self._adam.load_state_dict(state["adam"])
        self.progress = Progress(**state["progress"])

    def save(self) -> None:
        """Write the checkpoint in one move, so that a kill leaves the old one."""
        adapter = {name: layer.state_dict() for name, layer in self._layers.items()}
        state = {"adapter": adapter, "adam": self._adam.state_dict(), "progress": vars(self.progress)}
        torch.save(state, self._out / "checkpoint.tmp")
        os.replace(self._out / "checkpoint.tmp", self._out / CHECKPOINT)

    def run(self, minutes: float, tokens: float) -> None:
        """Train until the minutes or the tokens are used up."""
        rows = Rows(self._tokenizer, self._seed + self.progress.step, self._longest)
        before, last, saved = self.progress.seconds, time.monotonic(), time.monotonic()
        began = last - before
        with (self._out / "curve.jsonl").open("a") as curve:
            while (share := self.progress.share(minutes, tokens)) < 1:
                loss = self._learn([rows.draw() for _ in range(ROWS_A_STEP)], factor(self.progress.step, share))
                self.progress.seconds = time.monotonic() - began
                if self.progress.step % 10 == 0:
                    curve.write(json.dumps({**vars(self.progress), "loss": round(loss, 4)}) + "\n")
                    curve.flush()
                if time.monotonic() - saved > CHECKPOINT_EVERY_S:
                    saved = time.monotonic()
                    self.save()
        self.save()

    def _learn(self, rows: list[Row], factor: float) -> float:
        """One step; the loss of a token before it."""
        learned, total = 0, 0.0
        for row in rows:
            loss, count = self._loss(row)
            (loss / TYPICAL_TOKENS).backward()
            learned, total = learned + count, total + loss.item()
        for parameter in self._parameters:
            assert parameter.grad is not None
            parameter.grad.mul_(TYPICAL_TOKENS / learned)
        torch.nn.utils.clip_grad_norm_(self._parameters, 1.0)
        for group in self._adam.param_groups:
            group["lr"] = RATE * factor
        self._adam.step()
        self._adam.zero_grad()
        self.progress.step += 1
        self.progress.learned += learned
        self.progress.tokens += sum(len(row.ids) for row in rows)
        return total / learned

    def _loss(self, row: Row) -> tuple[torch.Tensor, int]:
        """Cross-entropy summed over what is to be learned, and how many tokens that are."""
        ids, positions = torch.tensor([row.ids]), torch.tensor([row.positions])
        seen = self._model.model(input_ids=ids, position_ids=positions, attention_mask=row.mask(), use_cache=False)
        wanted = row.wanted()
        places = wanted != UNLEARNED
        logits = self._model.lm_head(seen.last_hidden_state[0, :-1][places])
        return F.cross_entropy(logits, wanted[places], reduction="sum"), int(places.sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gguf", type=Path, help="the base model; none with --tiny")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--tokens", type=float, default=float("inf"))
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint in --out")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--exact", action="store_true", help="the frozen weights in float32, for a CPU without VNNI")
    parser.add_argument("--tiny", action="store_true", help="a tiny base model with random weights, to try the recipe")
    arguments = parser.parse_args()
    if (arguments.gguf is None) != arguments.tiny:
        parser.error("one of --gguf and --tiny is needed")
    if min(arguments.minutes, arguments.tokens) == float("inf"):
        parser.error("--minutes or --tokens is needed: when the training ends")
    torch.set_num_threads(arguments.threads)
    longest = TINY_LONGEST if arguments.tiny else LONGEST
    trainer = Trainer(Base.open(arguments.gguf), arguments.out, arguments.seed, arguments.exact, longest)
    if arguments.resume:
        trainer.resume()
    trainer.run(arguments.minutes, arguments.tokens)
    print(json.dumps(vars(trainer.progress)))


if __name__ == "__main__":
    main()
