"""The endpointer's weights and holds, written by `models/train/endpoint_fit.py` from 3,400 generated turns and
tuned on 1,200 others (`models/endpointer.md`). On the tuning turns the area under the ROC curve is
0.921, 3.9 % are cut off, and half of the others are committed within 250 ms."""

from __future__ import annotations

from collections.abc import Mapping

TRAINED: Mapping[str, float] = {
    "bias": -1.782,
    "answers": 0.41,
    "answers_all": 1.037,
    "asks_about_place": 0.856,
    "code_digits_missing": -1.472,
    "condition": -2.745,
    "day_missing": -0.077,
    "ends_comma": -1.909,
    "ends_question": 2.077,
    "ends_sentence": 1.436,
    "energy_fall": 0.037,
    "introduces": -1.927,
    "last_auxiliary": -0.633,
    "last_clock": -1.123,
    "last_code": 0.507,
    "last_day": 0.709,
    "last_determiner": -2.86,
    "last_filler": -2.931,
    "last_half_day": 1.713,
    "last_joiner": -2.924,
    "last_month": 0.014,
    "last_number": -1.677,
    "last_operand": 1.489,
    "last_polite": 0.777,
    "last_preposition": -2.43,
    "last_pronoun": -1.856,
    "last_verb": -2.677,
    "long": 1.998,
    "number_missing": -0.661,
    "one_word": -0.11,
    "opener": -1.575,
    "pitch_fall": 0.372,
    "pitch_fall_in_question": -0.66,
    "pitch_moved": 0.74,
    "pitch_moved_squared": -0.27,
    "pitch_unknown": 0.568,
    "pleasantry": 0.21,
    "several_sentences": 0.307,
    "short": -0.682,
    "stock": 1.344,
    "stranded": -2.219,
    "time_alone_missing": -0.74,
    "time_missing": -1.262,
    "weather_day_missing": -0.2,
    "whole": 0.795,
}
"""Weights of `endpointing.features`."""
RISK, HESITATION_MS, GUESS_FROM = 0.075, 775.0, 0.1
"""Tuned with holds of 200 to 2100 ms."""
