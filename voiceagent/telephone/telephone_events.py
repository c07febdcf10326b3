"""A telephone's keys in RTP (RFC 4733 §2). A press is a run of packets with one timestamp. Each packet has the time that the key
is down so far. The last packet marks the release, and is sent three times. Pure."""

from __future__ import annotations

import struct
from collections import deque
from dataclasses import dataclass

from voiceagent.audio.format import PHONE_FRAME_SAMPLES
from voiceagent.telephone.key_press import KeyEvent, KeyPress

KEYS = "0123456789*#ABCD"
CLOCK_HZ = 8_000
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
_END = 0x80
"""The bit of a packet whose key was released."""
_REMEMBERED = 16


class KeyReader:
    """Reports each press once, whichever of its packets arrive and in whatever order."""

    def __init__(self) -> None:
        self._presses: deque[KeyPress] = deque(maxlen=_REMEMBERED)
        self._audio: deque[int] = deque(maxlen=_REMEMBERED)

    def pass_audio(self, sequence: int) -> None:
        """A packet of audio has arrived; its number in the stream without the wrap."""
        self._audio.append(sequence)

    def read(self, payload: bytes, timestamp: int, sequence: int | None = None, *, is_marked: bool = False) -> str:
        """The key, if this is the first packet of its press that arrives; empty for a known press, and for anything that is no
        key. `sequence` is the packet's number in its stream without the wrap at 2^16, `is_marked` its marker bit."""
        if len(payload) < _PAYLOAD.size or payload[0] >= len(KEYS):
            return ""
        event, flags, duration = _PAYLOAD.unpack_from(payload)
        before = max((audio for audio in self._audio if sequence is not None and audio < sequence), default=None)
        packet = KeyEvent(event, bool(flags & _END), duration, timestamp, sequence, is_marked, before)
        known = next((press for press in reversed(self._presses) if press.holds(packet)), None)
        if known is not None:
            known.add(packet)
            return ""
        changes_stamp = any(press.changes_stamp for press in self._presses)
        self._presses.append(KeyPress(packet, changes_stamp=changes_stamp))
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
    """The number of frames since the key was pressed. All its packets carry the time of the press."""
    is_first: bool


class KeyWriter:
    """Makes the packets of keys, one each 20 ms."""

    def __init__(self) -> None:
        self._keys: deque[str] = deque()
        self._frame = 0
        self._gap = 0

    @property
    def busy(self) -> bool:
        """True while keys wait, or one is being sent."""
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
        duration = min(frame + 1, PRESSED_FRAMES) * PHONE_FRAME_SAMPLES
        payload = _PAYLOAD.pack(KEYS.index(self._keys[0]), _END * is_released | VOLUME, duration)
        if self._frame == PRESSED_FRAMES + END_FRAMES:
            self._keys.popleft()
            self._frame, self._gap = 0, GAP_FRAMES
        return KeyPacket(payload, frame, frame == 0)
