"""Judges whether a pause is the end of the turn, by the turn judges, the words so far, the caller's habit, and whether the
language model would call a tool. `features` describes the evidence of a pause in numbers, in any language: classes of words come
as data. `EndpointModel` is a logistic regression over them; its weights come from `models/train/turns/fit_people.py`, an agent's
own from `fit.py`. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Literal

from voiceagent.turn_taking.endpoint_weights import HESITATION_MS, MANNERS, SPECULATE_FROM, SPREAD, TRAINED
from voiceagent.turn_taking.language import Language, bare_words
from voiceagent.turn_taking.patience import Progress

KNOWN_PAUSES = 4
"""A caller of whom nothing is known counts as one of whom so many pauses went on and so many ended a turn."""


@dataclass(frozen=True, slots=True)
class Habit:
    """A caller's habit in this call: a count of their pauses of 200 ms and more. Callers who have paused often inside a turn
    will do so again."""

    went_on: int = 0
    """Pauses after which the caller went on."""
    ended: int = 0
    """Pauses that ended a turn."""

    def after_pause(self, *, ends_turn: bool) -> Habit:
        """The habit once one more pause is known."""
        return Habit(self.went_on + (not ends_turn), self.ended + ends_turn)

    @property
    def log_odds(self) -> float:
        """The log-odds that a pause of this caller ends the turn, before anything else is known of the pause; 0 at first."""
        return math.log((self.ended + KNOWN_PAUSES) / (self.went_on + KNOWN_PAUSES))


NO_HABIT = Habit()


@dataclass(frozen=True, slots=True)
class Prosody:
    """The end of the voice before a pause (`audio.prosody`)."""

    pitch_fall_st: float | None = None
    """Semitones by which the pitch at the very end lies below the rest. Negative if it rose; None if it is unknown."""
    energy_fall_db: float = 0.0
    """Decibels by which the last 100 ms lie below the rest."""


@dataclass(frozen=True, slots=True)
class PauseEvidence:
    """The evidence of a pause."""

    words: str
    """The utterance so far, with the recogniser's case and punctuation."""
    asked: str
    """The agent's last words; empty when it said nothing."""
    voiced_ms: float
    """Speech of the utterance so far, pauses left out."""
    prosody: Prosody
    value: Progress = ""
    """The progress of a value that was asked for."""
    calls_tool: bool = False
    """True if the speculative reply to these words calls a tool, so that the language model misses none of its arguments."""
    judged: Mapping[str, float] = field(default_factory=dict)
    """The probability that the caller has finished, 0 to 1, from each turn judge that has answered; by its name."""
    habit: Habit = NO_HABIT


JUDGES = ("ear", "meaning")
SURE = {"ear": 0.01, "meaning": 1e-4}
"""A judge's chance is limited to this: chances beyond it carry no more information."""
SENTENCE_MARKS, QUESTION_MARKS, OPEN_MARKS = ".!。！।", "?？؟", ",，、-–—:;…"
MOST_VALUE = 12
"""Digits and letters of a value; more of them carry no more information."""
LONG_MS, MOST_WORDS, SHORT_WORDS = 4000.0, 12, 3
"""Speech and words beyond which more carry no more information; the words of a short answer, of which the language model cannot
tell whether it is all."""
_SENTENCES = re.compile(f"[{re.escape(SENTENCE_MARKS + QUESTION_MARKS)}]")
_BETWEEN_LETTERS = re.compile(r"(?<=\b\w)[-.](?=\w\b)")


def features(evidence: PauseEvidence, language: Language) -> dict[str, float]:
    """The evidence as numbers. A missing judge is marked, and has no other weight."""
    text = evidence.words.strip()
    words = bare_words(_BETWEEN_LETTERS.sub(" ", text))
    found = {"bias": 1.0, "habit": evidence.habit.log_odds, **judged(evidence.judged), **_voice(evidence)}
    if not words:
        return found | {"no_words": 1.0}
    return (
        found
        | {"meaning_long": found["meaning"] if len(words) > SHORT_WORDS else 0.0}
        | _mark(text)
        | _ending(text, words, language)
        | _value(words, language)
        | _length(len(words), found["ear"], evidence.asked)
        | _answer(words, evidence.asked, language)
    )


def judged(said: Mapping[str, float]) -> dict[str, float]:
    """The log-odds of each judge."""
    found: dict[str, float] = {}
    for name in JUDGES:
        chance = said.get(name)
        found[f"{name}_missing"] = float(chance is None)
        found[name] = 0.0 if chance is None else log_odds(chance, SURE[name])
    return found


def log_odds(chance: float, surest: float) -> float:
    """The log-odds of a chance, which is limited to `SURE`."""
    held = min(1 - surest, max(surest, chance))
    return math.log(held / (1 - held))


def _voice(evidence: PauseEvidence) -> dict[str, float]:
    fall = evidence.prosody.pitch_fall_st
    clipped = max(-8.0, min(8.0, fall)) if fall is not None else 0.0
    return {
        "pitch_fall": clipped,
        "pitch_moved": abs(clipped),
        "pitch_moved_squared": clipped * clipped / 8.0,
        "long": min(1.0, evidence.voiced_ms / LONG_MS),
    }


