"""Distinguishes an answering machine from a person who answers a call that we made, by the first seconds. A person asks, offers
and acts, says a few words and waits. A machine informs, goes on, uses a machine's phrases, and beeps. A speaker who has waited
once is a machine only with its beep; a doubtful one is a person. Nothing waits for the verdict: frames pass through at once, so
a person is heard without delay. Once a machine is known, the agent falls silent and hears no more of it; then the call ends, or
a message is left after the beep. Everything but `Screening` and its leg is pure: time is counted in frames."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.format import FRAME_MS
from voiceagent.audio.levels import rms
from voiceagent.audio.tones import FaxTones, SingleBeep
from voiceagent.call.observer import RunningCall
from voiceagent.conversation import events as ev
from voiceagent.conversation.actions import Action, ReplyEnded, ReplyStarted
from voiceagent.media.leg import InboundFrame, Leg, LegWrapper
from voiceagent.settings.agent import AgentConfig
from voiceagent.telephone.features.phone_feature import PhoneFeature
from voiceagent.turn_taking.language import GAP, PhoneWords, bare_words, has_phrase, without_phrases
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
    """Somebody says that they are not there, twice and in different words, as a machine does."""
    AWAY = "away"
    """Somebody says that once: a person may, too."""
    SCREENING = "screening"


LONG_PHRASE = 3
"""A phrase of so many words has a caller wait whatever else is said. A shorter one does if nothing else is."""


class GreetingWords:
    """The greeting phrases of the languages that may be spoken."""

    def __init__(self, words: Sequence[PhoneWords]) -> None:
        kinds = ("screens", "callers", "reasons", "acts", "sure", "asks", "machine", "absent")
        self._holds = frozenset(phrase for one in words for phrase in one.holds)
        self._long_holds = frozenset(phrase for phrase in self._holds if len(phrase) >= LONG_PHRASE)
        lists = [(phrase, kind) for one in words for kind in kinds for phrase in getattr(one, kind)]
        lists += [(phrase, "leaves") for one in words for phrase in one.machine - one.sure]
        self._phrases = GreetingPhrases(lists)
        self._another = frozenset(word for one in words for word in one.another)

    def speaker(self, utterances: Iterable[str]) -> Speaker:
        """The party that says these words."""
        text = " ".join(utterances)
        heard = bare_words(text)[-MAX_WORDS:]
        kinds = self._phrases.kinds_in(heard)
        asks = "asks" in kinds or QUESTION in text or not self._another.isdisjoint(heard)
        has_us_told = "callers" in kinds and "reasons" in kinds and not asks and "acts" not in kinds
        found = {
            Speaker.SCREENING: ("screens" in kinds or has_us_told) and "leaves" not in kinds,  # "leave your name and the reason"
            Speaker.PERSON: "acts" in kinds,
            Speaker.MACHINE: "sure" in kinds,
            Speaker.ASKING: asks,
            Speaker.LIKE_MACHINE: "machine" in kinds,
            Speaker.ABSENT: kinds.get("absent", 0) > 1,
            Speaker.AWAY: "absent" in kinds,
        }
        return next((speaker for speaker, is_it in found.items() if is_it), Speaker.UNKNOWN)

    def has_us_wait(self, text: str) -> bool:
        """True if a service that screens calls says no more than that the caller is to wait."""
        heard = bare_words(text)[-MAX_WORDS:]
        if QUESTION in text or not heard:
            return False
        return has_phrase(heard, self._long_holds) or not without_phrases(heard, self._holds)[0]


MOST_BETWEEN = 3
"""The most words in a gap of a phrase."""


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

    def kinds_in(self, heard: Sequence[str]) -> Mapping[str, int]:
        """The kinds of the phrases that are there, and how many of each do not overlap."""
        taken_for = [{word for form in _without_a_letter(one) for word in self._known.get(form, ())} for one in heard]
        counts: dict[str, int] = {}
        ends: dict[str, int] = {}
        for start, words in enumerate(taken_for):
            for phrase, kind in (found for first in words for found in self._by_first.get(first, ())):
                if end := _end(phrase, taken_for, start):
                    counts[kind] = counts.get(kind, 0) + (start >= ends.get(kind, 0))
                    ends[kind] = max(end, ends.get(kind, 0))
        return counts


def _end(phrase: Sequence[str], taken_for: Sequence[Collection[str]], start: int) -> int:
    """The end of a phrase that begins there; 0 if it does not. A gap in it is as short as may be."""
    at = start
    for place, word in enumerate(phrase):
        if word == GAP:
            rest = range(at, min(at + MOST_BETWEEN, len(taken_for)) + 1)
            return next((end for begin in rest if (end := _end(phrase[place + 1 :], taken_for, begin))), 0)
        if at >= len(taken_for) or word not in taken_for[at]:
            return 0
        at += 1
    return at


def _without_a_letter(word: str) -> Iterator[str]:
    """The word, and if it is long, without each of its letters: two that differ in one letter share one of these."""
    yield word
    if len(word) >= ALIKE_LETTERS:
        yield from (word[:at] + word[at + 1 :] for at in range(len(word)))


# --- a machine or a person --------------------------------------------------------------------------------------------

QUIET = 0.15
"""A share of the loudest speech so far. Anything softer is silence, or other people in the background."""


LIKELY = (Speaker.MACHINE, Speaker.LIKE_MACHINE, Speaker.ABSENT)
"""Words of a machine, rather than a person."""
TELLING = (*LIKELY, Speaker.AWAY)
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
    """A stretch that lasts longer is a machine's if nothing is known of its words, or they are a machine's."""
    unknown: float = 8_000.0
    """The same for words that a person may say, too. From 7 s down, talkative people of `bench opening_words` were machines."""
    settled: float = 800.0
    """The silence after such a stretch at which its words are looked at."""
    longest: float = 8_000.0
    """The length of a stretch at which its words are looked at without that silence."""
    absent: float = 3_000.0
    """The length of a stretch from which on it counts that somebody says twice that they are not there."""
    watched: float = 30_000.0
    """The time from the first words after which nothing changes the verdict."""
    certain: float = 4_000.0
    """The time after which a machine is one whatever words follow, if it does not pause before."""
    silent: float = 4_000.0
    """The silence of a machine after which it is recording, even if no beep was heard."""


LIMITS = MachineLimits()


class AnsweringMachine:
    """The detector of one call. `listen` takes every frame. `speaks` and `says` take what the recogniser makes of them. A service
    that screens calls counts as a person. Whoever speaks after it is a new opening."""

    def __init__(self, words: Sequence[PhoneWords], limits: MachineLimits = LIMITS) -> None:
        """`words` are the phrases of the languages that may be spoken."""
        self.verdict = MachineVerdict.UNDECIDED
        self.reason = ""
        """The evidence of the machine or the fax: `beep`, `words`, `length` or `tones`."""
        self.records = False
        """True once the machine has beeped or fallen silent: it records from then on."""
        self.is_service = False
        """True while it is a service that screens calls, and nobody else has spoken since."""
        self._service: int | None = None
        """The last utterance of such a service."""
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
        self._asked: tuple[int, float] | None = None
        """The last utterance before our question was heard to its end, and the time of that; None: no answer is due."""
        self._is_proven = False
        """True once somebody has answered our question."""
        self._now_ms = 0.0
        self._first_ms: float | None = None
        self._stretch_ms = self._spoke_ms = self._told_ms = 0.0
        self._speaking = False
        self._loudest = 0.0
        self._quiet_ms = 0.0

    def listen(self, frame: NDArray[np.int16]) -> None:
        """Take the next 20 ms, mono at 16 kHz, shape (320,)."""
        self._now_ms += FRAME_MS
        if self._is_watched and self._fax.feed(frame):
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
        if self._asked is not None:
            self._prove(*self._asked)
        self._by_length()

    @property
    def is_certain(self) -> bool:
        """True once no words change the verdict of a machine or a fax. Until a machine pauses, it may be a service."""
        is_over = self._now_ms - self._spoke_ms >= self._limits.settled or self._now_ms - self._told_ms >= self._limits.certain
        is_machine = self.verdict is MachineVerdict.MACHINE and (self.reason == "beep" or is_over)
        return is_machine or self.verdict is MachineVerdict.FAX

    @property
    def was_screened(self) -> bool:
        """True once a service that screens calls has spoken."""
        return self._service is not None

    @property
    def has_heard(self) -> bool:
        """True once somebody has spoken."""
        return self._first_ms is not None

    def is_screening(self, utterance_id: int) -> bool:
        """Returns whether an utterance is that of a service that screens calls, and asks who calls."""
        return self._words.speaker([self._said.get(utterance_id, "")]) is Speaker.SCREENING

    def asked(self, utterance_id: int) -> None:
        """A question of ours was heard to its end. This was the last utterance before."""
        self._asked = (utterance_id, self._now_ms)

    def _prove(self, last: int, at_ms: float) -> None:
        """Somebody who has spoken after our question and waits now has answered it, unless they use the words of a machine."""
        answer = [text for number, text in self._said.items() if number > last]
        waits = not self._speaking and self._spoke_ms > at_ms and self._now_ms - self._spoke_ms >= self._limits.joined
        if not waits or not any(answer):
            return
        self._asked = None
        is_machines = self._words.speaker(answer) in (*TELLING, Speaker.SCREENING) or self.is_service
        if self.verdict is MachineVerdict.PERSON and not is_machines:
            self._is_proven = True

    @property
    def is_ringing(self) -> bool:
        """True while the line rings, or may: nobody is there who could hear or record."""
        return self._beeps.waits or self._beeps.is_line

    @property
    def _may_beep(self) -> bool:
        """True if a beep means a machine. It means none in a talk with a person, or while a service screens the call."""
        if self.is_service or self._is_proven or self._speaker is Speaker.PERSON:
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
        if self.is_certain or self._is_proven or not self._is_watched or not bare_words(text):
            return
        self._said[utterance_id] = text
        if self._waited_ms is None or self._is_of_greeting(utterance_id):
            self._service = self._last_of_service()
        was_service, self.is_service = self.is_service, self._service == max(self._said)
        if was_service != self.is_service:
            self._begin_anew()
        self._speaker = self._words.speaker(
            said for at, said in self._said.items() if self._service is None or at > self._service
        )
        if self.is_service:
            return
        is_persons = self._speaker in (Speaker.PERSON, Speaker.ASKING)
        if is_persons and self.verdict is MachineVerdict.MACHINE and self.reason != "beep":
            self.verdict, self.reason = MachineVerdict.UNDECIDED, ""  # said in the same breath
        elif (self._waited_ms is None or self._is_of_greeting(utterance_id)) and self._is_machine_by_words():
            self._machine("words")

    def _last_of_service(self) -> int | None:
        """The last utterance of a service that screens calls; None: there is no service."""
        last, since = None, list[str]()
        for number, text in sorted(self._said.items()):
            since.append(text)
            if self._words.speaker(since) is Speaker.SCREENING or (last is not None and self._words.has_us_wait(text)):
                last, since = number, []
        return last

    def _begin_anew(self) -> None:
        """A service has begun to speak, or somebody else has after it."""
        self.verdict, self.reason, self.records = MachineVerdict.UNDECIDED, "", False
        self._first_ms, self._waited_ms, self._said_then = self._stretch_ms, None, frozenset()
        if self.is_service:
            self.verdict = MachineVerdict.PERSON

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
        long = self._limits.long if not self._said or self._speaker in LIKELY else self._limits.unknown
        if self._lasts_ms >= long and is_over and self._speaker not in (Speaker.PERSON, Speaker.ASKING):
            self._machine("length")
        elif silence_ms >= self._limits.joined:
            self._person()

    def _person(self) -> None:
        self.verdict, self._waited_ms, self._said_then = MachineVerdict.PERSON, self._now_ms, frozenset(self._said)

    def _machine(self, reason: str) -> None:
        if self.verdict not in (MachineVerdict.MACHINE, MachineVerdict.FAX) and self._is_watched and not self._is_proven:
            self.verdict, self.reason, self._told_ms = MachineVerdict.MACHINE, reason, self._now_ms

    @property
    def _is_watched(self) -> bool:
        """True as long as something may change the verdict. A service may have the line ring for long."""
        return self.is_service or self._first_ms is None or self._now_ms - self._first_ms <= self._limits.watched


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


MOST_INTRODUCTIONS = 3
"""A service that asks again was not understood, or is none."""
OPENS_AFTER_S = 3.0
"""The silence after which the agent speaks first to somebody who says nothing."""


class Screening(PhoneFeature):
    """Screens one call that we made. The agent's greeting waits until a person has spoken, or nobody has for a while."""

    def __init__(self, agent: AgentConfig) -> None:
        self._settings = agent.telephony.voicemail
        self._machine = AnsweringMachine([language(code).phone for code in agent.spoken_languages])
        self._call: RunningCall | None = None
        self._waited_s = self._silent_s = 0.0
        self._is_told = self._is_done = False
        self._last_utterance = self._introduced_to = -1
        self._was_screened = self._is_ours = False
        """`_is_ours`: the next reply that begins is one that this has asked for."""
        self._introductions = 0
        self._opening, self._is_protected, self._has_opened = "", False, False

    def change(self, agent: AgentConfig) -> AgentConfig:
        """The agent without its greeting, which is said here."""
        self._opening, self._is_protected = agent.phrases.text("greeting") or "", "greeting" in agent.phrases.protected
        return msgspec.structs.replace(agent, phrases=agent.phrases.with_greeting(""))

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
    def put_through_to(self) -> Literal["person", "machine", ""]:
        """The party to whom a service that screens calls has put this one through; empty as long as it is not known."""
        if not self._was_screened or self._machine.is_service or self.verdict is MachineVerdict.UNDECIDED:
            return ""
        return "person" if self.verdict is MachineVerdict.PERSON else "machine"

    @property
    def _is_waiting(self) -> bool:
        """True while a known machine has not come to its beep."""
        return self._is_gone and not self._is_done

    @property
    def is_deaf(self) -> bool:
        """True once it is certain that nobody is there to talk with."""
        return self._is_gone and self._machine.is_certain

    @property
    def _is_gone(self) -> bool:
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
            self._open_to_silence()

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
        for action in actions:
            if isinstance(action, ReplyStarted):
                self._say_our_line()
            elif isinstance(action, ReplyEnded) and action.status == "completed" and action.heard.rstrip().endswith(QUESTION):
                self._machine.asked(self._last_utterance)

    def _say_our_line(self) -> None:
        """A reply begins. To a service that asks who calls, the introduction is said in its place. After that the agent is silent
        until somebody else speaks. To a person, the opening is said first."""
        if self._is_ours or self._is_waiting:
            self._is_ours = False
        elif self._machine.is_service or self._machine.is_screening(self._last_utterance):
            self._was_screened, self._has_opened = True, False
            self._answer_service()
        elif self._opening and not self._has_opened:
            self._open()

    def _answer_service(self) -> None:
        is_asked = self._machine.is_screening(self._last_utterance) and self._last_utterance != self._introduced_to
        self._introduced_to = self._last_utterance
        if self._call is None or (is_asked and not self._settings.introduction):
            return  # the language model answers
        self._introductions += is_asked
        if is_asked and self._introductions <= MOST_INTRODUCTIONS:
            self._say(ev.Announce(self._call.now_ms(), self._settings.introduction))
        else:
            self._call.feed(ev.ReplyCancelled(self._call.now_ms()))

    def _open(self) -> None:
        if self._call is not None:
            self._has_opened = True
            self._say(ev.Announce(self._call.now_ms(), self._opening, self._is_protected, greets=True))

    def _say(self, line: ev.Announce) -> None:
        if self._call is not None:
            self._is_ours = True
            self._call.feed(line)

    def _open_to_silence(self) -> None:
        """Say the opening to somebody who takes the call and says nothing."""
        self._silent_s = 0.0 if self._machine.is_ringing else self._silent_s + FRAME_S
        if self._opening and not self._has_opened and not self._machine.has_heard and self._silent_s >= OPENS_AFTER_S:
            self._open()

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
