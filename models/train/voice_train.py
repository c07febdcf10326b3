"""Trains the micro voice's acoustic model on what `voice_prepare` made: L1 losses on WORLD parameters and on log
durations, AdamW with linear decay, one CPU thread.

    python -m models.train.voice_train --data FOLDER --out FOLDER [--minutes 10] [--steps N] [--tiny]

`acoustic.pt` in the output folder is what `voice_export` turns into a Piper voice.
"""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from models.train.voice_model import BANDS, CEPSTRA, Acoustic
from models.train.voice_prepare import Utterance, load

LOSSES = ("envelope", "aperiodicity", "pitch", "voicing", "duration")
_WEIGHTS = (1.0, 2.0, 0.3, 0.5, 1.0)
_PEAK_LEARNING_RATE = 2e-3


def normalise(model: Acoustic, utterances: list[Utterance]) -> None:
    """Store the data's means and deviations in the model."""
    cepstra = np.concatenate([u.cepstra for u in utterances])
    log_pitch = np.log(np.concatenate([u.pitch_hz[u.pitch_hz > 0] for u in utterances]))
    model.cepstra_mean.copy_(torch.tensor(cepstra.mean(0)))
    model.cepstra_std.copy_(torch.tensor(cepstra.std(0) + 1e-3))
    model.log_pitch_mean.fill_(float(log_pitch.mean()))
    model.log_pitch_std.fill_(float(log_pitch.std()))


def losses(model: Acoustic, batch: list[Utterance]) -> Tensor:
    """The unweighted losses of a batch, in the order of `LOSSES`. Utterances are laid end to end, so nothing is padded."""
    ids = torch.from_numpy(np.concatenate([u.ids for u in batch]))[None]
    frames = torch.from_numpy(np.concatenate([u.frames for u in batch]))[None]
    pitch = torch.from_numpy(np.concatenate([u.pitch_hz for u in batch]))
    cepstra = (torch.from_numpy(np.concatenate([u.cepstra for u in batch])) - model.cepstra_mean) / model.cepstra_std
    aperiodicity = torch.from_numpy(np.concatenate([u.aperiodicity for u in batch]))
    voiced = (pitch > 0).float()
    states, log_frames = model.encode(ids)
    out = model.decode(states, frames)
    importance = torch.linspace(1.5, 0.5, CEPSTRA)
    importance[0] = 2.5
    log_pitch = (torch.log(pitch.clamp(min=40)) - model.log_pitch_mean) / model.log_pitch_std
    noise = torch.sigmoid(out[:, CEPSTRA : CEPSTRA + BANDS])
    return torch.stack(
        [
            ((out[:, :CEPSTRA] - cepstra).abs() * importance).mean(),
            ((noise - aperiodicity).abs() * voiced[:, None]).sum() / voiced.sum() / BANDS,
            ((out[:, CEPSTRA + BANDS] - log_pitch).abs() * voiced).sum() / voiced.sum(),
            F.binary_cross_entropy_with_logits(out[:, -1], voiced),
            (log_frames - torch.log1p(frames.float())).abs().mean(),
        ]
    )


def train(utterances: list[Utterance], out: Path, *, minutes: float, steps: int | None, width: int, seed: int) -> None:
    """Train until `minutes` have passed or `steps` are done; report and save every 300 steps."""
    torch.manual_seed(seed)
    rng = random.Random(seed)
    held_back = max(1, min(60, len(utterances) // 10))
    watched, utterances = utterances[:held_back], utterances[held_back:]
    model = Acoustic(width)
    normalise(model, utterances)
    weights = torch.tensor(_WEIGHTS)
    optimizer = torch.optim.AdamW(model.parameters(), lr=_PEAK_LEARNING_RATE, betas=(0.9, 0.98), weight_decay=1e-3)
    print(f"{len(utterances)} utterances, {sum(p.numel() for p in model.parameters())} parameters", flush=True)
    began, step, recent = time.monotonic(), 0, []
    while True:
        elapsed_s = time.monotonic() - began
        progress = step / steps if steps else elapsed_s / (60 * minutes)
        if progress >= 1:
            break
        for group in optimizer.param_groups:
            group["lr"] = _PEAK_LEARNING_RATE * min(1, (step + 1) / 100) * max(0.01, 1 - progress)
        parts = losses(model, rng.sample(utterances, min(6, len(utterances))))
        optimizer.zero_grad()
        (parts * weights).sum().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        step += 1
        recent.append(parts.detach())
        if step % 300 == 0:
            report(model, watched, step, elapsed_s, torch.stack(recent).mean(0))
            recent.clear()
            save(model, out)
    save(model, out)
    print(f"done: {step} steps in {time.monotonic() - began:.0f} s", flush=True)


def report(model: Acoustic, watched: list[Utterance], step: int, elapsed_s: float, training: Tensor) -> None:
    with torch.no_grad():
        seen = torch.stack([losses(model, [u]) for u in watched[:20]]).mean(0)
    figures = " ".join(f"{n} {t:.3f}/{s:.3f}" for n, t, s in zip(LOSSES, training, seen, strict=True))
    print(f"{step:6d} {elapsed_s:5.0f} s (training/unseen) {figures}", flush=True)


def save(model: Acoustic, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    torch.save({"width": model.width, "model": model.state_dict()}, out / "acoustic.pt")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with voice.npz")
    parser.add_argument("--out", type=Path, required=True, help="folder for acoustic.pt")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--steps", type=int, help="stop after this many steps instead of after --minutes")
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tiny", action="store_true", help="a toy model, to see that the recipe runs")
    options = parser.parse_args()
    torch.set_num_threads(1)
    utterances = load(options.data / "voice.npz")
    width = 16 if options.tiny else options.width
    train(utterances, options.out, minutes=options.minutes, steps=options.steps, width=width, seed=options.seed)


if __name__ == "__main__":
    main()
