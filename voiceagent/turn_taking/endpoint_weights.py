"""The endpointer's weights and holds, written by `models/train/turns/fit.py` from 1,036 turns and tuned on
306 others (`models/endpointer.md`). On the tuning turns the area under the ROC curve is 0.876,
8.8 % are cut off, and half of the others are committed within 280 ms."""

from __future__ import annotations

from collections.abc import Mapping

TRAINED: Mapping[str, float] = {
    "bias": -7.007,
    "ear": -0.009,
    "ear_words": 0.101,
    "ear_missing": -0.107,
    "meaning": 0.124,
    "meaning_missing": -0.125,
    "pitch_fall": 0.117,
    "pitch_moved": 0.589,
    "pitch_moved_squared": -0.497,
    "pitch_unknown": -0.686,
    "long": 2.347,
    "words": 2.63,
    "mark_sentence": 0.226,
    "mark_question": 1.461,
    "mark_open": 0.224,
    "unfinished": -0.301,
    "value": -0.854,
    "value_size": -1.691,
    "asked": 5.049,
    "asked_short": 0.185,
    "asked_words": -2.602,
    "asked_yes_or_no": 1.099,
    "asks": 1.317,
}
"""Weights of `endpoint_features.features`."""
RISK, HESITATION_MS, SPREAD, GUESS_FROM = 0.2, 700.0, 0.6, 0.3
"""Tuned with holds of 200 to 2100 ms."""
