"""The endpointer's weights and holds, written by `models/train/endpoint_fit.py` from 3,400 generated turns and
tuned on 1,200 others (`models/endpointer.md`). On the tuning turns the area under the ROC curve is
0.925, 4.0 % are cut off, and half of the others are committed within 230 ms."""

from __future__ import annotations

from collections.abc import Mapping

TRAINED: Mapping[str, float] = {
    "bias": -3.605,
    "answers": 0.238,
    "answers_all": 0.825,
    "answers_yes_or_no": 1.34,
    "asks_about_place": 0.568,
    "asks_yes_or_no": -0.595,
    "calls_off": 1.591,
    "closed_end": 2.207,
    "code_digits_missing": -1.426,
    "commands": -0.384,
    "condition": -1.721,
    "day_missing": -0.18,
    "ends_comma": -2.015,
    "ends_question": 2.411,
    "ends_sentence": 0.766,
    "energy_fall": 0.044,
    "introduces": -1.1,
    "last_auxiliary": 0.686,
    "last_clock": -0.69,
    "last_code": 0.612,
    "last_day": 0.909,
    "last_determiner": -0.543,
    "last_filler": -0.784,
    "last_half_day": 0.662,
    "last_joiner": -0.6,
    "last_month": -0.025,
    "last_name": 1.971,
    "last_name_of_place": -1.021,
    "last_number": -1.333,
    "last_operand": 1.238,
    "last_polite": 1.204,
    "last_preposition": -0.295,
    "last_pronoun": -0.203,
    "last_verb": -0.27,
    "long": 1.762,
    "number_missing": -0.17,
    "one_word": 0.003,
    "opener": -1.459,
    "pitch_fall": 0.234,
    "pitch_moved": 1.02,
    "pitch_moved_in_question": -0.615,
    "pitch_moved_squared": -0.389,
    "pitch_unknown": 0.426,
    "pleasantry": 0.293,
    "several_sentences": 0.076,
    "short": -0.653,
    "stock": 1.003,
    "stranded": -0.197,
    "time_alone_missing": -0.727,
    "time_missing": -0.985,
    "weather_day_missing": -0.583,
    "whole": 0.511,
}
"""Weights of `endpointing.features`."""
RISK, HESITATION_MS, GUESS_FROM = 0.065, 600.0, 0.1
"""Tuned with holds of 200 to 2100 ms."""
