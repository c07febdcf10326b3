"""The endpointer's weights and holds, written by `models/train/endpoint_fit.py` from 3,400 generated turns and
tuned on 1,200 others (`models/endpointer.md`). On the tuning turns the area under the ROC curve is
0.925, 4.0 % are cut off, and half of the others are committed within 210 ms."""

from __future__ import annotations

from collections.abc import Mapping

TRAINED: Mapping[str, float] = {
    "bias": -3.565,
    "answers": 0.245,
    "answers_all": 0.824,
    "answers_yes_or_no": 1.341,
    "asks_about_place": 0.519,
    "asks_what": 0.592,
    "asks_yes_or_no": -0.293,
    "calls_off": 1.6,
    "closed_end": 2.148,
    "code_digits_missing": -1.439,
    "commands": -0.367,
    "condition": -1.71,
    "day_missing": -0.183,
    "ends_comma": -2.015,
    "ends_question": 2.107,
    "ends_sentence": 0.773,
    "energy_fall": 0.044,
    "introduces": -1.098,
    "last_auxiliary": 0.646,
    "last_clock": -0.672,
    "last_code": 0.655,
    "last_day": 0.918,
    "last_determiner": -0.575,
    "last_filler": -0.757,
    "last_half_day": 0.674,
    "last_joiner": -0.569,
    "last_month": -0.011,
    "last_name": 1.974,
    "last_name_of_place": -1.019,
    "last_number": -1.336,
    "last_operand": 1.169,
    "last_polite": 1.2,
    "last_preposition": -0.334,
    "last_pronoun": -0.209,
    "last_verb": -0.269,
    "long": 1.746,
    "number_missing": -0.164,
    "one_word": 0.031,
    "opener": -1.443,
    "pitch_fall": 0.234,
    "pitch_moved": 1.015,
    "pitch_moved_in_question": -0.603,
    "pitch_moved_squared": -0.384,
    "pitch_unknown": 0.424,
    "pleasantry": 0.285,
    "several_sentences": 0.091,
    "short": -0.666,
    "stock": 0.878,
    "stranded": -0.08,
    "time_alone_missing": -0.733,
    "time_missing": -0.967,
    "weather_day_missing": -0.586,
    "whole": 0.498,
}
"""Weights of `endpointing.features`."""
RISK, HESITATION_MS, SPREAD, GUESS_FROM = 0.07, 625.0, 0.6, 0.1
"""Tuned with holds of 200 to 2100 ms."""
