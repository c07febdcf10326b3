"""A telephone's keys in RTP (RFC 4733 §2). A press is a run of packets with one timestamp. Each packet has the time that the key
is down so far. The last packet marks the release, and is sent three times. Pure."""

from __future__ import annotations

import struct
from collections import deque
from dataclasses import dataclass

from voiceagent.audio.format import PHONE_FRAME_SAMPLES

# --- one press --------------------------------------------------------------------------------------------------------

MAX_DURATION = 0xFFFF
"""A segment lasts no longer, in samples of the 8 kHz clock."""
NEARLY_MAX = 0xF000
"""Senders that count in whole packets end a segment somewhat earlier."""
SLACK = 240
"""The tolerance for a sender's timestamps within a press, in samples. It is shorter than the pause between keys: 40 ms (ITU-T
Q.24)."""
MAX_LOST = 3
"""A packet that is so few further on in the sequence is not of the next press: a release and a pause lie between."""
MAX_LOST_CHANGING = 8
"""`MAX_LOST` for a sender whose timestamps change, if no audio came between."""
RELEASES = 560
"""The slack of a release that comes again: its timestamp moves on, its duration does not."""
LEAST_STEP = 120
"""The samples that a packet of a growing press covers at least: 15 ms."""
MAX_LATE = 100
"""A packet that is further behind in the sequence is of another stream."""


@dataclass(frozen=True, slots=True)
class KeyEvent:
    """A packet."""

    event: int
    is_release: bool
    duration: int
    timestamp: int
    sequence: int | None
    """The sequence number without its wrap; None where it is unknown."""
    is_marked: bool
    """True if the packet is marked as the first of its press."""
    last_audio: int | None = None
    """The sequence number of the last audio before it, of what has arrived: no key was down then."""


class KeyPress:
    """One press of a key, as far as its packets have arrived (RFC 4733 §2.3, §2.5.1). By the standard all packets of a press
    have one timestamp, and a press of more than 8 s is cut into segments. Some senders give each packet a timestamp of its
    own. Then the sequence, the duration, the marker and the release distinguish presses. The press grows by what `add` takes.
    `holds` decides by what has arrived so far whether another packet is part of it."""

    def __init__(self, packet: KeyEvent, *, changes_stamp: bool = False) -> None:
        """`changes_stamp` is what is known of the sender."""
        self.changes_stamp = changes_stamp
        """True if the sender gives packets of one press different timestamps."""
        self._first = self._last = packet
        """The packets at both ends, in the order in which they were sent."""
        self._is_released = packet.is_release

    def holds(self, packet: KeyEvent) -> bool:
        """True if this packet is part of the press."""
        if packet.event != self._first.event:
            return False
        if not self._is_later(packet):
            return self._holds_late(packet)
        return self._holds_after_release(packet) if self._is_released else self._goes_on_with(packet)

    def add(self, packet: KeyEvent) -> None:
        """Take a packet of the press."""
        self._is_released = self._is_released or packet.is_release
        beyond = _stamps(self._last, packet)
        is_segment = abs(beyond) >= NEARLY_MAX or self._last.duration >= NEARLY_MAX
        self.changes_stamp = self.changes_stamp or (beyond != 0 and not is_segment)
        if self._is_later(packet):
            self._last = packet
        elif _gap(self._first, packet) < 0 or (packet.sequence is None and _stamps(self._first, packet) < 0):
            self._first = packet

    def _is_later(self, packet: KeyEvent) -> bool:
        """True if the packet was sent after every packet that has arrived."""
        if packet.sequence is None or self._last.sequence is None:
            beyond = _stamps(self._last, packet)
            return beyond > 0 or (beyond == 0 and packet.duration > self._last.duration)
        return packet.sequence > self._last.sequence

    def _holds_late(self, packet: KeyEvent) -> bool:
        behind = -_gap(self._last, packet)
        if behind > MAX_LATE:
            return False
        before = -_gap(self._first, packet) if packet.sequence is not None else -_stamps(self._first, packet)
        if before <= 0 or packet.timestamp == self._first.timestamp:
            return True
        if self._first.is_marked or packet.duration > self._first.duration:
            return False
        is_near = packet.sequence is not None and before <= MAX_LOST
        if packet.is_release:
            return is_near and self._first.is_release and packet.duration == self._first.duration
        return is_near or self._grows(packet, self._first) or self._nothing_between(packet, self._first)

    def _holds_after_release(self, packet: KeyEvent) -> bool:
        """The release comes several times. A press that comes after it is another one."""
        beyond, gap = _stamps(self._last, packet), _gap(self._last, packet)
        if not packet.is_release:
            return beyond == 0 and gap <= MAX_LOST and not packet.is_marked
        return not packet.is_marked and (0 <= beyond <= SLACK or 0 < gap <= MAX_LOST)

    def _goes_on_with(self, packet: KeyEvent) -> bool:
        beyond, gap, more = _stamps(self._last, packet), _gap(self._last, packet), packet.duration - self._last.duration
        if not packet.is_marked and self._begins_segment(packet, beyond, gap):
            return True
        if beyond == 0:
            return more >= 0 or packet.is_release or (gap <= MAX_LOST and not packet.is_marked)
        if more < 0 and not packet.is_release:
            return False
        if 0 < beyond <= SLACK + (0 if self.changes_stamp else self._last.duration):
            return not packet.is_marked or more >= 0
        if packet.is_marked and more <= 0:
            return False
        if 0 < gap <= MAX_LOST:
            return True
        return not packet.is_marked and (self._grows(self._last, packet) or self._nothing_between(self._last, packet))

    def _begins_segment(self, packet: KeyEvent, beyond: int, gap: int) -> bool:
        if self._last.duration >= NEARLY_MAX:
            return NEARLY_MAX <= beyond <= MAX_DURATION or (beyond == 0 and gap > 0)
        return beyond > 0 and beyond % MAX_DURATION == 0

    @staticmethod
    def _grows(one: KeyEvent, later: KeyEvent) -> bool:
        """True if the timestamp has moved with the duration, packet by packet."""
        moved, slack = _stamps(one, later), RELEASES if later.is_release else SLACK
        return moved > 0 and abs(moved - (later.duration - one.duration)) <= slack and moved >= LEAST_STEP * _gap(one, later)

    def _nothing_between(self, one: KeyEvent, later: KeyEvent) -> bool:
        """True if the sender's timestamps are known to change in a press and no pause was heard between the two packets."""
        if not self.changes_stamp or one.sequence is None:
            return False
        is_silent = later.last_audio is None or later.last_audio < one.sequence
        return is_silent and _gap(one, later) <= MAX_LOST_CHANGING


def _stamps(one: KeyEvent, other: KeyEvent) -> int:
    """The distance from one timestamp to the other, in samples; they wrap at 2^32."""
    return (other.timestamp - one.timestamp + 0x8000_0000 & 0xFFFF_FFFF) - 0x8000_0000


def _gap(one: KeyEvent, other: KeyEvent) -> int:
    """The distance from one to the other in the sequence; 0 where it is unknown."""
    return other.sequence - one.sequence if one.sequence is not None and other.sequence is not None else 0


# --- packets ----------------------------------------------------------------------------------------------------------

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
