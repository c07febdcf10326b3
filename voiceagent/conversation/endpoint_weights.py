"""The endpointer's weights and holds, written by `models/train/endpoint_fit.py` from 3,400 generated turns and
tuned on 1,200 others (`models/endpointer.md`). On the tuning turns the area under the ROC curve is
0.929, 3.5 % are cut off, and half of the others are committed within 260 ms."""

from __future__ import annotations

from collections.abc import Mapping

TRAINED: Mapping[str, float] = {
    "bias": -1.295,
    "answers": 0.409,
    "answers_all": 0.92,
    "asks_about_place": 0.873,
    "code_digits_missing": -1.162,
    "condition": -2.179,
    "day_missing": -0.167,
    "ends_comma": -1.689,
    "ends_question": 1.516,
    "ends_sentence": 1.053,
    "energy_fall": 0.034,
    "introduces": -1.488,
    "last_auxiliary": -1.026,
    "last_clock": -1.589,
    "last_code": 0.257,
    "last_day": 0.721,
    "last_determiner": -1.967,
    "last_filler": -1.007,
    "last_half_day": 1.353,
    "last_joiner": -2.254,
    "last_month": -0.537,
    "last_number": -1.646,
    "last_operand": 1.258,
    "last_polite": 0.633,
    "last_preposition": -2.561,
    "last_pronoun": -1.935,
    "last_verb": -2.352,
    "long": 2.263,
    "number_missing": -0.392,
    "one_word": 0.532,
    "opener": -1.496,
    "pitch_fall": 0.268,
    "pitch_fall_in_question": -0.559,
    "pitch_moved": 0.774,
    "pitch_moved_squared": -0.269,
    "pitch_unknown": 0.89,
    "pleasantry": 0.216,
    "several_sentences": 0.037,
    "short": -0.908,
    "stock": 1.55,
    "stranded": -1.253,
    "time_alone_missing": -0.705,
    "time_missing": -1.224,
    "weather_day_missing": 0.004,
    "whole": 0.573,
}
"""Weights of `endpointing.features`."""
RISK, HESITATION_MS, GUESS_FROM = 0.08, 700.0, 0.1
"""Tuned with holds of 200 to 2100 ms."""
