"""The endpointer's weights and holds, written by `models/train/endpoint_fit.py` from 3,400 generated turns and
tuned on 1,200 others (`models/endpointer.md`). On the tuning turns the area under the ROC curve is
0.928, 3.9 % are cut off, and half of the others are committed within 245 ms."""

from __future__ import annotations

from collections.abc import Mapping

TRAINED: Mapping[str, float] = {
    "bias": -1.306,
    "answers": 0.389,
    "answers_all": 0.813,
    "asks_about_place": 0.775,
    "code_digits_missing": -1.077,
    "condition": -1.436,
    "day_missing": -0.184,
    "ends_comma": -1.441,
    "ends_question": 1.632,
    "ends_sentence": 1.096,
    "energy_fall": 0.035,
    "introduces": -0.885,
    "last_auxiliary": -0.879,
    "last_clock": -1.242,
    "last_code": 0.263,
    "last_day": 0.838,
    "last_determiner": -1.784,
    "last_filler": -0.699,
    "last_half_day": 1.323,
    "last_joiner": -1.824,
    "last_month": -0.248,
    "last_number": -1.424,
    "last_operand": 1.013,
    "last_polite": 0.592,
    "last_preposition": -2.28,
    "last_pronoun": -1.185,
    "last_verb": -2.081,
    "long": 1.964,
    "number_missing": -0.234,
    "one_word": 0.403,
    "opener": -1.301,
    "pitch_fall": 0.26,
    "pitch_fall_in_question": -0.572,
    "pitch_moved": 0.751,
    "pitch_moved_squared": -0.255,
    "pitch_unknown": 0.428,
    "pleasantry": 0.253,
    "several_sentences": 0.089,
    "short": -0.887,
    "stranded": -0.867,
    "time_alone_missing": -0.682,
    "time_missing": -1.141,
    "weather_day_missing": -0.007,
    "whole": 0.532,
}
"""Weights of `endpointing.features`."""
RISK, HESITATION_MS, GUESS_FROM = 0.1, 700.0, 0.1
"""Tuned with holds of 200 to 2100 ms."""
