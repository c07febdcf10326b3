"""Matches the phonemes of a clause with its words. espeak-ng phonemises whole sentences: it spells numbers out into several words
and runs others together. So words and phoneme groups are matched by length, in order. Pure. Also computes the times at which the
words of a sentence are spoken, from the lengths of their phoneme ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voiceagent.conversation.events import SpokenWord

STRESS = "ˈˌːˑʲ'"
MAX_GROUPS = 12
FAR = float("inf")


@dataclass(frozen=True, slots=True)
class Group:
    """Phonemes between two spaces: `first` to `last` (inclusive) of sentence `sentence`."""

    sentence: int
    first: int
    last: int
    length: int
    """The number of sounds among them."""


def sounds(phonemes: Sequence[str]) -> int:
    """The number of sounds among the phonemes: no stress or length marks, punctuation or spaces."""
    return sum(1 for phoneme in phonemes if phoneme[0].isalpha() and phoneme not in STRESS)


def groups_of(sentences: Sequence[Sequence[str]]) -> list[Group]:
    """The phoneme groups of all sentences, in order. Punctuation alone is no group, and does not end one."""
    found: list[Group] = []
    for number, phonemes in enumerate(sentences):
        start = 0
        for at in range(len(phonemes) + 1):
            if at < len(phonemes) and phonemes[at] != " ":
                continue
            heard = [i for i in range(start, at) if sounds(phonemes[i]) or phonemes[i] in STRESS]
            if heard:
                found.append(Group(number, heard[0], heard[-1], sounds(phonemes[start:at])))
            start = at + 1
    return found


def match(lengths: Sequence[int], groups: Sequence[Group]) -> list[tuple[int, int]]:
    """The phoneme groups `(from, to)` of each word. `lengths` are the numbers of sounds that each word has alone. A word that is
    run together with the one before it has `from == to`; every group belongs to a word."""
    if len(lengths) == len(groups):
        return [(i, i + 1) for i in range(len(groups))]
    words, total = len(lengths), len(groups)
    if not words:
        return []
    spoken = [0]
    for group in groups:
        spoken.append(spoken[-1] + group.length)
    best = [[FAR] * (total + 1) for _ in range(words + 1)]
    step = [[0] * (total + 1) for _ in range(words + 1)]
    best[0][0] = 0.0
    for word in range(words):
        for used in range(total + 1):
            if best[word][used] == FAR:
                continue
            most = total if word == words - 1 else min(total, used + MAX_GROUPS)
            for to in range(used, most + 1):
                cost = best[word][used] + abs(spoken[to] - spoken[used] - lengths[word])
                if to == used:  # rather run together with the word before, if there is one
                    cost += 0.5 if used else 0.5 + lengths[word]
                if cost < best[word + 1][to]:
                    best[word + 1][to] = cost
                    step[word + 1][to] = used
    end, spans = total, []
    for word in range(words, 0, -1):
        start = step[word][end]
        spans.append((start, end))
        end = start
    return spans[::-1]


Place = tuple[int, float, int, float]
"""`(group, part, group, part)`: where a word begins and ends; a part 0..1 says how far into the group."""


def places_of(lengths: Sequence[int], groups: Sequence[Group]) -> list[Place]:
    """The place of each word among the groups, in order. Words that are run together divide their last group by their lengths;
    words without a sound take no time."""
    spans = match(lengths, groups)
    places: list[Place] = []
    while len(places) < len(spans):
        at = len(places)
        start, end = spans[at]
        if start == end:
            places.append((start, 0.0, start, 0.0))
            continue
        following = at + 1
        while following < len(spans) and spans[following][0] == spans[following][1]:
            following += 1
        last = end - 1
        before = sum(group.length for group in groups[start:last])
        shares = [max(0, lengths[at] - before), *lengths[at + 1 : following]]
        whole, spoken = sum(shares), shares[0]
        places.append((start, 0.0, last, spoken / whole if whole else 1.0))
        for share in shares[1:]:
            begins = spoken / whole if whole else 1.0
            spoken += share
            places.append((last, begins, last, spoken / whole if whole else 1.0))
    return places


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
    """The beginning of each phoneme, in samples, and the end of the last one, shape (phonemes + 1,). Exact where the voice gives
    the length of each of its `ids` ids; else the sentence's `samples` are divided among the sounds."""
    pad = len(id_map.get("_", ()))
    counts = [len(id_map[phoneme]) + pad if phoneme in id_map else 0 for phoneme in phonemes]
    before = len(id_map.get("^", ())) + pad
    if id_samples is not None and len(id_samples) == ids and before + sum(counts) <= ids:
        until = np.concatenate([[0], np.cumsum(id_samples)])
        return np.asarray(until[before + np.concatenate([[0], np.cumsum(counts)]).astype(int)], np.float64)
    weights = [1.0 if sounds(phoneme) else 0.5 if phoneme in " ,.?!;:" else 0.0 for phoneme in phonemes]
    return np.concatenate([[0.0], np.cumsum(weights)]) / max(1.0, sum(weights)) * samples
