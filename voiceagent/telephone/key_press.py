"""One press of a telephone's key, as far as its packets have arrived (RFC 4733 §2.3, §2.5.1), and whether another is part of it.
By the standard all packets of a press have one timestamp, and a press of more than 8 s is cut into segments. Some senders give
each packet a timestamp of its own. Then the sequence, the duration, the marker and the release distinguish presses. Pure."""

from __future__ import annotations

from dataclasses import dataclass

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
    """Grows by what `add` takes. `holds` decides by what has arrived so far."""

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
