"""When each word of a sentence is spoken, from how long its phoneme ids last. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voiceagent.conversation.events import SpokenWord
from voiceagent.tts.words import Group, Place, sounds


@dataclass(frozen=True, slots=True)
class ClausePlan:
    """A clause before it is spoken: its words, its phonemes by sentence, and which phonemes each word has."""

    words: tuple[str, ...]
    sentences: tuple[tuple[str, ...], ...]
    groups: tuple[Group, ...]
    places: tuple[Place, ...]

    def words_of(self, sentence: int, ends_ms: NDArray[np.float64]) -> list[SpokenWord]:
        """The words that begin in a sentence, whose phonemes begin at `ends_ms`, shape (phonemes + 1,); the last value is the
        end."""

        def time_ms(group: int, part: float) -> float:
            first, last = self.groups[group].first, self.groups[group].last
            return float(ends_ms[first] + (ends_ms[last + 1] - ends_ms[first]) * part)

        found: list[SpokenWord] = []
        for word, (first, begins, last, stops) in zip(self.words, self.places, strict=True):
            if self.groups[first].sentence == sentence:
                ends_here = self.groups[last].sentence == sentence
                until_ms = time_ms(last, stops) if ends_here else float(ends_ms[-1])
                found.append(SpokenWord(word, round(time_ms(first, begins), 1), round(until_ms, 1)))
        return found


def phoneme_ends(
    phonemes: Sequence[str], id_map: Mapping[str, Sequence[int]], id_samples: NDArray[np.int64] | None, ids: int, samples: int
) -> NDArray[np.float64]:
    """Where each phoneme begins, in samples, and where the last one ends, shape (phonemes + 1,). Exact where the voice tells how
    long each of its `ids` ids lasts; else the sentence's `samples` are divided among the sounds."""
    pad = len(id_map.get("_", ()))
    counts = [len(id_map[phoneme]) + pad if phoneme in id_map else 0 for phoneme in phonemes]
    before = len(id_map.get("^", ())) + pad
    if id_samples is not None and len(id_samples) == ids and before + sum(counts) <= ids:
        until = np.concatenate([[0], np.cumsum(id_samples)])
        return np.asarray(until[before + np.concatenate([[0], np.cumsum(counts)]).astype(int)], np.float64)
    weights = [1.0 if sounds(phoneme) else 0.5 if phoneme in " ,.?!;:" else 0.0 for phoneme in phonemes]
    return np.concatenate([[0.0], np.cumsum(weights)]) / max(1.0, sum(weights)) * samples
