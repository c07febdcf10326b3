"""The words of a house: names, products and streets. A recogniser misses nearly all that it does not know, and writes something
that sounds like them. Named to it before it writes, they come out right, and other words come out wrong. So it writes without
them, and each word that sounds like a part of the text is tried in its place: it is taken if the recogniser finds the text with
it, and with it named, about as likely as its own (bench/results/vocabulary.md). Pure.

Sounds are compared by classes of letters, alike in all languages of the Latin script: a recogniser mixes up letters of one class,
and vowels most of all. Letters of other scripts are each a class."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from voiceagent.stt.hypothesis import RecognisedWord

MOST_WORDS, MOST_CHARACTERS, MOST_FORMS = 200, 60, 16
"""The most words that an operator may name, the most characters of each, and the most ways in which one is misheard."""
Form = Annotated[str, msgspec.Meta(min_length=1, max_length=MOST_CHARACTERS)]


class VocabularyWord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A word or a phrase, as it is written."""

    word: Form
    say: Annotated[str, msgspec.Meta(max_length=MOST_CHARACTERS)] = ""
    """Its pronunciation in IPA, or words that are read like it. Empty: it is read as it is written."""
    heard: Annotated[tuple[Form, ...], msgspec.Meta(max_length=MOST_FORMS)] = ()
    """Texts that the recogniser writes for it. Each is replaced wherever it stands alone."""

    def __post_init__(self) -> None:
        for form in (self.word, *self.heard):
            if not plain(form):
                raise ValueError(f"vocabulary: {form!r} holds no letter or digit; expected a word or a phrase")

    @property
    def is_ipa(self) -> bool:
        """True if `say` is IPA: it holds a letter or a stress mark that no respelling has."""
        return not self.say.isascii()


Word = Form | VocabularyWord
Words = Annotated[tuple[Word, ...], msgspec.Meta(max_length=MOST_WORDS)]


class VocabularySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The words of the house, in the long form."""

    words: Words = ()
    automatic: bool = True
    """True if the words of tools' choices and of documents' titles join them."""


def words_of(setting: Words | VocabularySettings) -> tuple[VocabularyWord, ...]:
    """The words that an operator named."""
    words = setting.words if isinstance(setting, VocabularySettings) else setting
    return tuple(word if isinstance(word, VocabularyWord) else VocabularyWord(word) for word in words)


# --- sounds -----------------------------------------------------------------------------------------------------------

_TOGETHER = {
    "sch": "S",
    "tch": "S",
    "ch": "S",
    "sh": "S",
    "ph": "F",
    "gh": "",
    "ck": "K",
    "qu": "KF",
    "kn": "N",
    "wr": "R",
    "x": "KS",
}
_ALONE = {
    **dict.fromkeys("bp", "P"),
    **dict.fromkeys("dtþðθ", "T"),
    **dict.fromkeys("gkqɡɣχ", "K"),
    **dict.fromkeys("fvwʋβɸ", "F"),
    **dict.fromkeys("szjßʃʒɕʑ", "S"),
    **dict.fromkeys("mnŋɲɱ", "N"),
    **dict.fromkeys("lłʎɫ", "L"),
    **dict.fromkeys("rɹɾʁɻ", "R"),
    **dict.fromkeys("aeiouyæøœɐɑɒɔəɚɛɜɝɪʊʌɵɯɨʉ", "A"),
    **dict.fromkeys("hɦˈˌːʰʲ", ""),
}
_SOFT_C = re.compile(r"c(?=[eiyɪ])")
_PIECES = re.compile("|".join((*_TOGETHER, "c", ".")))
VOWEL = "A"
VOWEL_COST = 0.35
"""The cost of a vowel too many or too few, against 1 of a consonant."""
ALIKE = {"FP": 0.6, "ST": 0.6, "KS": 0.7, "LR": 0.6, "LN": 0.8, "FL": 0.8, "PT": 0.8, "KT": 0.8, "FS": 0.8}
"""The costs of one consonant in place of another, where they are less than 1."""


def plain(text: str) -> str:
    """The letters and digits of a text, without case and accents."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in decomposed if character.isalnum())


@lru_cache(maxsize=4096)
def sounds(word: str) -> str:
    """The classes of the sounds of a word, each run of a class once."""
    letters = _SOFT_C.sub("s", plain(word))
    found = ""
    for piece in _PIECES.findall(letters):
        for sound in _TOGETHER.get(piece, "K" if piece == "c" else _ALONE.get(piece, piece)):
            found += sound if sound != found[-1:] else ""
    return found


