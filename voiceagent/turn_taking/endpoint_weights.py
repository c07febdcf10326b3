"""The endpointer's weights and manners, fitted to 206 of people's turns by `turns/fit_people.py`.
Of recordings that were left out the area under the ROC curve is 0.847 (`models/endpointer.md`)."""

from __future__ import annotations

from collections.abc import Mapping

from voiceagent.turn_taking.endpointing_manner import EndpointingManner, Manner

TRAINED: Mapping[str, float] = {
    "bias": 0.556,
    "ear": 0.284,
    "meaning_long": 0.22,
    "habit": 0.653,
    "mark_question": 0.612,
    "whole_turn": 0.644,
    "unfinished": -0.947,
    "asks": 0.778,
    "value_size": -1.583,
    "ear_missing": 1.1,
}
"""Weights of `endpoint_features.features`."""
HESITATION_MS, SPREAD, SPECULATE_FROM = 600.0, 0.8, 0.5
MANNERS: Mapping[Manner, EndpointingManner] = {
    "brisk": EndpointingManner(0.15, 200.0, 1600.0),
    "balanced": EndpointingManner(0.09, 200.0, 2100.0),
    "patient": EndpointingManner(0.04, 200.0, 2600.0),
}
