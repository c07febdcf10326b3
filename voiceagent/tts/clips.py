"""Clips: a phrase as a recording, a WAV file that is read as mono speech. The turn engine speaks clauses, so the recording is cut
into the clauses of its phrase, in the silences nearest to where each clause should end. Played clause after clause, it is the
whole recording again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.resample import resample
from voiceagent.audio.wav_file import as_int16, opened_wav
from voiceagent.conversation.clauses import split_clauses
from voiceagent.conversation.events import SpokenWord
from voiceagent.errors import ConfigError
from voiceagent.turn_taking.languages import language

QUIETEST = 0.001
"""A recording whose loudest sample is below it (-60 dBFS) is silence."""
CANCELLED = 0.4
"""Channels are mixed, unless the mix has less than this share of the loudest one's level: then they cancel each other."""


def read_wav(file: Path, rate_hz: int, longest_s: float) -> NDArray[np.int16]:
    """A WAV file as mono int16 at that rate, shape (samples,). Raises ConfigError, in one line, for a file that cannot be read or
    played, is longer, or holds nothing that can be heard."""
    pieces: list[NDArray[np.float32]] = []
    samples = 0
    with opened_wav(file) as (read, count, from_hz):
        for piece in read:
            samples += len(piece)
            if samples > longest_s * from_hz:
                raise ConfigError(f"{file}: is longer than {longest_s:g} s; expected a phrase")
            pieces.append(piece)
    channels = np.concatenate([np.zeros((0, count), np.float32), *pieces])
    if not channels.size:
        raise ConfigError(f"{file}: holds no audio; record it again")
    mono = _mixed(channels)
    if np.abs(mono - mono.mean()).max() < QUIETEST:
        raise ConfigError(f"{file}: holds no sound, only {len(mono) / from_hz:.1f} s of silence; record it again")
    return resample(as_int16(mono), from_hz, rate_hz)


def _mixed(channels: NDArray[np.float32]) -> NDArray[np.float32]:
    """The mean of the channels, or the loudest one where they cancel each other."""
    mix: NDArray[np.float32] = channels.mean(axis=1)
    levels = channels.std(axis=0)
    loudest: NDArray[np.float32] = channels[:, int(levels.argmax())]
    return loudest if mix.std() < CANCELLED * levels.max() else mix


LONGEST_S = 60
SEARCH_S = 0.4
"""The distance from the expected end of a clause within which its silence is searched, in seconds."""
WINDOW_S = 0.02

Pcm = NDArray[np.int16]


@dataclass(frozen=True, slots=True)
class Clip:
    """A clause's part of a recording: mono int16, shape (samples,), at the voice's rate; word times are estimates, by length."""

    pcm: Pcm
    words: tuple[SpokenWord, ...]


def load_clips(
    files: Mapping[str, str], phrases: Mapping[str, str], base_dir: str, rate_hz: int, code: str = "en"
) -> dict[str, Clip]:
    """The clips of an agent, in the language of that code, by the clauses that they say. A key of `files` is the name of one of
    `phrases`, or the words themselves. Raises ConfigError."""
    clips: dict[str, Clip] = {}
    for name, file in files.items():
        text = phrases.get(name, name)
        if not text.split():
            raise ConfigError(f"speech.clips: the phrase {name} says nothing; set phrases.{name} to the words of {file}")
        clauses, _ = split_clauses(text, first=True, final=True, abbreviations=language(code).abbreviations)
        pcm = read_wav(Path(base_dir) / file, rate_hz, LONGEST_S)
        clips.update(zip(clauses, _cut(pcm, clauses, rate_hz), strict=True))
    return clips


def _cut(pcm: Pcm, clauses: tuple[str, ...], rate_hz: int) -> list[Clip]:
    lengths = np.cumsum([len(clause) for clause in clauses])
    ends = [_quietest(pcm, int(len(pcm) * length / lengths[-1]), rate_hz) for length in lengths[:-1]]
    bounds = [0, *np.maximum.accumulate(np.array([*ends, len(pcm)], np.int64)).tolist()]
    return [_clip(pcm[bounds[i] : bounds[i + 1]], clause, rate_hz) for i, clause in enumerate(clauses)]


def _quietest(pcm: Pcm, near: int, rate_hz: int) -> int:
    """The middle of the quietest window around a place, in samples."""
    window = max(1, int(WINDOW_S * rate_hz))
    first, last = max(0, near - int(SEARCH_S * rate_hz)), min(len(pcm) - window, near + int(SEARCH_S * rate_hz))
    starts = range(first, max(first + 1, last), window)
    energy = [float(np.square(pcm[start : start + window].astype(np.float64)).sum()) for start in starts]
    return starts[int(np.argmin(energy))] + window // 2


def _clip(pcm: Pcm, clause: str, rate_hz: int) -> Clip:
    words = clause.split()
    lengths = np.cumsum([0, *(len(word) for word in words)])
    times = lengths / lengths[-1] * len(pcm) * 1000.0 / rate_hz
    return Clip(pcm, tuple(SpokenWord(word, float(times[i]), float(times[i + 1])) for i, word in enumerate(words)))
