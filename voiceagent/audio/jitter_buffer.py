"""Puts RTP audio back in order without a playout delay. Packets go in with their arrival times; slots to decode come out in
order, each once. Pure: no clock, no codec.

An in-order packet passes at once. Behind a gap, packets wait for the missing one, but no longer than reordering has taken on this
connection. Then the missing audio is recovered from the next packet, or concealed, and everything held goes out together. So the
wait ends with the gap: a loss adds no lasting delay (RFC 3550 §6.4.1, RFC 7587 §3). While nothing arrives, silence fills the
time, so that code that counts time in samples does not stand still."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import msgspec

CLOCK_HZ = 48_000
"""Timestamps and `samples` count at this rate."""


class SlotKind(Enum):
    """The way in which a slot's audio is made."""

    PACKET = "packet"
    """Decode the payload."""
    RECOVER = "recover"
    """The packet was lost: recover it from the payload, which is the next packet's."""
    CONCEAL = "conceal"
    """The packet was lost: extrapolate."""
    SILENCE = "silence"
    """The sender was silent, or too much was lost to guess."""


class AudioPacket(msgspec.Struct, frozen=True, gc=False):
    """One RTP packet."""

    ssrc: int
    sequence: int
    """16 bits, wraps."""
    timestamp: int
    """32 bits, wraps."""
    samples: int
    """Duration on the 48 kHz clock; 0 for a packet without audio."""
    payload: bytes
    arrival_ms: float
    quiet: bool = False
    """The sender announced silence (DTX): no packets for a while are no loss."""


class Slot(msgspec.Struct, frozen=True, gc=False):
    """A stretch of audio, to be made in this order."""

    kind: SlotKind
    samples: int
    """Duration on the 48 kHz clock."""
    payload: bytes
    received_ms: float
    """The arrival of the packet that made the slot possible."""
    lost: bool
    """True when the sender's audio for this time was not received."""


@dataclass(slots=True)
class JitterStats:
    """Counters since the start."""

    received: int = 0
    reordered: int = 0
    late: int = 0
    """Packets that arrived after they were given up."""
    duplicate: int = 0
    lost: int = 0
    """Packets given up."""
    out_of_range: int = 0
    """Sequence numbers far from the expected one."""
    resets: int = 0
    stalls: int = 0
    """The number of times that nothing arrived for `STALL_MS`."""


def _signed(value: int, bits: int) -> int:
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half


