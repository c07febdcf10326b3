"""The endpointer's weights and holds, written by `models/train/endpoint_fit.py` from 3,400 generated turns and
tuned on 1,200 others (`models/endpointer.md`). On the tuning turns the area under the ROC curve is
0.919, 4.0 % are cut off, and half of the others are committed within 250 ms."""

from __future__ import annotations

from collections.abc import Mapping

TRAINED: Mapping[str, float] = {
    "bias": -1.361,
    "answers": 0.364,
    "answers_all": 0.966,
    "asks_about_place": 0.813,
    "code_digits_missing": -1.432,
    "condition": -1.759,
    "day_missing": -0.144,
    "ends_comma": -2.175,
    "ends_question": 1.729,
    "ends_sentence": 1.039,
    "energy_fall": 0.038,
    "introduces": -1.094,
    "last_auxiliary": -0.66,
    "last_clock": -0.818,
    "last_code": 0.461,
    "last_day": 0.81,
    "last_determiner": -2.63,
    "last_filler": -2.047,
    "last_half_day": 1.605,
    "last_joiner": -2.436,
    "last_month": 0.014,
    "last_number": -1.513,
    "last_operand": 1.231,
    "last_polite": 0.678,
    "last_preposition": -2.399,
    "last_pronoun": -1.208,
    "last_verb": -2.443,
    "long": 2.084,
    "number_missing": -0.377,
    "one_word": -0.051,
    "opener": -1.268,
    "pitch_fall": 0.352,
    "pitch_fall_in_question": -0.629,
    "pitch_moved": 0.72,
    "pitch_moved_squared": -0.252,
    "pitch_unknown": 0.336,
    "pleasantry": 0.164,
    "several_sentences": 0.047,
    "short": -0.796,
    "stock": 1.144,
    "stranded": -1.749,
    "time_alone_missing": -0.789,
    "time_missing": -1.172,
    "weather_day_missing": -0.081,
    "whole": 0.687,
}
"""Weights of `endpointing.features`."""
RISK, HESITATION_MS, GUESS_FROM = 0.08, 850.0, 0.1
"""Tuned with holds of 200 to 2100 ms."""
