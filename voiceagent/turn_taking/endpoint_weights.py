"""The endpointer's weights and manners, fitted to 206 of people's turns by `turns/fit_people.py`.
Of recordings that were left out the area under the ROC curve is 0.849 (`models/endpointer.md`)."""

from __future__ import annotations

from collections.abc import Mapping

from voiceagent.turn_taking.endpointing_manner import EndpointingManner, Manner

TRAINED: Mapping[str, float] = {
    "bias": 0.492,
    "ear": 0.254,
    "meaning_long": 0.247,
    "habit": 0.663,
    "mark_question": 0.618,
    "whole_turn": 0.709,
    "unfinished": -0.896,
    "asks": 0.771,
    "ear_missing": 1.1,
}
"""Weights of `endpoint_features.features`."""
HESITATION_MS, SPREAD, SPECULATE_FROM = 600.0, 0.8, 0.5
MANNERS: Mapping[Manner, EndpointingManner] = {
    "brisk": EndpointingManner(0.17, 200.0, 1600.0),
    "balanced": EndpointingManner(0.12, 200.0, 2100.0),
    "patient": EndpointingManner(0.06, 200.0, 2600.0),
}
