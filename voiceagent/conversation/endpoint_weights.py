"""The endpointer's weights and holds, written by `models/train/endpoint_fit.py` from 1,293 generated turns and
tuned on 1,200 others (`models/endpointer.md`). On the tuning turns the area under the ROC curve is
0.926, 4.5 % are cut off, and half of the others are committed within 300 ms."""

from __future__ import annotations

from collections.abc import Mapping

TRAINED: Mapping[str, float] = {
    "bias": -1.008,
    "answers": 0.413,
    "answers_all": 0.732,
    "code_digits_missing": -0.812,
    "condition": -0.85,
    "day_missing": -0.501,
    "ends_comma": -1.365,
    "ends_question": 1.698,
    "ends_sentence": 1.272,
    "energy_fall": 0.036,
    "introduces": -0.484,
    "last_auxiliary": -0.96,
    "last_clock": -1.056,
    "last_code": 0.065,
    "last_day": 1.166,
    "last_determiner": -1.956,
    "last_filler": -0.43,
    "last_half_day": 1.266,
    "last_joiner": -1.196,
    "last_month": -0.109,
    "last_number": -0.454,
    "last_polite": 0.632,
    "last_preposition": -2.248,
    "last_pronoun": -1.029,
    "last_verb": -1.682,
    "long": 1.657,
    "number_missing": -0.031,
    "one_word": 0.24,
    "opener": -1.17,
    "pitch_fall": 0.214,
    "pitch_fall_in_question": -0.526,
    "pitch_moved": 0.397,
    "pitch_moved_squared": 0.078,
    "pitch_unknown": 0.212,
    "pleasantry": 0.089,
    "several_sentences": 0.071,
    "short": -0.999,
    "stranded": -0.933,
    "time_alone_missing": -0.244,
    "time_missing": -1.069,
    "weather_day_missing": 0.45,
    "whole": 0.428,
}
"""Weights of `endpointing.features`."""
RISK, HESITATION_MS, GUESS_FROM = 0.08, 500.0, 0.1
"""Tuned with holds of 220 to 2100 ms."""
