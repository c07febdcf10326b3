"""Distinguishes an answering machine from a person who answers a call that we made, by the first seconds. A person asks, offers
and acts, says a few words and waits. A machine informs, goes on, uses a machine's phrases, and beeps. A speaker who has waited
once is a machine only with its beep; a doubtful one is a person. Nothing waits for the verdict: frames pass through at once, so
a person is heard without delay. Once a machine is known, the agent falls silent and hears no more of it; then the call ends, or
a message is left after the beep. Everything but `Screening` and its leg is pure: time is counted in frames."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.format import FRAME_MS
from voiceagent.audio.levels import rms
from voiceagent.audio.tones import FaxTones, SingleBeep
from voiceagent.call.observer import RunningCall
from voiceagent.conversation import events as ev
from voiceagent.conversation.actions import Action, ReplyStarted
from voiceagent.media.leg import InboundFrame, Leg, LegWrapper
from voiceagent.settings.agent import AgentConfig
from voiceagent.telephone.features.phone_feature import PhoneFeature
from voiceagent.turn_taking.language import PhoneWords, bare_words
from voiceagent.turn_taking.languages import language

log = logging.getLogger(__name__)

# --- the words of a greeting ------------------------------------------------------------------------------------------

MAX_WORDS = 80
"""Only the last words are searched."""
ALIKE_LETTERS = 6
"""The least length of a word that may differ in one letter. Machines sound poor, so recognisers mishear them."""
QUESTION = "?"


class Speaker(Enum):
    """The party that speaks, by the words so far."""

    UNKNOWN = "unknown"
    PERSON = "person"
    """Somebody who does or offers something: no machine."""
    ASKING = "asking"
    """Somebody who asks, or speaks of another one, as machines seldom do."""
    MACHINE = "machine"
    LIKE_MACHINE = "like a machine"
    """A machine, if the sentence is over: a person may go on with words that reveal them."""
    ABSENT = "absent"
    """Somebody says that they are not there, which a machine does, or a person for another one."""
    SCREENING = "screening"


class GreetingWords:
    """The greeting phrases of the languages that may be spoken."""

    def __init__(self, words: Sequence[PhoneWords]) -> None:
        kinds = ("screens", "acts", "sure", "asks", "machine", "absent")
        self._phrases = GreetingPhrases((phrase, kind) for one in words for kind in kinds for phrase in getattr(one, kind))
        self._another = frozenset(word for one in words for word in one.another)

    def speaker(self, utterances: Iterable[str]) -> Speaker:
        """The party that says these words."""
        text = " ".join(utterances)
        heard = bare_words(text)[-MAX_WORDS:]
        kinds = self._phrases.kinds_in(heard)
        asks = "asks" in kinds or QUESTION in text or not self._another.isdisjoint(heard)
        found = {
            Speaker.SCREENING: "screens" in kinds,
            Speaker.PERSON: "acts" in kinds,
            Speaker.MACHINE: "sure" in kinds,
            Speaker.ASKING: asks,
            Speaker.LIKE_MACHINE: "machine" in kinds,
            Speaker.ABSENT: "absent" in kinds,
        }
        return next((speaker for speaker, is_it in found.items() if is_it), Speaker.UNKNOWN)


class GreetingPhrases:
    """Phrases to look for among words that may be misheard."""

    def __init__(self, phrases: Iterable[tuple[tuple[str, ...], str]]) -> None:
        """Each with its kind."""
        self._by_first: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        self._known: dict[str, set[str]] = {}
        """The phrases' words, by each way in which they may be heard."""
        for phrase, kind in phrases:
            self._by_first.setdefault(phrase[0], []).append((phrase, kind))
            for word in phrase:
                for heard in _without_a_letter(word):
                    self._known.setdefault(heard, set()).add(word)

    def kinds_in(self, heard: Sequence[str]) -> frozenset[str]:
        """The kinds of the phrases that are there."""
        taken_for = [{word for form in _without_a_letter(one) for word in self._known.get(form, ())} for one in heard]
        return frozenset(
            kind
            for start, words in enumerate(taken_for)
            for first in words
            for phrase, kind in self._by_first.get(first, ())
            if len(phrase) <= len(taken_for) - start and all(word in taken_for[start + at] for at, word in enumerate(phrase))
        )


