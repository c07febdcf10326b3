"""The times at which a call's packets arrive. A packet's lateness is its time of arrival against its RTP timestamp, relative to
the earliest packet of its call."""

from __future__ import annotations

from voiceagent.media.rtp import RtpPacket

RTP_TICKS_PER_MS = 48


class PacketTimes:
    """One call's packets."""

    def __init__(self) -> None:
        self._offsets_ms: list[float] = []
        self._sequences: set[int] = set()
        self._first: tuple[int, int] | None = None

    def add(self, packet: RtpPacket, arrival_ms: float) -> None:
        """A packet arrived."""
        if self._first is None:
            self._first = packet.sequence_number, packet.timestamp
        self._sequences.add((packet.sequence_number - self._first[0] + 2**15) % 2**16 - 2**15)
        ahead = (packet.timestamp - self._first[1] + 2**31) % 2**32 - 2**31
        self._offsets_ms.append(arrival_ms - ahead / RTP_TICKS_PER_MS)

    def forget(self) -> None:
        """Measure from now on."""
        self._offsets_ms.clear()
        self._sequences.clear()

    @property
    def missing(self) -> int:
        """Packets that never came."""
        return max(self._sequences) - min(self._sequences) + 1 - len(self._sequences) if self._sequences else 0

    def lateness_ms(self) -> list[float]:
        """The lateness of each packet."""
        earliest_ms = min(self._offsets_ms, default=0.0)
        return [offset_ms - earliest_ms for offset_ms in self._offsets_ms]
