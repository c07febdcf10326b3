"""The audio of a call: mono int16 in frames of 20 ms, at one rate for each place where it is heard, spoken or carried."""

from __future__ import annotations

FRAME_MS = 20
HEARD_HZ = 16_000
"""The caller's audio, as voice detection, speech recognition and turn judges take it."""
PLAYED_HZ = 24_000
"""The agent's audio, as it waits to be sent."""
PHONE_HZ = 8_000
"""A telephone line (ITU-T G.711)."""
HEARD_FRAME_SAMPLES = HEARD_HZ * FRAME_MS // 1000
PLAYED_FRAME_SAMPLES = PLAYED_HZ * FRAME_MS // 1000
PHONE_FRAME_SAMPLES = PHONE_HZ * FRAME_MS // 1000
