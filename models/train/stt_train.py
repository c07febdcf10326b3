"""Trains the micro Whisper on one CPU thread in bfloat16, from the clips `stt_speak` made. Two helpers are decisive at this
size and amount of data: every encoder position names the phoneme it hears, and three heads of
cross-attention are pulled to where each token's sound lies. Without them the decoder learns the grammar and ignores the sound.

    python -m models.train.stt_train --data FOLDER --tokenizer tokenizer.json --out FOLDER [--minutes 82] [--tiny]
    python -m models.train.stt_train … --out OTHER --from FOLDER/whisper.pt --minutes 35 --learning-rate 5e-4   # on other data

New shards in the data folder are taken in while it runs; a run that was stopped goes on from its last checkpoint
(`whisper.pt`). The averaged weights in the checkpoint are what `stt_export` takes, and what a run with `--from` begins with.
"""

from __future__ import annotations

import argparse
import copy
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor, nn

from models.train.stt_batches import IGNORED, Batch, Batcher, phoneme_classes
from models.train.stt_corpus import Clip, read_shards
from models.train.stt_model import alignment_heads, decode, encode, new_model

_PHONEME_WEIGHT, _PLACE_WEIGHT = 0.5, 0.3
_WARM_UP_STEPS = 300
_AVERAGE_DECAY = 0.998
_REPORT_STEPS = 100
_SAVE_S = 120.0


@dataclass(frozen=True, slots=True)
class Shape:
    """Size of the network."""

    width: int = 128
    encoder_layers: int = 4
    decoder_layers: int = 2
    heads: int = 4


@dataclass(slots=True)
class Progress:
    """How far a run is, over all its restarts."""

    step: int = 0
    samples: int = 0
    elapsed_s: float = 0.0


def losses(model: Any, namer: nn.Linear, batch: Batch, phoneme_weight: float) -> tuple[Tensor, Tensor]:
    """The loss to minimise, and its three parts (text, phonemes, places) for the report."""
    with torch.autocast("cpu", dtype=torch.bfloat16):
        states = encode(model, batch.features)
        logits, attention = decode(model, batch.tokens_in, states, dropout=0.05)
        names = namer(states)
    text = F.cross_entropy(logits.float().flatten(0, 1), batch.tokens_out.flatten(), ignore_index=IGNORED, label_smoothing=0.05)
    phonemes = F.cross_entropy(names.float().flatten(0, 1), batch.phonemes.flatten(), ignore_index=IGNORED)
    guided = torch.stack([attention[layer][:, head] for layer, head in alignment_heads(len(attention))])
    on_place = (guided * batch.places).sum(-1)
    places = -(torch.log(on_place + 1e-4) * batch.placed).sum() / (batch.placed.sum() * len(guided) + 1)
    total = text + phoneme_weight * phonemes + _PLACE_WEIGHT * places
    return total, torch.stack([text.detach(), phonemes.detach(), places.detach()])


class Trainer:
    """One run: the network, its optimizer, its averaged copy and its progress, saved together."""

    def __init__(self, shape: Shape, classes: dict[str, int], learning_rate: float) -> None:
        self.shape, self.classes, self.learning_rate = shape, classes, learning_rate
        self.model = new_model(shape.width, shape.encoder_layers, shape.decoder_layers, shape.heads)
        self.namer = nn.Linear(shape.width, len(classes) + 1)
        self.average = copy.deepcopy(self.model)
        trained = [p for p in self.model.parameters() if p.requires_grad]
        self.parameters = [*trained, *self.namer.parameters()]
        self.optimizer = torch.optim.AdamW(self.parameters, lr=learning_rate, betas=(0.9, 0.98), weight_decay=0.01)
        self.progress = Progress()

    def step(self, batch: Batch, done: float) -> Tensor:
        """One update; `done` is the share of the run that is over. Returns the loss's parts."""
        warm = min(1.0, (self.progress.step + 1) / _WARM_UP_STEPS)
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate * warm * max(0.01, min(1.0, (1 - done) / 0.8))
        total, parts = losses(self.model, self.namer, batch, _PHONEME_WEIGHT * (2 if done < 0.15 else 1))
        self.optimizer.zero_grad()
        total.backward()
        nn.utils.clip_grad_norm_(self.parameters, 1.0)
        self.optimizer.step()
        self.progress.step += 1
        self.progress.samples += len(batch.features)
        decay = min(_AVERAGE_DECAY, self.progress.step / (self.progress.step + 10))
        with torch.no_grad():
            averaged, current = list(self.average.parameters()), list(self.model.parameters())
            torch._foreach_lerp_(averaged, current, 1 - decay)
        return parts

    def save(self, path: Path) -> None:
        """Write everything a later `load` needs."""
        state = {
            "shape": asdict(self.shape),
            "classes": self.classes,
            "progress": asdict(self.progress),
            "model": self.model.state_dict(),
            "namer": self.namer.state_dict(),
            "average": self.average.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }
        unfinished = path.with_suffix(".tmp")
        torch.save(state, unfinished)
        unfinished.rename(path)

    @staticmethod
    def load(path: Path, learning_rate: float) -> Trainer:
        """Go on where `save` was called."""
        state = torch.load(path, weights_only=True)
        trainer = Trainer(Shape(**state["shape"]), state["classes"], learning_rate)
        trainer.model.load_state_dict(state["model"])
        trainer.namer.load_state_dict(state["namer"])
        trainer.average.load_state_dict(state["average"])
        trainer.optimizer.load_state_dict(state["optimizer"])
        trainer.progress = Progress(**state["progress"])
        return trainer

    @staticmethod
    def begin_from(path: Path, learning_rate: float) -> Trainer:
        """A new run, of no steps yet, on the averaged weights of another."""
        state = torch.load(path, weights_only=True)
        trainer = Trainer(Shape(**state["shape"]), state["classes"], learning_rate)
        trainer.model.load_state_dict(state["average"])
        trainer.namer.load_state_dict(state["namer"])
        trainer.average.load_state_dict(state["average"])
        return trainer


