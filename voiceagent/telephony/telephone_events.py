"""A telephone's keys in RTP (RFC 4733 §2). A key is a run of packets with one timestamp. Each packet tells how long the key is
down so far. The last packet says that it was released, and is sent three times. Pure."""

from __future__ import annotations

import struct
from collections import deque
from dataclasses import dataclass

KEYS = "0123456789*#ABCD"
CLOCK_HZ = 8_000
FRAME_SAMPLES = 160
"""20 ms."""
VOLUME = 10
"""-10 dBm0."""
PRESSED_FRAMES = 8
END_FRAMES = 3
GAP_FRAMES = 5
"""The pause between two keys."""
PAUSE = "W"
"""Stands for half a second in which no key is pressed."""
PAUSE_FRAMES = 25
MAX_KEYS = 64
"""The most keys that may wait to be sent."""
_PAYLOAD = struct.Struct("!BBH")
_REMEMBERED = 16


class KeyReader:
    """Reports each key once, whichever of its packets arrive and in whatever order."""

    def __init__(self) -> None:
        self._seen: deque[int] = deque(maxlen=_REMEMBERED)

    def read(self, payload: bytes, timestamp: int) -> str:
        """The key, if this is the first packet of it that arrives; empty for a known key, and for anything that is no key."""
        if len(payload) < _PAYLOAD.size or timestamp in self._seen:
            return ""
        event = payload[0]
        if event >= len(KEYS):
            return ""
        self._seen.append(timestamp)
        return KEYS[event]


def check_keys(keys: str) -> None:
    """Raises ValueError for what no telephone has."""
    if not keys or any(key not in KEYS + PAUSE for key in keys.upper()):
        raise ValueError(f"keys are {keys[:40]!r}, expected some of {KEYS}, and w for half a second's wait")


@dataclass(frozen=True, slots=True)
class KeyPacket:
    """A packet that goes out in place of 20 ms of audio."""

    payload: bytes
    frames_ago: int
    """How many frames earlier the key was pressed. All its packets carry that time."""
    is_first: bool


class KeyWriter:
    """Makes the packets of keys, one each 20 ms."""

    def __init__(self) -> None:
        self._keys: deque[str] = deque()
        self._frame = 0
        self._gap = 0

    @property
    def busy(self) -> bool:
        """Whether keys wait, or one is being sent."""
        return bool(self._keys)

    def press(self, keys: str) -> None:
        """Queue these keys; `w` waits half a second. Raises ValueError for a key that no telephone has, and for too many keys."""
        check_keys(keys)
        if len(self._keys) + len(keys) > MAX_KEYS:
            raise ValueError(f"{len(self._keys) + len(keys)} keys would wait, expected at most {MAX_KEYS}")
        self._keys.extend(keys.upper())

    def next(self) -> KeyPacket | None:
        """The packet of the next 20 ms; None if audio goes out instead."""
        while not self._gap and self._keys and self._keys[0] == PAUSE:
            self._keys.popleft()
            self._gap = PAUSE_FRAMES
        if self._gap:
            self._gap -= 1
            return None
        if not self._keys:
            return None
        frame, self._frame = self._frame, self._frame + 1
        is_released = frame >= PRESSED_FRAMES
        duration = min(frame + 1, PRESSED_FRAMES) * FRAME_SAMPLES
        payload = _PAYLOAD.pack(KEYS.index(self._keys[0]), 0x80 * is_released | VOLUME, duration)
        if self._frame == PRESSED_FRAMES + END_FRAMES:
            self._keys.popleft()
            self._frame, self._gap = 0, GAP_FRAMES
        return KeyPacket(payload, frame, frame == 0)
