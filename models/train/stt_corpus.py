"""Spoken clips on disk: a shard is one `.npy` of 16-bit audio, laid end to end, and one `.json` that says where each
clip lies, what was said and when. Audio is mapped into memory, so a corpus larger than memory can be trained on.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from models.train.domain import Unit

SAMPLE_RATE_HZ = 16000


@dataclass(frozen=True, slots=True)
class Label:
    """What was said in a clip, and when. All times are in samples at `SAMPLE_RATE_HZ`."""

    units: tuple[Unit, ...]
    voice: str
    spans: tuple[tuple[int, int], ...]
    """Start and end of each unit; empty where unknown."""
    phonemes: tuple[tuple[int, str], ...]
    """Start and IPA name of each phoneme, an empty name for a pause; empty where unknown."""

    @property
    def written(self) -> str:
        """The transcript."""
        return "".join(u.written if u.glue or i == 0 else f" {u.written}" for i, u in enumerate(self.units))


@dataclass(frozen=True, slots=True)
class Clip:
    """A spoken sentence: mono 16-bit audio at `SAMPLE_RATE_HZ` and its label."""

    audio: npt.NDArray[np.int16]
    label: Label


def write_shard(path: Path, clips: list[Clip]) -> None:
    """Write `path`.npy and `path`.json; the JSON comes last, so that a reader never finds half a shard."""
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path.with_suffix(".npy"), np.concatenate([clip.audio for clip in clips]))
    labels = [{**asdict(clip.label), "samples": len(clip.audio)} for clip in clips]
    unfinished = path.with_suffix(".json.tmp")
    unfinished.write_text(json.dumps(labels, ensure_ascii=False))
    unfinished.rename(path.with_suffix(".json"))


def read_shards(paths: Iterable[Path]) -> list[Clip]:
    """All clips of the shards, given by their `.json` files."""
    clips: list[Clip] = []
    for path in paths:
        audio = np.load(path.with_suffix(".npy"), mmap_mode="r")
        at = 0
        for entry in json.loads(path.read_text()):
            label = Label(
                tuple(Unit(**unit) for unit in entry["units"]),
                entry["voice"],
                tuple((start, end) for start, end in entry["spans"]),
                tuple((start, name) for start, name in entry["phonemes"]),
            )
            clips.append(Clip(audio[at : at + entry["samples"]], label))
            at += entry["samples"]
    return clips
