"""Trains the adapter of SmolLM2-135M-Instruct on made-up agents and conversations.

    python -m models.train.adapter_train --gguf FILE --out DIR --minutes 300 [--resume | --adapter FOLDER] [--workers 2]
    python -m models.train.adapter_train --gguf FILE --out DIR --minutes 6 --device cuda --loaders 14 [--rows 32]

The learning rate rises over the first steps, is constant, and falls to almost nothing over the last three tenths of the minutes
or tokens. A checkpoint is written every five minutes and at the end; --resume goes on from it, --adapter from an exported
adapter, as a new training. --spoken teaches where callers' turns end (`adapter_spoken`) beside the conversations. The curve
goes to DIR/curve.jsonl.
Each worker learns from conversations of its own on one core; every minute their adapters become the mean of all (local SGD,
Stich 2019), which costs two small models less than two threads that wait for each other in every product of matrices.
With --loaders one worker learns from many rows a step, padded to one length, which other processes draw ahead: for a GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from safetensors.torch import load_file, save_file

from models.train.adapter_attention import attend_in_matrices
from models.train.adapter_base import Base
from models.train.adapter_layers import LORA_NAMES, Arithmetic, adapt, fastest, peft_tensors
from models.train.adapter_rows import LONGEST, UNLEARNED, Batch, Rows, batches
from models.train.adapter_spoken import ENDS, ending_ids

RATE, WARMUP_STEPS, FALLING_SHARE, LEAST = 1.5e-3, 30, 0.3, 0.02
ROWS_A_STEP = 2
TYPICAL_TOKENS = 60
"""That are learned in a row: keeps the gradients of several rows in a good range until they are divided by the true number."""
CHECKPOINT = "checkpoint.pt"
ROUND_S = 60.0
"""After which the workers share what they learned."""
TINY_LONGEST = 4096
"""A small vocabulary needs many tokens."""


@dataclass(frozen=True)
class Lessons:
    """What is learned, and how fast."""

    longest: int
    """Tokens of a row."""
    heard: Sequence[str]
    spoken_share: float
    """Of the rows, those of callers' turns."""
    rate: float
    top: int
    """So many layers learn, from the top; 0: all."""
    rows: int
    """Of a step."""
    loaders: int
    """Processes that draw rows; 0: each worker draws its own, one at a time."""
    checkpoint_s: float
    """Seconds between two checkpoints."""
    device: str


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

    def __init__(self, base: Base, out: Path, seed: int, arithmetic: Arithmetic, lessons: Lessons, worker: int = 0) -> None:
        self._out, self._model, self._seed, self._worker = out, base.model, seed, worker
        torch.manual_seed(seed)
        self._layers = adapt(base.model, arithmetic)
        for layer in base.model.model.layers[: -lessons.top] if lessons.top else ():
            layer.requires_grad_(False)
        if lessons.loaders:
            base.model.config._attn_implementation = "sdpa"
        else:
            attend_in_matrices(base.model)
        base.model.to(lessons.device)
        if lessons.device == "cuda":
            for layer in base.model.model.layers:
                layer.compile(dynamic=False)
        self._parameters = [p for p in base.model.parameters() if p.requires_grad]
        self._adam = torch.optim.AdamW(self._parameters, lessons.rate, weight_decay=0, betas=(0.9, 0.98))
        self._head = base.model.lm_head.weight.detach().bfloat16().t()
        self._tokenizer, self._lessons = base.tokenizer, lessons
        self._endings = torch.tensor(ending_ids(base.tokenizer), device=lessons.device)
        self.progress = Progress()

    def resume(self) -> None:
        """Go on from the checkpoint, with other conversations."""
        state = torch.load(self._out / CHECKPOINT, weights_only=True)
        for name, layer in self._layers.items():
            layer.load_state_dict(state["adapter"][name])
        self._adam.load_state_dict(state["adam"])
        self.progress = Progress(**state["progress"])

    def start(self, adapter: Path) -> None:
        """Begin with an adapter as `adapter_export` writes it."""
        tensors = load_file(adapter / "adapter_model.safetensors")
        for name, layer in self._layers.items():
            layer.load_state_dict({part: tensors[f"base_model.model.{name}.{lora}.weight"] for part, lora in LORA_NAMES.items()})

    def save(self) -> None:
        """Write the checkpoint in one move, so that a kill leaves the old one; the first worker does."""
        if self._worker:
            return
        adapter = {name: layer.state_dict() for name, layer in self._layers.items()}
        state = {"adapter": adapter, "adam": self._adam.state_dict(), "progress": vars(self.progress)}
        torch.save(state, self._out / "checkpoint.tmp")
        os.replace(self._out / "checkpoint.tmp", self._out / CHECKPOINT)
        if self._lessons.loaders:
            save_file(peft_tensors(adapter), self._out / f"adapter-{self.progress.step:06d}.safetensors")

    def run(self, minutes: float, tokens: float) -> None:
        """Train until the minutes or the tokens are used up."""
        steps = self._steps()
        saved = time.monotonic()
        with (self._out / f"curve{self._worker or ''}.jsonl").open("a") as curve:
            while self.progress.share(minutes, tokens) < 1:
                loss = self._round(steps, minutes, tokens)
                curve.write(json.dumps({**vars(self.progress), "loss": round(loss, 4)}) + "\n")
                curve.flush()
                if time.monotonic() - saved > self._lessons.checkpoint_s:
                    saved = time.monotonic()
                    self.save()
        self.save()

    def _steps(self) -> Iterator[list[Batch]]:
        """For each step its rows."""
        lessons, seed = self._lessons, 1000 * (self._seed + self.progress.step) + self._worker

        def rows(worker: int) -> Rows:
            return Rows(self._tokenizer, seed + worker, lessons.longest, lessons.heard, lessons.spoken_share)

        if lessons.loaders:
            width = -(-lessons.longest // 8) * 8
            yield from ([batch] for batch in batches(rows, lessons.rows, width, lessons.loaders))
        own = rows(0)
        while True:
            yield [Batch.of([own.draw()]) for _ in range(lessons.rows)]

    def _round(self, steps: Iterator[list[Batch]], minutes: float, tokens: float) -> float:
        """Learn for a while, then share; the mean loss of this worker's steps."""
        before, began, losses = Progress(**vars(self.progress)), time.monotonic(), list[float]()
        while (share := self.progress.share(minutes, tokens)) < 1 and time.monotonic() - began < ROUND_S:
            losses.append(self._learn(next(steps), factor(self.progress.step, share)))
            self.progress.seconds = before.seconds + time.monotonic() - began
        if dist.is_initialized():
            self._share(before)
        return sum(losses) / len(losses)

    def _share(self, before: Progress) -> None:
        """Take the mean of all workers' adapters, the sum of what they did since `before`, and the slowest's clock."""
        adapter = torch.nn.utils.parameters_to_vector(self._parameters)
        dist.all_reduce(adapter)
        torch.nn.utils.vector_to_parameters(adapter / dist.get_world_size(), self._parameters)
        done = torch.tensor([getattr(self.progress, name) - getattr(before, name) for name in ("step", "tokens", "learned")])
        dist.all_reduce(done)
        clock = torch.tensor(self.progress.seconds, dtype=torch.float64)
        dist.all_reduce(clock, dist.ReduceOp.MAX)
        step, tokens, learned = (int(number) for number in done)
        self.progress = Progress(before.step + step, before.tokens + tokens, before.learned + learned, clock.item())

    def _learn(self, step: list[Batch], factor: float) -> float:
        """One step; the loss of a token before it."""
        learned, total = 0, 0.0
        for batch in step:
            loss, count = self._loss(batch.to(self._lessons.device))
            (loss / TYPICAL_TOKENS).backward()
            learned, total = learned + count, total + loss.item()
        for parameter in self._parameters:
            assert parameter.grad is not None
            parameter.grad.mul_(TYPICAL_TOKENS / learned)
        torch.nn.utils.clip_grad_norm_(self._parameters, 1.0)
        for group in self._adam.param_groups:
            group["lr"] = self._lessons.rate * factor
        self._adam.step()
        self._adam.zero_grad()
        self.progress.step += 1
        self.progress.learned += learned
        self.progress.tokens += sum(int((batch.numbers >= 0).sum()) for batch in step)
        return total / learned

    def _loss(self, batch: Batch) -> tuple[torch.Tensor, int]:
        """Cross-entropy summed over what is to be learned, and how many tokens that are."""
        mask = batch.mask(self._model.dtype)
        seen = self._model.model(input_ids=batch.ids, position_ids=batch.positions, attention_mask=mask, use_cache=False)
        states, places = seen.last_hidden_state, batch.wanted != UNLEARNED
        loss = F.cross_entropy(self._logits(states[places]), batch.wanted[places], reduction="sum")
        count = int(places.sum())
        places = batch.judged != 0
        if judged := int(places.sum()):
            loss = loss + self._judging_loss(self._logits(states[places]), batch.judged[places] == ENDS)
        return loss, count + judged

    def _logits(self, states: torch.Tensor) -> torch.Tensor:
        return (states.bfloat16() @ self._head).float()

    def _judging_loss(self, logits: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
        """Cross-entropy of the probability of all endings together."""
        chances = torch.log_softmax(logits, -1)[:, self._endings].logsumexp(-1).exp().clamp(1e-5, 1 - 1e-5)
        return F.binary_cross_entropy(chances, ends.float(), reduction="sum")


def work(worker: int, arguments: argparse.Namespace) -> None:
    """What one worker does."""
    if arguments.workers > 1:
        meeting = f"file://{arguments.out.absolute() / 'meeting'}"
        dist.init_process_group("gloo", init_method=meeting, rank=worker, world_size=arguments.workers)
    torch.set_num_threads(1)
    longest = TINY_LONGEST if arguments.tiny else LONGEST
    heard = arguments.heard.read_text(encoding="utf-8").splitlines() if arguments.heard else []
    on_gpu = arguments.device == "cuda"
    arithmetic: Arithmetic = "float32" if arguments.exact else "bfloat16" if on_gpu else fastest()
    rows, every_s = arguments.rows or (32 if arguments.loaders else ROWS_A_STEP), 60 * arguments.checkpoint_minutes
    lessons = Lessons(
        longest, heard, arguments.spoken, arguments.rate, arguments.top, rows, arguments.loaders, every_s, arguments.device
    )
    trainer = Trainer(Base.open(arguments.gguf), arguments.out, arguments.seed, arithmetic, lessons, worker)
    if arguments.resume:
        trainer.resume()
    elif arguments.adapter:
        trainer.start(arguments.adapter)
    trainer.run(arguments.minutes, arguments.tokens)
    if not worker:
        print(json.dumps(vars(trainer.progress)))
    if arguments.workers > 1:
        dist.destroy_process_group()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gguf", type=Path, help="the base model; none with --tiny")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--tokens", type=float, default=float("inf"))
    begun = parser.add_mutually_exclusive_group()
    begun.add_argument("--resume", action="store_true", help="go on from the checkpoint in --out")
    begun.add_argument("--adapter", type=Path, help="begin with this exported adapter, a folder")
    parser.add_argument("--heard", type=Path, help="conversations that `adapter_hear` made, for the greater part of the rows")
    parser.add_argument("--spoken", type=float, default=0.0, help="share of the rows that teach where callers' turns end")
    parser.add_argument("--top", type=int, default=0, help="how many layers learn, from the top, which takes less time; 0: all")
    parser.add_argument("--rate", type=float, default=RATE, help="the learning rate at its highest")
    parser.add_argument("--workers", type=int, default=1, help="one for each core")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--loaders", type=int, default=0, help="processes that draw rows for one worker, as a GPU needs it")
    parser.add_argument("--rows", type=int, default=0, help="of a step (default: 2, with --loaders 32)")
    parser.add_argument("--checkpoint-minutes", type=float, default=5.0, help="with --loaders the adapter is kept each time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--exact", action="store_true", help="the frozen weights in float32, for a CPU with neither AMX nor VNNI")
    parser.add_argument("--tiny", action="store_true", help="a tiny base model with random weights, to try the recipe")
    arguments = parser.parse_args()
    if (arguments.gguf is None) != arguments.tiny:
        parser.error("one of --gguf and --tiny is needed")
    if min(arguments.minutes, arguments.tokens) == float("inf"):
        parser.error("--minutes or --tokens is needed: when the training ends")
    if (arguments.device == "cuda" and not arguments.loaders) or (arguments.loaders and arguments.workers > 1):
        parser.error("--device cuda needs --loaders, and --loaders is for one worker")
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "meeting").unlink(missing_ok=True)
    mp.spawn(work, (arguments,), nprocs=arguments.workers) if arguments.workers > 1 else work(0, arguments)


if __name__ == "__main__":
    main()