def _without_a_letter(word: str) -> Iterator[str]:
    """The word, and if it is long, without each of its letters: two that differ in one letter share one of these."""
    yield word
    if len(word) >= ALIKE_LETTERS:
        yield from (word[:at] + word[at + 1 :] for at in range(len(word)))


# --- a machine or a person --------------------------------------------------------------------------------------------

QUIET = 0.15
"""A share of the loudest speech so far. Anything softer is silence, or other people in the background."""


TELLING = (Speaker.MACHINE, Speaker.LIKE_MACHINE, Speaker.ABSENT)
"""Words with which a beep means a machine, even after somebody has waited."""


class MachineVerdict(Enum):
    """The party that answered."""

    UNDECIDED = "undecided"
    PERSON = "person"
    MACHINE = "machine"
    FAX = "fax"
    """Nobody is there who could hear or record."""


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
        """The evidence of the machine or the fax: `beep`, `words`, `length` or `tones`."""
        self.records = False
        """True once the machine has beeped or fallen silent: it records from then on."""
        self._words = GreetingWords(words)
        self._limits = limits
        self._beeps = SingleBeep()
        self._fax = FaxTones()
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
        if self._since_ms <= self._limits.watched and self._fax.feed(frame):
            self.verdict, self.reason = MachineVerdict.FAX, "tones"
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

    def is_screening(self, utterance_id: int) -> bool:
        """Returns whether an utterance is that of a service that screens calls."""
        return self._words.speaker([self._said.get(utterance_id, "")]) is Speaker.SCREENING

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
        if self._is_settled or self._since_ms > self._limits.watched:
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
        if not self._is_settled and self._since_ms <= self._limits.watched:
            self.verdict, self.reason = MachineVerdict.MACHINE, reason

    @property
    def _is_settled(self) -> bool:
        """True once nothing but a fax's tones changes the verdict."""
        return self.verdict in (MachineVerdict.MACHINE, MachineVerdict.FAX)

    @property
    def _since_ms(self) -> float:
        """The first words."""
        return 0.0 if self._first_ms is None else self._now_ms - self._first_ms


MACHINE, LEFT, FAX = "answering_machine", "message_left", "fax"
"""End reasons of a call that a machine has taken: it was hung up on, has its message, or is a fax."""
# --- a call that is screened ------------------------------------------------------------------------------------------

FRAME_S = 0.02
AnsweredBy = Literal["person", "machine", "screened", "fax", "unknown"]
ANSWERED_BY: Mapping[MachineVerdict, AnsweredBy] = {
    MachineVerdict.PERSON: "person",
    MachineVerdict.MACHINE: "machine",
    MachineVerdict.FAX: "fax",
    MachineVerdict.UNDECIDED: "unknown",
}