def _mark(text: str) -> dict[str, float]:
    """The closing mark that the recogniser wrote."""
    last = "…" if text.endswith("...") else text[-1]
    return {
        "mark_sentence": float(last in SENTENCE_MARKS),
        "mark_question": float(last in QUESTION_MARKS),
        "mark_open": float(last in OPEN_MARKS),
    }


def _ending(text: str, words: list[str], language: Language) -> dict[str, float]:
    """`whole_turn` if the last sentence is a fixed expression, which is a turn by itself ("thank you"); else `unfinished` if
    another word must follow the last one."""
    whole = _is_whole_turn(_last_sentence(text), language)
    return {"whole_turn": float(whole), "unfinished": float(_leaves_open(words[-1], language) and not whole)}


def _last_sentence(text: str) -> list[str]:
    """The words behind the last mark that closed a sentence before them."""
    return next((words for part in reversed(_SENTENCES.split(text)) if (words := bare_words(part))), [])


def _is_whole_turn(words: list[str], language: Language) -> bool:
    """True if the words end with a fixed expression, and only agree, refuse or acknowledge before it ("no, thank you")."""
    before = _acknowledging(language)
    return any(tuple(words[start:]) in language.whole_turns and _all_in(words[:start], before) for start in range(len(words)))


def only_answers(text: str, language: Language) -> bool:
    """True if the words only agree, refuse, acknowledge, thank or take leave ("yes", "no, that's all")."""
    words = bare_words(text)
    return bool(words) and (_all_in(words, _acknowledging(language)) or _is_whole_turn(words, language))


def _acknowledging(language: Language) -> tuple[frozenset[str], ...]:
    """The words that agree, refuse or acknowledge."""
    backchannels = frozenset(word for word in language.backchannels if not _leaves_open(word, language))
    return (language.yes, language.no, backchannels)


def _leaves_open(word: str, language: Language) -> bool:
    """True if another word must follow this one."""
    return any(word in members for members in language.unfinished.values())


def _value(words: list[str], language: Language) -> dict[str, float]:
    """Features of a value at the end that may go on: digits, number words, single letters, words of spelling."""
    size = 0
    for word in reversed(words):
        if not _is_of_value(word, language):
            break
        size += len(word) if word.isdigit() else 1
    if not size:
        return {}
    return {"value": 1.0, "value_size": min(size, MOST_VALUE) / MOST_VALUE}


def _is_of_value(word: str, language: Language) -> bool:
    letter = len(word) == 1 and word.isalpha() and not _leaves_open(word, language)
    return any(character.isdigit() for character in word) or word in language.numbers or word in language.spelling or letter


def _length(count: int, ear: float, asked: str) -> dict[str, float]:
    """Features of the number of words. A few are an answer rather than a request, and give the judge by ear little evidence."""
    words = math.log(min(MOST_WORDS, count))
    asks = _asks(asked)
    return {
        "words": words,
        "asked_words": asks * words,
        "asked_short": asks * float(count <= SHORT_WORDS),
        "ear_words": ear * words,
    }


def _answer(words: list[str], asked: str, language: Language) -> dict[str, float]:
    """Features of a question the caller asks, or answers."""
    asks = _asks(asked)
    answer = _all_in(words, (language.yes, language.no, language.beside_yes))
    return {"asked": asks, "asked_yes_or_no": asks * float(answer), "asks": float(words[0] in language.question_words)}


def _asks(asked: str) -> float:
    """1 if the agent's last words are a question."""
    return float(asked.rstrip()[-1:] in tuple(QUESTION_MARKS))


def _all_in(words: list[str], classes: Iterable[frozenset[str]]) -> bool:
    return all(any(word in members for members in classes) for word in words)


Manner = Literal["brisk", "balanced", "patient"]
"""The names of the manners, from the quickest answer to the fewest callers cut off."""


@dataclass(frozen=True, slots=True)
class EndpointingManner:
    """One way to weigh a quick answer against a caller who is cut off: how long the agent waits in a pause."""

    risk: float
    """The chance, 0 to 1, that a pause which has lasted for its endpointing delay was a hesitation after all."""
    min_delay_ms: float
    """The shortest endpointing delay."""
    max_delay_ms: float
    """The longest."""


ENDPOINTING_MANNERS: Mapping[Manner, EndpointingManner] = {
    "brisk": EndpointingManner(*MANNERS["brisk"]),
    "balanced": EndpointingManner(*MANNERS["balanced"]),
    "patient": EndpointingManner(*MANNERS["patient"]),
}


@dataclass(frozen=True, slots=True)
class EndpointingDelays:
    """Silences, counted from the end of speech."""

    eager_ms: float
    """The silence after which an answer may be begun."""
    endpoint_ms: float
    """The silence after which the turn is committed."""


