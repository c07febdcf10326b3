"""Tells an answering machine from a person who answers a call that we made, by the first seconds. A person says a few words and
waits. A machine goes on, says what machines say, and beeps. Nothing waits for the verdict: until then the call goes on as with a
person. Pure: time is counted in frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.beep import FRAME_MS, BeepDetector
from voiceagent.audio.levels import rms
from voiceagent.turn_taking.language import bare_words
from voiceagent.turn_taking.phone_words import PhoneWords

MAX_WORDS = 80
"""Only the last words are searched."""
ALIKE_LETTERS = 6
"""A word of at least so many letters may differ in one letter. Machines sound poor, so recognisers mishear them."""
QUIET = 0.15
"""A share of the loudest speech so far. Anything softer is silence, or other people in the background."""


class Verdict(Enum):
    """Who answered."""

    UNDECIDED = "undecided"
    PERSON = "person"
    MACHINE = "machine"


@dataclass(frozen=True, slots=True)
class Limits:
    """What decides, in milliseconds."""

    joined: float = 1_000.0
    """Speech with shorter pauses is one stretch. A person who has answered waits longer."""
    long: float = 5_000.0
    """A stretch that lasts longer is a machine's."""
    absent: float = 3_000.0
    """The length of a stretch from which on words count that a person may say, too."""
    watched: float = 30_000.0
    """After so long from the first words, nothing changes the verdict."""
    silent: float = 4_000.0
    """A machine that says nothing for so long is recording, even if no beep was heard."""


LIMITS = Limits()


class AnsweringMachine:
    """The detector of one call. `listen` takes every frame. `speaks` and `says` take what the recogniser makes of them."""

    def __init__(self, words: Sequence[PhoneWords], limits: Limits = LIMITS) -> None:
        """`words` are the phrases of the languages that may be spoken."""
        self.verdict = Verdict.UNDECIDED
        self.reason = ""
        """What revealed the machine: `beep`, `words` or `length`."""
        self.records = False
        """Whether the machine has come to its beep, or to its silence: what is said now is kept."""
        self._machines = _Phrases([phrase for one in words for phrase in one.machine])
        self._absents = _Phrases([phrase for one in words for phrase in one.absent])
        self._limits = limits
        self._beeps = BeepDetector()
        self._said: dict[int, str] = {}
        self._now_ms = 0.0
        self._first_ms: float | None = None
        self._stretch_ms = self._spoke_ms = 0.0
        self._speaking = False
        self._loudest = 0.0
        self._quiet_ms = 0.0

    def listen(self, frame: NDArray[np.int16]) -> None:
        """Take the next 20 ms, mono at 16 kHz, shape (320,)."""
        self._now_ms += FRAME_MS
        level = rms(frame)
        if self._speaking:
            self._loudest = max(self._loudest, level)
        is_quiet = level < QUIET * self._loudest
        self._quiet_ms = self._quiet_ms + FRAME_MS if is_quiet else 0.0
        beep = self._beeps.feed(frame)
        if self._speaking and not is_quiet:
            self._more_speech()
        if self._first_ms is None:
            return
        if self._beeps.sounding or beep is not None:
            self._machine("beep")
        if self.verdict is Verdict.MACHINE and (beep is not None or self._quiet_ms >= self._limits.silent):
            self.records = True
        self._by_length()

    def speaks(self, speaking: bool) -> None:
        """Speech begins or goes on, or falls silent."""
        self._speaking = speaking

    def _more_speech(self) -> None:
        if self._first_ms is None:
            self._first_ms = self._stretch_ms = self._now_ms
        elif self._now_ms - self._spoke_ms >= self._limits.joined:
            self._stretch_ms = self._now_ms
        self._spoke_ms = self._now_ms

    def says(self, utterance_id: int, text: str) -> None:
        """The words of an utterance so far."""
        if self.verdict is Verdict.MACHINE or self._since_ms > self._limits.watched:
            return
        self._said[utterance_id] = text
        heard = bare_words(" ".join(self._said.values()))[-MAX_WORDS:]
        may_be_absent = self.verdict is Verdict.UNDECIDED and self._lasts_ms >= self._limits.absent
        if self._machines.stand_in(heard) or (may_be_absent and self._absents.stand_in(heard)):
            self._machine("words")

    @property
    def _lasts_ms(self) -> float:
        """The length of the stretch of speech that goes on or has just ended."""
        return self._spoke_ms - self._stretch_ms

    def _by_length(self) -> None:
        if self.verdict is not Verdict.UNDECIDED:
            return
        if self._lasts_ms >= self._limits.long:
            self._machine("length")
        elif self._now_ms - self._spoke_ms >= self._limits.joined:
            self.verdict = Verdict.PERSON

    def _machine(self, reason: str) -> None:
        if self.verdict is not Verdict.MACHINE and self._since_ms <= self._limits.watched:
            self.verdict, self.reason = Verdict.MACHINE, reason

    @property
    def _since_ms(self) -> float:
        """The first words."""
        return 0.0 if self._first_ms is None else self._now_ms - self._first_ms


class _Phrases:
    """Phrases to look for among words that may be misheard."""

    def __init__(self, phrases: Iterable[tuple[str, ...]]) -> None:
        self._by_first: dict[str, list[tuple[str, ...]]] = {}
        self._known: dict[str, set[str]] = {}
        """The phrases' words, by each way in which they may be heard."""
        for phrase in phrases:
            self._by_first.setdefault(phrase[0], []).append(phrase)
            for word in phrase:
                for heard in _without_a_letter(word):
                    self._known.setdefault(heard, set()).add(word)

    def stand_in(self, heard: Sequence[str]) -> bool:
        """Whether one of the phrases is there."""
        taken_for = [{word for form in _without_a_letter(one) for word in self._known.get(form, ())} for one in heard]
        return any(
            len(phrase) <= len(taken_for) - start and all(word in taken_for[start + at] for at, word in enumerate(phrase))
            for start, words in enumerate(taken_for)
            for first in words
            for phrase in self._by_first.get(first, ())
        )


def _without_a_letter(word: str) -> Iterator[str]:
    """The word, and if it is long, without each of its letters: two that differ in one letter share one of these."""
    yield word
    if len(word) >= ALIKE_LETTERS:
        yield from (word[:at] + word[at + 1 :] for at in range(len(word)))
