"""The endpointer's weights and manners, fitted to 206 of people's turns by `turns/fit_people.py`.
The area under the ROC curve is 0.844 on recordings that were left out (`models/endpointer.md`)."""

from __future__ import annotations

from collections.abc import Mapping

TRAINED: Mapping[str, float] = {
    "bias": -0.119,
    "ear": 0.254,
    "meaning_long": 0.247,
    "habit": 0.663,
    "mark_question": 0.618,
    "whole_turn": 0.709,
    "unfinished": -0.896,
    "asks": 0.771,
    "pitch_moved": 0.405,
    "pitch_moved_squared": -0.328,
    "value_size": -1.131,
    "ear_missing": 1.1,
}
"""Weights of `endpointing.features`."""
HESITATION_MS, SPREAD, SPECULATE_FROM = 600.0, 0.8, 0.5
MANNERS: Mapping[str, tuple[float, float, float]] = {
    "brisk": (0.2, 200.0, 1600.0),
    "balanced": (0.11, 200.0, 2100.0),
    "patient": (0.055, 200.0, 2600.0),
}
"""The fields of each `EndpointingManner`."""