def _cost(sound: str) -> float:
    return VOWEL_COST if sound == VOWEL else 1.0


def distance(heard: str, sound: str) -> float:
    """The cost of all differences between two strings of sounds, by the length of the second. 0: they are the same."""
    row = [0.0]
    for one in sound:
        row.append(row[-1] + _cost(one))
    whole = row[-1]
    for other in heard:
        before, row = row, [row[0] + _cost(other)]
        for at, one in enumerate(sound):
            same = 0.0 if one == other else ALIKE.get(min(one, other) + max(one, other), 1.0)
            row.append(min(before[at] + same, before[at + 1] + _cost(other), row[at] + _cost(one)))
    return row[-1] / whole if whole else 1.0


# --- words ------------------------------------------------------------------------------------------------------------

MOST_TRIED = 2
"""The most words that are tried in one text."""
WHOLE_SOUNDS = 6
"""A word of fewer sounds must be nearer, because many words are near to a short one."""
MOST_COMPARED = 400
"""The most forms of words that a text is compared with by sound."""
MORE_WORDS = 3
"""A misheard word may be written as this many more."""
NEAR, NEAR_AUTOMATIC = ((20, 0.35), (75, 0.3), (150, 0.23), (MOST_WORDS, 0.2)), 0.25
"""The largest distance of a part of a text at which a word is tried, by the number of words up to which it holds, and that of a
word that joined by itself: each trial takes time, and the more words there are, the more sound like something."""
ALIKE_ENOUGH = 0.3
"""The largest distance of a word from the nearest of a vocabulary that is meant by it."""
_END = re.compile(r"\W*$")


def nearest(word: str, vocabulary: Iterable[str]) -> str | None:
    """The word of the vocabulary that sounds most like this one; None if none does."""
    heard = _phrase_sounds(word)
    cost, found = min(((distance(heard, _phrase_sounds(one)), one) for one in vocabulary), default=(1.0, ""))
    return found if cost <= ALIKE_ENOUGH else None


def _phrase_sounds(text: str) -> str:
    return "".join(sounds(word) for word in text.split())


@dataclass(frozen=True, slots=True)
class WordTrial:
    """A word that may have been said where a text has other words, from `start` to `end`."""

    word: str
    start: int
    end: int

    def on(self, words: Sequence[RecognisedWord]) -> list[RecognisedWord]:
        """The text with the word."""
        return [*words[: self.start], _joined(words[self.start : self.end], self.word), *words[self.end :]]


def with_trials(words: Sequence[RecognisedWord], trials: Sequence[WordTrial]) -> list[RecognisedWord]:
    """The text with all words that were tried; of two in one place, the first."""
    kept: list[WordTrial] = []
    for trial in trials:
        if all(trial.end <= other.start or other.end <= trial.start for other in kept):
            kept.append(trial)
    text = list(words)
    for trial in sorted(kept, key=lambda each: -each.start):
        text = trial.on(text)
    return text


