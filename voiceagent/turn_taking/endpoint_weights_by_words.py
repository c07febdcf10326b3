"""The endpointer's weights for agents without turn judges, fitted to 1,580 synthetic turns. On people these features tell an
end hardly better than a fixed silence does (`models/endpointer.md`), on the bundled models' own kind of speech they do."""

from __future__ import annotations

from collections.abc import Mapping

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
"""Weights of `endpoint_features.features`."""
BY_WORDS_RISK, BY_WORDS_HESITATION_MS, BY_WORDS_SPREAD = 0.16, 500.0, 0.6
"""Tuned on synthetic turns, with endpointing delays of 200 to 2,100 ms."""
