"""The endpointer's weights and holds, written by `models/train/turns/fit.py` from 1,036 turns and tuned on
306 others (`models/endpointer.md`). On the tuning turns the area under the ROC curve is 0.873,
9.2 % are cut off, and half of the others are committed within 273 ms."""

from __future__ import annotations

from collections.abc import Mapping

TRAINED: Mapping[str, float] = {
    "bias": -7.355,
    "ear": -0.012,
    "ear_words": 0.107,
    "ear_missing": -0.112,
    "meaning": 0.0,
    "meaning_missing": -0.0,
    "pitch_fall": 0.119,
    "pitch_moved": 0.606,
    "pitch_moved_squared": -0.51,
    "pitch_unknown": -0.762,
    "long": 2.382,
    "words": 2.746,
    "mark_sentence": 0.329,
    "mark_question": 1.631,
    "mark_open": 0.071,
    "unfinished": -0.614,
    "value": -0.929,
    "value_size": -1.605,
    "asked": 5.121,
    "asked_short": 0.174,
    "asked_words": -2.632,
    "asked_yes_or_no": 1.083,
    "asks": 1.205,
}
"""Weights of `endpoint_features.features`."""
RISK, HESITATION_MS, SPREAD, GUESS_FROM = 0.25, 850.0, 0.6, 0.3
"""Tuned with holds of 200 to 2100 ms."""