class Vocabulary:
    """The words that calls of one kind reckon with: made once, used by all of them."""

    def __init__(self, words: Sequence[VocabularyWord], automatic: Sequence[str] = ()) -> None:
        """`automatic` are words that nobody named by hand: their spelling is not held against what was heard."""
        self.named, self.automatic = tuple(words), tuple(automatic)
        self.words = tuple(dict.fromkeys((*(each.word for each in words), *automatic)))
        self._written = {plain(form): each.word for each in words for form in (each.word, *each.heard)}
        self._longest = max((len(form.split()) for each in words for form in (each.word, *each.heard)), default=0) + 1
        forms = [(each.word, form) for each in words for form in (each.word, each.say, *each.heard)]
        sounded = ((word, _phrase_sounds(form)) for word, form in (*forms, *((word, word) for word in automatic)))
        self._forms = list(dict.fromkeys(form for form in sounded if form[1]))[:MOST_COMPARED]
        """Words by their sounds; a word may have several."""
        self._distances = _Distances([sound for _, sound in self._forms]) if self._forms else None
        own = next((limit for most, limit in NEAR if len(words) <= most), NEAR[-1][1])
        near = dict.fromkeys(automatic, NEAR_AUTOMATIC) | {each.word: own for each in words}
        self._limits = [near[word] * min(1.0, len(sound) / WHOLE_SOUNDS) for word, sound in self._forms]

    def spelled(self, words: Sequence[RecognisedWord]) -> list[RecognisedWord]:
        """The words, those that are known to be written for one of the vocabulary in its spelling."""
        found: list[RecognisedWord] = []
        at = 0
        while at < len(words):
            for to in range(min(len(words), at + self._longest), at, -1):
                word = self._written.get(plain("".join(each.text for each in words[at:to])))
                if word is not None:
                    found.append(_joined(words[at:to], word))
                    at = to
                    break
            else:
                found.append(words[at])
                at += 1
        return found

    def trials(self, words: Sequence[RecognisedWord]) -> list[WordTrial]:
        """The words that sound like a part of the text and are not in it, the nearest first."""
        if self._distances is None:
            return []
        heard, text = [sounds(word.text) for word in words], plain("".join(word.text for word in words))
        near: dict[str, tuple[float, str, int]] = {}
        for (word, sound), limit, (cost, end) in zip(self._forms, self._limits, self._distances.of(heard), strict=True):
            if cost <= limit and cost < near.get(word, (1.0, "", 0))[0] and plain(word) not in text:
                near[word] = cost, sound, end
        best = sorted(near, key=near.__getitem__)[:MOST_TRIED]
        return [WordTrial(word, _start(heard, *near[word][1:], len(word.split()) + MORE_WORDS), near[word][2]) for word in best]


def _start(heard: Sequence[str], sound: str, end: int, longest: int) -> int:
    """The beginning of the part of a text that ends there and is nearest to a sound."""
    starts = range(max(0, end - longest), end)
    return min(starts, key=lambda start: distance("".join(heard[start:end]), sound))


def _joined(words: Sequence[RecognisedWord], text: str) -> RecognisedWord:
    """Several words as one, with the punctuation behind them."""
    end = _END.search(words[-1].text)
    written = text + (end.group() if end else "")
    return replace(words[0], text=written, end_s=words[-1].end_s, probability=min(each.probability for each in words))


class _Distances:
    """The distances of all words from the nearest part of a text, that begins and ends with words of it (Sellers' algorithm)."""

    def __init__(self, rows: Sequence[str]) -> None:
        kinds = list(dict.fromkeys("".join(rows)))
        self._codes = codes = {sound: code for code, sound in enumerate(kinds)}
        longest = max(map(len, rows))
        known = [[codes[sound] for sound in row] + [-1] * (longest - len(row)) for row in rows]
        ids = np.array(known, np.int64)
        single = np.array([*(_cost(sound) for sound in kinds), 0.0], np.float32)
        self._single = np.array([*(_cost(sound) for sound in kinds), 1.0], np.float32)
        """The cost of each class alone, and of one that no word has."""
        table = np.ones((len(kinds) + 1, len(kinds) + 1), np.float32)
        for one, a in codes.items():
            for other, b in codes.items():
                table[a, b] = 0.0 if one == other else ALIKE.get(min(one, other) + max(one, other), 1.0)
        self._instead = np.ascontiguousarray(table[:, ids])
        """Shape (class heard, word, place)."""
        sums = np.cumsum(single[ids], axis=1)
        self._skipped = np.concatenate([np.zeros((len(rows), 1), np.float32), sums], axis=1)
        self._ends = (np.arange(len(rows)), np.array([len(row) for row in rows]))
        self._whole = self._skipped[self._ends]

    def of(self, heard: Sequence[str]) -> list[tuple[float, int]]:
        """Returns for each word its distance, by its length, and the end of the part of the text that is nearest to it."""
        costs = np.full_like(self._skipped, np.inf)
        best: NDArray[np.float32] = np.full_like(self._whole, np.inf)
        ends = np.zeros(len(best), np.int64)
        for end, word in enumerate(heard, 1):
            costs = np.minimum(costs, self._skipped)
            for sound in word:
                code = self._codes.get(sound, -1)
                single = VOWEL_COST if sound == VOWEL else float(self._single[code])
                after = costs + single
                np.minimum(after[:, 1:], costs[:, :-1] + self._instead[code], out=after[:, 1:])
                after -= self._skipped
                np.minimum.accumulate(after, axis=1, out=after)
                costs = after + self._skipped
            here = costs[self._ends]
            ends[here < best] = end
            best = np.minimum(best, here)
        return list(zip((best / self._whole).tolist(), ends.tolist(), strict=True))
