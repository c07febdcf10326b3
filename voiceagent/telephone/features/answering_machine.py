"""Distinguishes an answering machine from a person who answers a call that we made, by the first seconds. A person says a few
words and waits, asks, or offers to take a message. A machine goes on, uses a machine's phrases, and beeps. A speaker who has
waited once is a machine only with its beep; a doubtful one is a person. Nothing waits for the verdict: until then the call goes
on as with a person. Pure: time is counted in frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.format import FRAME_MS
from voiceagent.audio.levels import rms
from voiceagent.audio.tones import SingleBeep
from voiceagent.telephone.features.greeting_words import GreetingWords, Speaker
from voiceagent.turn_taking.language import PhoneWords

QUIET = 0.15
"""A share of the loudest speech so far. Anything softer is silence, or other people in the background."""


TELLING = (Speaker.MACHINE, Speaker.LIKE_MACHINE, Speaker.ABSENT)
"""Words with which a beep means a machine, even after somebody has waited."""


class MachineVerdict(Enum):
    """The party that answered."""

    UNDECIDED = "undecided"
    PERSON = "person"
    MACHINE = "machine"


@dataclass(frozen=True, slots=True)
class MachineLimits:
    """The limits of the decision, in milliseconds."""

    joined: float = 1_000.0
    """Speech with shorter pauses is one stretch. A person who has answered waits longer."""
    long: float = 5_000.0
    """A stretch that lasts longer is a machine's, unless its words are a person's."""
    settled: float = 800.0
    """The silence after such a stretch at which its words are looked at."""
    longest: float = 8_000.0
    """The length of a stretch at which its words are looked at without that silence."""
    absent: float = 3_000.0
    """The length of a stretch from which on words count that a person may say, too."""
    watched: float = 30_000.0
    """The time from the first words after which nothing changes the verdict."""
    silent: float = 4_000.0
    """The silence of a machine after which it is recording, even if no beep was heard."""


LIMITS = MachineLimits()


class AnsweringMachine:
    """The detector of one call. `listen` takes every frame. `speaks` and `says` take what the recogniser makes of them."""

    def __init__(self, words: Sequence[PhoneWords], limits: MachineLimits = LIMITS) -> None:
        """`words` are the phrases of the languages that may be spoken."""
        self.verdict = MachineVerdict.UNDECIDED
        self.reason = ""
        """The evidence of the machine: `beep`, `words` or `length`."""
        self.records = False
        """True once the machine has beeped or fallen silent: it records from then on."""
        self._words = GreetingWords(words)
        self._limits = limits
        self._beeps = SingleBeep()
        self._said: dict[int, str] = {}
        self._speaker = Speaker.UNKNOWN
        """The speaker by the words."""
        self._waited_ms: float | None = None
        """The time at which somebody was first known to wait as a person does; None before."""
        self._said_then: frozenset[int] = frozenset()
        """The utterances of which words were known by then."""
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
        beep = self._beeps.feed(frame, is_expected=self.reason == "words")
        if self._speaking and not is_quiet:
            self._more_speech()
        if self._first_ms is None:
            return
        if beep is not None and self._may_beep:
            self._machine("beep")
        is_silent = self._quiet_ms >= self._limits.silent and not self.is_ringing
        if self.verdict is MachineVerdict.MACHINE and (beep is not None or is_silent):
            self.records = True
        self._by_length()

    @property
    def is_ringing(self) -> bool:
        """True while the line rings, or may: nobody is there who could hear or record."""
        return self._beeps.waits or self._beeps.is_line

    @property
    def _may_beep(self) -> bool:
        """True if a beep means a machine. It means none in a talk with a person, or while a service screens the call."""
        if self._speaker in (Speaker.SCREENING, Speaker.PERSON):
            return False
        return self._waited_ms is None or self._spoke_ms <= self._waited_ms or self._speaker in TELLING

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
        if self.verdict is MachineVerdict.MACHINE or self._since_ms > self._limits.watched:
            return
        self._said[utterance_id] = text
        self._speaker = self._words.speaker(self._said.values())
        if self._speaker is Speaker.SCREENING:
            self._person()
        elif (self._waited_ms is None or self._is_of_greeting(utterance_id)) and self._is_machine_by_words():
            self._machine("words")

    def _is_machine_by_words(self) -> bool:
        """True if the words are a machine's. Some show it at once, others once the sentence is over."""
        if self._speaker is Speaker.MACHINE or self._speaking:
            return self._speaker is Speaker.MACHINE
        is_long = self._lasts_ms >= self._limits.absent
        return self._speaker is Speaker.LIKE_MACHINE or (self._speaker is Speaker.ABSENT and is_long)

    def _is_of_greeting(self, utterance_id: int) -> bool:
        """True if words that came late were said before somebody waited."""
        has_gone_on = self._waited_ms is not None and self._spoke_ms > self._waited_ms
        return not has_gone_on and (not self._said_then or utterance_id in self._said_then)

    @property
    def _lasts_ms(self) -> float:
        """The length of the stretch of speech that goes on or has just ended."""
        return self._spoke_ms - self._stretch_ms

    def _by_length(self) -> None:
        if self.verdict is not MachineVerdict.UNDECIDED:
            return
        silence_ms = self._now_ms - self._spoke_ms
        is_over = not self._said or silence_ms >= self._limits.settled or self._lasts_ms >= self._limits.longest
        if self._lasts_ms >= self._limits.long and is_over and self._speaker not in (Speaker.PERSON, Speaker.ASKING):
            self._machine("length")
        elif silence_ms >= self._limits.joined:
            self._person()

    def _person(self) -> None:
        self.verdict, self._waited_ms, self._said_then = MachineVerdict.PERSON, self._now_ms, frozenset(self._said)

    def _machine(self, reason: str) -> None:
        if self.verdict is not MachineVerdict.MACHINE and self._since_ms <= self._limits.watched:
            self.verdict, self.reason = MachineVerdict.MACHINE, reason

    @property
    def _since_ms(self) -> float:
        """The first words."""
        return 0.0 if self._first_ms is None else self._now_ms - self._first_ms
