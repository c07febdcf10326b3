"""Judges whether a pause is the end of the turn, by the turn judges, the words so far, the caller's habit, and whether the
language model would call a tool. It is a logistic regression over `endpoint_features`; its weights come from
`models/train/turns/fit_people.py`, an agent's own from `fit.py`. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Literal

from voiceagent.turn_taking.endpoint_features import features, only_answers
from voiceagent.turn_taking.endpoint_weights import HESITATION_MS, MANNERS, SPECULATE_FROM, SPREAD, TRAINED
from voiceagent.turn_taking.language import Language
from voiceagent.turn_taking.patience import Progress
from voiceagent.turn_taking.pause import PauseEvidence

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
