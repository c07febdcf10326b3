"""Whether a pause is the end of the turn: from the words so far, what the agent had asked, and how the voice fell. A logistic
regression over features that can be read off a transcript; its weights come from `models/train`. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Prosody:
    """How the voice ended before a pause (`audio.prosody`)."""

    pitch_fall_st: float | None = None
    """Semitones by which the pitch at the end lies below the rest; None when that is unknown."""
    energy_fall_db: float = 0.0
    """Decibels by which the last 100 ms lie below the rest."""


@dataclass(frozen=True, slots=True)
class PauseEvidence:
    """What is known in a pause."""

    words: str
    """The utterance so far, with the recogniser's case and punctuation."""
    asked: str
    """What the agent said last; empty when it said nothing."""
    voiced_ms: float
    prosody: Prosody


@dataclass(frozen=True, slots=True)
class Holds:
    """Silence, counted from the end of speech."""

    eager_ms: float
    """After which an answer may be begun."""
    endpoint_ms: float
    """After which the turn is committed."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


OPEN = _words(
    """a an the my your our his her its their this these some any every each to for from of in on at by with about into than as
    between until before after during without under over near like via per and or but because so if when while that which who
    whose what where how i we they he she is are am was were be been have has had do does did can could will would shall should
    may might must want wants need needs wish going gonna let lets very really too more most another next last plus minus times
    divided number"""
)
"""After one of these as its last word a sentence goes on."""
FILLERS = _words("uh um uhm er erm hmm hm mm well like so actually")
WHOLE = _words(
    """yes yeah yep yup no nope ok okay sure right stop wait hello hi hey thanks thank you bye goodbye never mind please repeat
    again correct exactly cancel help nothing none that's it"""
)
"""Words that are a turn by themselves."""
ASKING = _words("what when where who whose which why how is are am was were do does did can could will would should may have has")
NUMBERS = _words(
    """zero oh one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand"""
)
SLOTS = {
    "book": (
        _words("monday tuesday wednesday thursday friday saturday sunday today tonight tomorrow"),
        _words("am pm noon midnight"),
    ),
    "timer": (_words("second seconds minute minutes hour hours"),),
}
"""What a request for something still needs, by a word that names it."""


def features(evidence: PauseEvidence) -> dict[str, float]:
    """The evidence as numbers, most of them 0 or 1."""
    text = evidence.words.strip()
    words = [bare for word in text.lower().split() if (bare := "".join(c for c in word if c.isalnum() or c == "'"))]
    last = words[-1] if words else ""
    fall = evidence.prosody.pitch_fall_st
    asked = evidence.asked.rstrip().endswith("?")
    number = last.isdigit() or last in NUMBERS
    needs = next((slots for name, slots in SLOTS.items() if name in words), ())
    return {
        "bias": 1.0,
        "ends_sentence": float(text.endswith((".", "!"))),
        "ends_question": float(text.endswith("?")),
        "ends_comma": float(text.endswith((",", "-", "…", "..."))),
        "open_word": float(last in OPEN and not text.endswith("?")),
        "filler": float(last in FILLERS),
        "whole": float(bool(words) and WHOLE.issuperset(words)),
        "answers": float(asked and last not in OPEN and len(words) <= 6),
        "asking": float(bool(words) and words[0] in ASKING and len(words) >= 3),
        "one_word": float(len(words) == 1),
        "two_words": float(len(words) == 2),
        "number": float(number),
        "short_code": float(number and "order" in words and sum(len(w) for w in words if w.isdigit()) < 5),
        "slots_missing": float(sum(not slot.intersection(words) for slot in needs)),
        "pitch_fall": max(-4.0, min(6.0, fall)) if fall is not None else 0.0,
        "pitch_unknown": float(fall is None),
        "energy_fall": max(-10.0, min(15.0, evidence.prosody.energy_fall_db)),
        "long": min(1.0, evidence.voiced_ms / 4000.0),
    }


HAND_SET: Mapping[str, float] = {
    "bias": -0.6,
    "ends_sentence": 2.6,
    "ends_question": 3.4,
    "ends_comma": -2.5,
    "open_word": -3.0,
    "filler": -3.0,
    "whole": 2.5,
    "answers": 1.5,
    "asking": 0.6,
    "one_word": -0.8,
    "two_words": -0.3,
    "number": -0.3,
    "short_code": -1.5,
    "slots_missing": -0.7,
    "pitch_fall": 0.35,
    "energy_fall": 0.03,
    "long": 0.3,
}


@dataclass(frozen=True, slots=True)
class EndpointModel:
    """Weights of `features`, and how completeness becomes a hold."""

    weights: Mapping[str, float] = field(default_factory=lambda: HAND_SET)
    sure: float = 0.9
    """From this completeness on the hold is the shortest."""
    curve: float = 1.5
    """How steeply the hold grows below it: 1 in a straight line, more stays short for longer."""
    guess_from: float = 0.3
    """From this completeness on an answer is begun as soon as the words are known."""

    def completeness(self, evidence: PauseEvidence) -> float:
        """The probability, 0 to 1, that the caller has finished."""
        score = sum(self.weights.get(name, 0.0) * value for name, value in features(evidence).items())
        return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, score))))

    def holds(self, evidence: PauseEvidence, *, shortest_ms: float, longest_ms: float) -> Holds:
        """How long the pause may be."""
        complete = self.completeness(evidence)
        doubt = max(0.0, (self.sure - complete) / self.sure)
        endpoint_ms = shortest_ms + (longest_ms - shortest_ms) * doubt ** (1 / self.curve)
        return Holds(0.0 if complete >= self.guess_from else endpoint_ms / 2, endpoint_ms)
