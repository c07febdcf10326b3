"""The endpointer's weights and holds, written by `models/train/turns/fit.py` from 1,036 turns and tuned on
306 others (`models/endpointer.md`). On the tuning turns the area under the ROC curve is 0.877,
11.1 % are cut off, and half of the others are committed within 274 ms."""

from __future__ import annotations

from collections.abc import Mapping

TRAINED: Mapping[str, float] = {
    "bias": -6.996,
    "ear": -0.01,
    "ear_words": 0.101,
    "ear_missing": -0.107,
    "meaning": 0.126,
    "meaning_missing": -0.125,
    "pitch_fall": 0.118,
    "pitch_moved": 0.587,
    "pitch_moved_squared": -0.496,
    "pitch_unknown": -0.683,
    "long": 2.346,
    "words": 2.628,
    "mark_sentence": 0.223,
    "mark_question": 1.453,
    "mark_open": 0.226,
    "unfinished": -0.3,
    "value": -0.844,
    "value_size": -1.704,
    "asked": 5.028,
    "asked_short": 0.184,
    "asked_words": -2.595,
    "asked_yes_or_no": 1.116,
    "asks": 1.313,
}
"""Weights of `endpoint_features.features`."""
RISK, HESITATION_MS, SPREAD, GUESS_FROM = 0.2, 600.0, 0.6, 0.3
"""Tuned with holds of 200 to 2100 ms."""