class Screening(PhoneFeature):
    """Screens one call that we made."""

    def __init__(self, agent: AgentConfig) -> None:
        self._settings = agent.telephony.voicemail
        self._machine = AnsweringMachine([language(code).phone for code in agent.spoken_languages])
        self._call: RunningCall | None = None
        self._waited_s = 0.0
        self._is_told = self._is_done = False
        self._last_utterance = -1
        self._was_screened = self._is_introduced = False

    def begin(self, call: RunningCall) -> None:
        """Screen this call."""
        self._call = call

    def wrap(self, leg: Leg) -> ScreenedLeg:
        """The leg, silent once a machine is known."""
        return ScreenedLeg(leg, self)

    @property
    def answered_by(self) -> AnsweredBy:
        """The party that took the call, as far as it is known. `screened`: a service asked who calls, whoever came after it."""
        return "screened" if self._was_screened else ANSWERED_BY[self.verdict]

    @property
    def _is_waiting(self) -> bool:
        """True while a known machine has not come to its beep."""
        return self.is_deaf and not self._is_done

    @property
    def is_deaf(self) -> bool:
        """True once a machine is known, with which nobody talks. A fax hears nothing, whatever the settings say."""
        is_machine = self.verdict is MachineVerdict.MACHINE and self._settings.action != "none"
        return is_machine or self.verdict is MachineVerdict.FAX

    @property
    def verdict(self) -> MachineVerdict:
        """The party that answered, as far as it is known."""
        return self._machine.verdict

    def listen(self, frame: InboundFrame) -> None:
        """Take what was heard."""
        if not self._is_done:
            self._machine.listen(frame.pcm)
            self._decide()

    def stepped(self, event: ev.Event, actions: tuple[Action, ...]) -> None:
        """Learn what the ear makes of the frames. Nothing that the agent still begins to say to a known machine is spoken."""
        if self._is_waiting and self._call is not None and any(isinstance(action, ReplyStarted) for action in actions):
            self._call.feed(ev.ReplyCancelled(self._call.now_ms()))
        match event:
            case ev.SpeechStarted(utterance_id=utterance_id):
                self._last_utterance = utterance_id
                self._machine.speaks(True)
            case ev.SpeechResumed():
                self._machine.speaks(True)
            case ev.SpeechPaused() | ev.Endpoint():
                self._machine.speaks(False)
            case ev.Transcript(utterance_id=utterance_id, stable=stable, unstable=unstable):
                self._machine.says(utterance_id, f"{stable} {unstable}")
            case ev.FinalTranscript(utterance_id=utterance_id, text=text):
                self._machine.says(utterance_id, text)
        if any(isinstance(action, ReplyStarted) for action in actions):
            self._answer_service()

    def _answer_service(self) -> None:
        """A reply begins. If it is to a service that screens calls, the introduction is said in its place, once. After that the
        agent is silent until somebody else speaks."""
        call, introduction = self._call, self._settings.introduction
        if call is None or not self._machine.is_screening(self._last_utterance):
            return
        is_first, self._was_screened = not self._was_screened, True
        if not introduction:
            return
        if is_first:
            call.feed(ev.Announce(call.now_ms(), introduction))
        elif not self._is_introduced:
            self._is_introduced = True  # this reply is the introduction
        else:
            call.feed(ev.ReplyCancelled(call.now_ms()))

    def _decide(self) -> None:
        call = self._call
        if call is None or not self.is_deaf:
            return
        if not self._is_told:
            self._is_told = True
            log.info("call %s: %s took it (%s)", call.call_id, ANSWERED_BY[self.verdict], self._machine.reason)
            call.feed(ev.ReplyCancelled(call.now_ms()))
        self._waited_s += FRAME_S
        if self.verdict is MachineVerdict.FAX or self._settings.action == "hang_up":
            self._is_done = True
            call.feed(ev.HangUp(call.now_ms(), FAX if self.verdict is MachineVerdict.FAX else MACHINE))
        elif self._machine.records or (self._waited_s >= self._settings.wait_for_beep_s and not self._machine.is_ringing):
            self._is_done = True
            call.feed(ev.LastWords(call.now_ms(), self._settings.message, LEFT))


class ScreenedLeg(LegWrapper):
    """Implements `Leg`: the call hears nothing any more once a machine is known."""

    def __init__(self, leg: Leg, screening: Screening) -> None:
        super().__init__(leg)
        self._screening = screening

    async def frames(self) -> AsyncIterator[InboundFrame]:
        """See `Leg`."""
        async for frame in self._leg.frames():
            if not self._screening.is_deaf:
                yield frame
            self._screening.listen(frame)
