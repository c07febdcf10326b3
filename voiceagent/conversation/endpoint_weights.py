"""The endpointer's weights and holds, written by `models/train/endpoint_fit.py` from 3,400 generated turns and
tuned on 1,200 others (`models/endpointer.md`). On the tuning turns the area under the ROC curve is
0.923, 4.0 % are cut off, and half of the others are committed within 240 ms."""

from __future__ import annotations

from collections.abc import Mapping

TRAINED: Mapping[str, float] = {
    "bias": -3.604,
    "answers": 0.236,
    "answers_all": 0.824,
    "answers_yes_or_no": 1.341,
    "asks_about_place": 0.574,
    "asks_yes_or_no": -0.589,
    "calls_off": 1.594,
    "closed_end": 2.201,
    "code_digits_missing": -1.426,
    "commands": -0.384,
    "condition": -1.718,
    "day_missing": -0.179,
    "ends_comma": -2.014,
    "ends_question": 2.402,
    "ends_sentence": 0.767,
    "energy_fall": 0.044,
    "introduces": -1.1,
    "last_auxiliary": 0.685,
    "last_clock": -0.686,
    "last_code": 0.62,
    "last_day": 0.922,
    "last_determiner": -0.544,
    "last_filler": -0.785,
    "last_half_day": 0.665,
    "last_joiner": -0.598,
    "last_month": -0.021,
    "last_name": 1.973,
    "last_name_of_place": -1.017,
    "last_number": -1.329,
    "last_operand": 1.246,
    "last_polite": 1.209,
    "last_preposition": -0.297,
    "last_pronoun": -0.203,
    "last_verb": -0.269,
    "long": 1.765,
    "number_missing": -0.167,
    "one_word": 0.005,
    "opener": -1.457,
    "pitch_fall": 0.235,
    "pitch_moved": 1.019,
    "pitch_moved_in_question": -0.617,
    "pitch_moved_squared": -0.389,
    "pitch_unknown": 0.427,
    "pleasantry": 0.28,
    "several_sentences": 0.074,
    "short": -0.651,
    "stock": 1.249,
    "stranded": -0.191,
    "time_alone_missing": -0.731,
    "time_missing": -0.984,
    "weather_day_missing": -0.58,
    "whole": 0.51,
}
"""Weights of `endpointing.features`."""
RISK, HESITATION_MS, GUESS_FROM = 0.065, 600.0, 0.1
"""Tuned with holds of 200 to 2100 ms."""
