"""The evidence in a telephone's packets: how evenly they come, and whether all of them do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from bench.phone.rtp import FRAME_SAMPLES, PCMU, RATE_HZ, RtpRecord

_TICKS_PER_MS = RATE_HZ / 1000.0


@dataclass(slots=True)
class Packets:
    """The packets of one call or several."""

    gaps_ms: list[float] = field(default_factory=list)
    """Between a packet's arrival and that of the one before it."""
    lateness_ms: list[float] = field(default_factory=list)
    """Arrival against RTP timestamp, relative to the earliest packet of its call."""
    missing: int = 0
    """Numbers of the sequence that never came."""
    out_of_order: int = 0
    partial: int = 0
    """Packets of audio that are not 160 bytes long."""
    skips: int = 0
    """Steps of the timestamp other than 160: the sender left time out."""
    foreign: int = 0
    """Packets whose SSRC is not that of most of their call's packets. The other figures leave them out."""

    @property
    def count(self) -> int:
        """Packets looked at."""
        return len(self.lateness_ms)

    def add(self, arrived: Sequence[RtpRecord]) -> None:
        """One call's packets in the order of their arrival."""
        if not arrived:
            return
        ((ssrc, _),) = Counter(record.ssrc for record in arrived).most_common(1)
        records = [record for record in arrived if record.ssrc == ssrc]
        self.foreign += len(arrived) - len(records)
        sequences = _unwrapped((record.sequence for record in records), 16)
        timestamps = _unwrapped((record.timestamp for record in records), 32)
        offsets_ms = [record.at_ms - stamp / _TICKS_PER_MS for record, stamp in zip(records, timestamps, strict=True)]
        earliest_ms = min(offsets_ms)
        self.lateness_ms += [offset_ms - earliest_ms for offset_ms in offsets_ms]
        self.gaps_ms += [after.at_ms - before.at_ms for before, after in pairwise(records)]
        self.missing += max(sequences) - min(sequences) + 1 - len(set(sequences))
        self.out_of_order += sum(after <= before for before, after in pairwise(sequences))
        self.partial += sum(record.payload_type == PCMU and len(record.payload) != FRAME_SAMPLES for record in records)
        self.skips += sum(after - before != FRAME_SAMPLES for before, after in pairwise(sorted(timestamps)))


def _unwrapped(values: Iterable[int], bits: int) -> list[int]:
    """Numbers that begin again at 0 after 2**bits, as ones that do not."""
    half, found = 1 << bits - 1, list[int]()
    for value in values:
        last = found[-1] if found else value
        found.append(last + (value - last + half) % (1 << bits) - half)
    return found
