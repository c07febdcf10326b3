"""Keys of a telephone as RTP carries them (RFC 4733 §2): a key is a run of packets with one timestamp, each telling how long it
is down so far; the last, which says that it was released, comes three times. Pure."""

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
"""Between two keys."""
MAX_KEYS = 64
"""That may wait to be sent."""
_PAYLOAD = struct.Struct("!BBH")
_REMEMBERED = 16


class KeyReader:
    """Tells each key once, whichever of its packets come, and in which order."""

    def __init__(self) -> None:
        self._seen: deque[int] = deque(maxlen=_REMEMBERED)

    def read(self, payload: bytes, timestamp: int) -> str:
        """The key that a packet is the first of; empty for one known, and for what is no key."""
        if len(payload) < _PAYLOAD.size or timestamp in self._seen:
            return ""
        event = payload[0]
        if event >= len(KEYS):
            return ""
        self._seen.append(timestamp)
        return KEYS[event]


@dataclass(frozen=True, slots=True)
class KeyPacket:
    """What goes out in place of 20 ms of audio."""

    payload: bytes
    frames_ago: int
    """How many frames before this one the key was pressed: its packets all bear that time."""
    is_first: bool


class KeyWriter:
    """Makes packets of keys, one each 20 ms."""

    def __init__(self) -> None:
        self._keys: deque[str] = deque()
        self._frame = 0
        self._gap = 0

    @property
    def busy(self) -> bool:
        """Whether keys wait, or one is being sent."""
        return bool(self._keys)

    def press(self, keys: str) -> None:
        """Send these. Raises ValueError for what no telephone has, and for too many."""
        wrong = next((key for key in keys if key.upper() not in KEYS), None)
        if wrong is not None or not keys:
            raise ValueError(f"keys are {keys[:40]!r}, expected some of {KEYS}")
        if len(self._keys) + len(keys) > MAX_KEYS:
            raise ValueError(f"{len(self._keys) + len(keys)} keys would wait, expected at most {MAX_KEYS}")
        self._keys.extend(keys.upper())

    def next(self) -> KeyPacket | None:
        """For the next 20 ms; None: audio goes out."""
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
