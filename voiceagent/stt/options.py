"""How an utterance is windowed, and when its words count as stable. These options belong to a model: a profile sets them as
`stream` among the options of its recogniser."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from voiceagent.stt.gates import GateLimits

Policy = Literal["agreement", "alignatt"]
Positive = Annotated[float, msgspec.Meta(gt=0)]
NotNegative = Annotated[float, msgspec.Meta(ge=0)]


class StreamOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The options of one call's streaming transcription."""

    policy: Policy = "agreement"
    """Which words of a partial are stable: those that two decodes in a row agree on (`agreement`), or those that end clear of the
    audio's edge (`alignatt`, one decode sooner, but each decode is aligned)."""
    edge_ms: NotNegative = 400.0
    """With `alignatt`, how long before the end of the audio a word must end to be stable."""
    pad_ms: NotNegative = 200.0
    """Audio kept after the last voiced sample of a decode."""
    longest_pause_ms: Positive = 1000.0
    """The middle of a longer pause inside an utterance is not decoded, because models stop writing at a long silence."""
    sentence_pause_ms: NotNegative = 500.0
    """A pause this long behind a sentence is a cut: the sentence is committed, and later audio is decoded without the
    sentence's."""
    cut_pause_ms: NotNegative = 1000.0
    """The same in the middle of a sentence."""
    trim_after_s: Positive = 12.0
    """A longer window drops the audio of its committed words."""
    max_buffer_s: Positive = 120.0
    """Audio older than this is lost: there was no decode for that long."""
    limits: GateLimits = GateLimits()
    """Beyond these limits a decode is rejected."""