@dataclass(frozen=True, slots=True)
class EndpointModel:
    """Weights of `features`, and how completeness becomes an endpointing delay.

    Hesitations are log-normally long: of those that have begun, a share S(t) lasts longer than t. If the caller has finished with
    a probability of p when the pause begins and is still silent after t, then the odds are p : (1-p)·S(t). The delay is the t at
    which the chance that the caller goes on has fallen to `risk`."""

    weights: Mapping[str, float] = field(default_factory=lambda: TRAINED)
    risk: float = ENDPOINTING_MANNERS["balanced"].risk
    """The chance, 0 to 1, that a pause which has lasted for its endpointing delay was a hesitation after all."""
    hesitation_ms: float = HESITATION_MS
    """The median of hesitations that are long enough to matter."""
    spread: float = SPREAD
    """Deviation of the logarithm of their length (Campione & Véronis 2002 have 0.6)."""
    speculate_from: float = SPECULATE_FROM
    """An answer is begun once the chance that the caller has finished has come up to this: as soon as the words are known, or
    later in the pause."""

    def completeness(self, evidence: PauseEvidence, language: Language) -> float:
        """The probability, 0 to 1, that the caller has finished."""
        score = sum(self.weights.get(name, 0.0) * value for name, value in features(evidence, language).items())
        score += PATIENCE[evidence.value] + (TOOL_CALL if evidence.calls_tool else 0.0)
        return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, score))))

    def weighs(self, judge: str) -> bool:
        """True if what a turn judge says counts."""
        return bool(self.weights.get(judge) or self.weights.get(f"{judge}_long"))

    def delays(self, evidence: PauseEvidence, language: Language, *, shortest_ms: float, longest_ms: float) -> EndpointingDelays:
        """Returns the lengths that the pause must reach."""
        most_ms = most_for(evidence, language, shortest_ms=shortest_ms, longest_ms=longest_ms)
        return self.delays_for(self.completeness(evidence, language), shortest_ms, most_ms)

    def delays_for(self, complete: float, shortest_ms: float, longest_ms: float) -> EndpointingDelays:
        """Returns the lengths that a pause must reach if the caller has finished with a probability of `complete`."""
        endpoint_ms = max(shortest_ms, min(longest_ms, self._silence_ms(complete, 1.0 - self.risk)))
        return EndpointingDelays(min(endpoint_ms, self._silence_ms(complete, self.speculate_from)), endpoint_ms)

    def _silence_ms(self, complete: float, wanted: float) -> float:
        """The silence after which the chance that the caller has finished has risen from `complete` to `wanted`."""
        lasting = complete * (1.0 - wanted) / max(1e-9, (1.0 - complete) * wanted)
        if lasting >= 1.0:
            return 0.0
        return self.hesitation_ms * math.exp(self.spread * NORMAL.inv_cdf(1.0 - max(1e-9, lasting)))


def most_for(evidence: PauseEvidence, language: Language, *, shortest_ms: float, longest_ms: float) -> float:
    """The longest endpointing delay behind these words. An answer that is whole as it stands waits no longer than `ANSWER_MS`."""
    if evidence.value in ("", "whole") and only_answers(evidence.words, language):
        return max(shortest_ms, min(longest_ms, ANSWER_MS))
    return longest_ms


ANSWER_MS = 700.0
"""The longest endpointing delay behind "yes", "no, that's all" or "thank you"."""
BY_WORDS: Mapping[str, float] = {
    "bias": -2.0,
    "ear": 0.09,
    "ear_words": 0.045,
    "ear_missing": -0.042,
    "meaning": 0.124,
    "meaning_missing": -0.171,
    "pitch_fall": 0.11,
    "pitch_moved": 0.662,
    "pitch_moved_squared": -0.551,
    "long": 2.122,
    "words": 0.374,
    "mark_sentence": 0.282,
    "mark_question": 1.267,
    "mark_open": 0.18,
    "unfinished": -0.591,
    "value": -0.448,
    "value_size": -2.203,
    "asked": 0.421,
    "asked_short": -0.133,
    "asked_words": -0.573,
    "asked_yes_or_no": 0.906,
    "asks": 1.083,
    "whole_turn": 1.139,
}
"""Weights for agents without turn judges, fitted to 1,580 synthetic turns. On people these features tell an end hardly better
than a fixed silence does (`models/endpointer.md`), on the bundled models' own kind of speech they do."""
BY_WORDS_RISK, BY_WORDS_HESITATION_MS, BY_WORDS_SPREAD = 0.16, 500.0, 0.6
"""Tuned on synthetic turns, with endpointing delays of 200 to 2,100 ms."""
WITHOUT_JUDGES = EndpointModel(BY_WORDS, BY_WORDS_RISK, BY_WORDS_HESITATION_MS, BY_WORDS_SPREAD)
"""The model for an agent that has no turn judges."""
PATIENCE: Mapping[Progress, float] = {"": 0.0, "open": -4.0, "growing": -1.5, "whole": 1.5}
"""Added to the log-odds of having finished, by the progress of a value that was asked for."""
TOOL_CALL = 1.3
"""Added to the log-odds of having finished, if the language model would call a tool now (`bench/starter/tool_call_weight.py`)."""
NORMAL = NormalDist()
