"""placeholder"""

from __future__ import annotations

from collections.abc import Mapping

from voiceagent.turn_taking.endpointing_manner import EndpointingManner, Manner

TRAINED: Mapping[str, float] = {
    "bias": 0.154,
    "ear": 0.403,
    "meaning": 0.093,
    "habit": 0.679,
    "mark_question": 0.873,
    "whole_turn": 1.215,
    "unfinished": -0.847,
    "asks": 1.114,
    "asked_yes_or_no": 0.9,
    "ear_missing": 1.1,
}
"""Weights of `endpoint_features.features`."""
HESITATION_MS, SPREAD, SPECULATE_FROM = 600.0, 0.8, 0.5
MANNERS: Mapping[Manner, EndpointingManner] = {
    "brisk": EndpointingManner(0.12, 200.0, 1600.0),
    "balanced": EndpointingManner(0.09, 200.0, 2100.0),
    "patient": EndpointingManner(0.055, 200.0, 2600.0),
}