class Shards:
    """The clips of a folder of shards, which may still be filling."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: set[Path] = set()
        self.clips: list[Clip] = []

    def refresh(self) -> None:
        """Take in the shards that are new."""
        new = sorted(set(self._folder.glob("*.json")) - self._read)
        self.clips.extend(read_shards(new))
        self._read.update(new)


def run(options: argparse.Namespace) -> None:
    """Train until the time or the steps are used up."""
    torch.manual_seed(options.seed)
    shards = Shards(options.data)
    shards.refresh()
    checkpoint = options.out / "whisper.pt"
    options.out.mkdir(parents=True, exist_ok=True)
    if checkpoint.exists():
        trainer = Trainer.load(checkpoint, options.learning_rate)
    elif options.begin_from:
        trainer = Trainer.begin_from(options.begin_from, options.learning_rate)
    else:
        shape = Shape(16, 1, 1, 4) if options.tiny else Shape(options.width, options.encoder_layers, options.decoder_layers)
        fewest = 1 if options.tiny else 20
        trainer = Trainer(shape, phoneme_classes(shards.clips, fewest), options.learning_rate)
    progress = trainer.progress
    tokenizer = Tokenizer.from_file(str(options.tokenizer))
    batcher = Batcher(shards.clips, tokenizer, trainer.classes, options.seed + progress.step)
    size = sum(p.numel() for p in trainer.model.parameters())
    print(f"{len(shards.clips)} clips, {len(trainer.classes)} phonemes, {size} parameters, step {progress.step}", flush=True)
    trainer.model.train()
    earlier_s, began, saved = progress.elapsed_s, time.monotonic(), time.monotonic()
    recent: list[Tensor] = []
    while True:
        shards.refresh()
        for clips in batcher.epoch_part(options.batch):
            progress.elapsed_s = earlier_s + time.monotonic() - began
            done = progress.step / options.steps if options.steps else progress.elapsed_s / (60 * options.minutes)
            if done >= 1:
                trainer.save(checkpoint)
                print(f"done: {progress.step} steps, {progress.samples} clips, {progress.elapsed_s:.0f} s", flush=True)
                return
            recent.append(trainer.step(batcher.batch(clips), done))
            if progress.step % _REPORT_STEPS == 0:
                text, phonemes, places = torch.stack(recent).mean(0).tolist()
                recent.clear()
                counted = f"{progress.step:6d} {progress.elapsed_s:6.0f} s {progress.samples:8d} clips"
                print(f"{counted}  text {text:.3f}  phonemes {phonemes:.3f}  places {places:.3f}", flush=True)
            if time.monotonic() - saved > _SAVE_S:
                trainer.save(checkpoint)
                saved = time.monotonic()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of shards")
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="folder for whisper.pt")
    parser.add_argument(
        "--from",
        dest="begin_from",
        type=Path,
        help="begin with the weights and shape of this checkpoint, made with the same tokenizer",
    )
    parser.add_argument("--minutes", type=float, default=82.0)
    parser.add_argument("--steps", type=int, help="stop after this many steps instead of after --minutes")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--learning-rate", type=float, default=1.5e-3)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--encoder-layers", type=int, default=4)
    parser.add_argument("--decoder-layers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tiny", action="store_true", help="a toy model, to see that the recipe runs")
    options = parser.parse_args()
    torch.set_num_threads(1)
    run(options)


if __name__ == "__main__":
    main()