class JitterBuffer:
    """The buffer of one stream. `push` every packet, `poll` at `deadline_ms`."""

    MIN_WAIT_MS = 20.0
    MAX_WAIT_MS = 250.0
    CAPACITY = 64
    """Packets held behind a gap. At one more, the gap is given up."""
    MAX_JUMP = 1000
    """A sequence jump of this many packets forward, or `MAX_MISORDER` back, is a new stream once two packets agree."""
    MAX_MISORDER = 100
    MAX_FILL = 2 * CLOCK_HZ
    """The longest stretch of missing audio that is filled, in samples; more is skipped."""
    MAX_CONCEAL = CLOCK_HZ // 10
    """Concealment is good for 100 ms; silence follows. In samples."""
    STALL_MS = 600.0
    """Silence fills the time when nothing arrived for this long …"""
    QUIET_MS = 60.0
    """… or for this long after the sender announced silence."""
    FORGET_HALF_MS = 10_000.0
    """Half-life of the longest reordering seen."""
    _STEP = CLOCK_HZ // 400
    _USUAL = CLOCK_HZ // 50
    _LONGEST = CLOCK_HZ * 120 // 1000

    def __init__(self) -> None:
        self.stats = JitterStats()
        self._ssrc: int | None = None
        self._next_sequence = 0
        self._next_timestamp = 0
        self._held: dict[int, AudioPacket] = {}
        self._given_up: dict[int, float] = {}
        self._usual = self._USUAL
        self._suspect: int | None = None
        self._late_ms = 0.0
        self._late_at_ms = 0.0
        self._fill_due_ms = 0.0
        self._filled = False

    @property
    def held(self) -> int:
        """Packets that wait behind a gap."""
        return len(self._held)

    @property
    def wait_ms(self) -> float:
        """The time that packets wait behind a gap now, in milliseconds."""
        return min(self.MAX_WAIT_MS, max(self.MIN_WAIT_MS, self._late_ms * 1.25 + 5.0))

    @property
    def deadline_ms(self) -> float | None:
        """The time of the next `poll`; None before the first packet."""
        if self._ssrc is None:
            return None
        return self._gap_since_ms() + self.wait_ms if self._held else self._fill_due_ms

    def push(self, packet: AudioPacket) -> list[Slot]:
        """Take a packet; returns what can be decoded now."""
        self.stats.received += 1
        now_ms = packet.arrival_ms
        if packet.ssrc != self._ssrc:
            return self._restart(packet)
        ahead = _signed(packet.sequence - self._next_sequence, 16)
        if ahead >= self.MAX_JUMP or ahead < -self.MAX_MISORDER:
            if packet.sequence == self._suspect:
                return self._restart(packet)
            self._suspect = (packet.sequence + 1) & 0xFFFF
            self.stats.out_of_range += 1
            return []
        self._suspect = None
        if ahead < 0:
            given_up_ms = self._given_up.pop(packet.sequence, None)
            if given_up_ms is None:
                self.stats.duplicate += 1
            else:
                self.stats.late += 1
                self._saw_lateness(now_ms - given_up_ms, now_ms)
            return []
        if packet.sequence in self._held:
            self.stats.duplicate += 1
            return []
        later = [p.arrival_ms for s, p in self._held.items() if _signed(s - packet.sequence, 16) > 0]
        if later:
            self.stats.reordered += 1
            self._saw_lateness(now_ms - min(later), now_ms)
        self._held[packet.sequence] = packet
        return self._advance(now_ms)

    def poll(self, now_ms: float) -> list[Slot]:
        """Time has passed; returns what can be decoded now."""
        if self._ssrc is None:
            return []
        if self._held:
            return self._advance(now_ms)
        slots: list[Slot] = []
        if now_ms - self._fill_due_ms > self.MAX_FILL * 1000.0 / CLOCK_HZ:
            self._fill_due_ms = now_ms
        while now_ms >= self._fill_due_ms:
            self.stats.stalls += not self._filled
            self._filled = True
            slots.append(Slot(SlotKind.SILENCE, self._usual, b"", self._fill_due_ms, lost=True))
            self._next_timestamp += self._usual
            self._fill_due_ms += self._usual * 1000.0 / CLOCK_HZ
        return slots

    def _restart(self, packet: AudioPacket) -> list[Slot]:
        slots = self._advance(float("inf"))
        if self._ssrc is not None:
            self.stats.resets += 1
        self._ssrc = packet.ssrc
        self._suspect = None
        self._given_up.clear()
        self._next_sequence = packet.sequence
        self._next_timestamp = packet.timestamp
        self._filled = False
        self._held[packet.sequence] = packet
        return slots + self._advance(packet.arrival_ms)

    def _gap_since_ms(self) -> float:
        return min(packet.arrival_ms for packet in self._held.values())

    def _saw_lateness(self, lateness_ms: float, now_ms: float) -> None:
        faded = self._late_ms * 0.5 ** (max(0.0, now_ms - self._late_at_ms) / self.FORGET_HALF_MS)
        self._late_ms = max(faded, min(lateness_ms, self.MAX_WAIT_MS))
        self._late_at_ms = now_ms

    def _advance(self, now_ms: float) -> list[Slot]:
        slots: list[Slot] = []
        while self._held:
            packet = self._held.pop(self._next_sequence, None)
            if packet is None:
                if now_ms < self._gap_since_ms() + self.wait_ms and len(self._held) <= self.CAPACITY:
                    break
                nearest = min(self._held, key=lambda sequence: (sequence - self._next_sequence) & 0xFFFF)
                packet = self._held[nearest]
                slots += self._give_up(packet)
                continue
            slots += self._take(packet)
        return slots

    def _give_up(self, packet: AudioPacket) -> list[Slot]:
        """Fill the gap before `packet`."""
        missing = (packet.sequence - self._next_sequence) & 0xFFFF
        self.stats.lost += missing
        since_ms = self._gap_since_ms()
        for back in range(min(missing, self.MAX_MISORDER), 0, -1):
            self._given_up[(packet.sequence - back) & 0xFFFF] = since_ms
        while len(self._given_up) > self.MAX_MISORDER:
            del self._given_up[next(iter(self._given_up))]
        self._late_ms *= 0.5 ** (max(0.0, since_ms - self._late_at_ms) / self.FORGET_HALF_MS)
        self._late_at_ms = max(self._late_at_ms, since_ms)
        gap = _signed(packet.timestamp - self._next_timestamp, 32)
        if gap <= 0 and not self._filled:
            gap = missing * self._usual
        gap = min(max(gap, 0), self.MAX_FILL)
        self._next_sequence = packet.sequence
        self._next_timestamp = packet.timestamp
        recover = min(packet.samples or self._usual, self._LONGEST, gap) // self._STEP * self._STEP
        conceal = min(gap - recover, self.MAX_CONCEAL) // self._STEP * self._STEP
        silence = gap - recover - conceal
        at_ms = packet.arrival_ms
        slots = []
        while conceal > 0:
            piece = min(conceal, self._usual)
            slots.append(Slot(SlotKind.CONCEAL, piece, b"", at_ms, lost=True))
            conceal -= piece
        if silence:
            slots.append(Slot(SlotKind.SILENCE, silence, b"", at_ms, lost=True))
        if recover:
            slots.append(Slot(SlotKind.RECOVER, recover, packet.payload, at_ms, lost=True))
        return slots

    def _take(self, packet: AudioPacket) -> list[Slot]:
        slots = []
        self._next_sequence = (packet.sequence + 1) & 0xFFFF
        if packet.samples:
            pause = _signed(packet.timestamp - self._next_timestamp, 32)
            if pause > 0:
                slots.append(Slot(SlotKind.SILENCE, min(pause, self.MAX_FILL), b"", packet.arrival_ms, lost=False))
            slots.append(Slot(SlotKind.PACKET, packet.samples, packet.payload, packet.arrival_ms, lost=False))
            self._next_timestamp = packet.timestamp + packet.samples
            self._usual = max(self._STEP, min(packet.samples, self._LONGEST) // self._STEP * self._STEP)
            self._filled = False
        usual_ms = self._usual * 1000.0 / CLOCK_HZ
        self._fill_due_ms = packet.arrival_ms + usual_ms + (self.QUIET_MS if packet.quiet else self.STALL_MS)
        return slots
