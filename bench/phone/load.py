"""Twenty SIP calls at once: the packets that come back while the agent speaks to all, while they ask one after the other, and
while all ask at the same moment."""

from __future__ import annotations

import asyncio
import gc
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from bench.asked_calls import cpu_s
from bench.calls import RATE_HZ, Speech, spoken
from bench.harness import Figure, at_least, at_most, plain
from bench.media import latest_wake_up
from bench.phone.line import line
from bench.phone.packets import Packets
from bench.phone.rtp import RtpPhone
from bench.phone.sipp import sipp_calls
from voiceagent.latency.budgets import percentile

CALLS = 20
SPEAKS_S = 20.0
ROUNDS, ROUND_S = 2, 8.0
SPREAD_S = 8.0
REQUEST = "What's the weather in London tomorrow?"
GREETING = " ".join(["I can tell you the weather in London tomorrow.", "I can book a table for four people on Friday."] * 12)
"""Longer than it takes until all calls are up, and they were listened to."""
SETTLE_S = 2.0
QUIET_MS = 800.0
GREETED_TIMEOUT_S = 60.0
LATEST_MS = 40.0
VOICED = 0.5
"""Least share of the time measured in which the agent was heard, or the figure is worth nothing."""


@dataclass(slots=True)
class Loaded:
    """One part."""

    packets: Packets = field(default_factory=Packets)
    voiced: float = 0.0
    """The share of the packets in which the agent was heard; of the calls, those that were answered, where all ask."""
    cores: float = 0.0
    woken_late_ms: float = 0.0


async def speaking() -> Loaded:
    """The agent speaks to all."""
    found = Loaded()
    async with line("embedded", GREETING) as world, sipp_calls(world.folder, world.pbx_port, CALLS) as phones:
        await asyncio.sleep(SETTLE_S)
        begun, before_s = _begin(phones), cpu_s(world.server.process)
        found.woken_late_ms = await latest_wake_up(SPEAKS_S)
        found.cores = (cpu_s(world.server.process) - before_s) / SPEAKS_S
        for phone, first in zip(phones, begun, strict=True):
            records = phone.records[first:]
            found.packets.add(records)
            since_ms, until_ms = records[0].at_ms, records[-1].at_ms
            spans = [(max(span.onset_ms, since_ms), min(span.offset_ms, until_ms)) for span in phone.heard.spans]
            found.voiced += sum(max(0.0, end - start) for start, end in spans) / (until_ms - since_ms) / CALLS
    return found


async def asking(spread_s: float) -> Loaded:
    """All ask several times, evenly spread over so many seconds; 0: in the same moment."""
    found, request, answered = Loaded(), spoken(REQUEST), 0
    async with line("embedded") as world, sipp_calls(world.folder, world.pbx_port, CALLS) as phones:
        async with asyncio.timeout(GREETED_TIMEOUT_S):
            await asyncio.gather(*(phone.wait_heard(0.0) for phone in phones))
            await asyncio.gather(*(phone.wait_quiet(QUIET_MS) for phone in phones))
        before_s = cpu_s(world.server.process)
        for _ in range(ROUNDS):
            begun = _begin(phones)
            began_ms = phones[0].records[-1].at_ms
            saying = asyncio.create_task(_say(phones, request, spread_s))
            found.woken_late_ms = max(found.woken_late_ms, await latest_wake_up(spread_s + ROUND_S))
            await saying
            for phone, first in zip(phones, begun, strict=True):
                found.packets.add(phone.records[first:])
                answered += phone.heard.first_onset_after(began_ms) is not None
        found.cores = (cpu_s(world.server.process) - before_s) / (ROUNDS * (spread_s + ROUND_S))
        found.voiced = answered / (ROUNDS * CALLS)
    return found


async def _say(phones: Sequence[RtpPhone], request: Speech, spread_s: float) -> None:
    for phone in phones:
        phone.say(request, RATE_HZ)
        await asyncio.sleep(spread_s / len(phones))


def _begin(phones: Sequence[RtpPhone]) -> list[int]:
    gc.collect()
    gc.freeze()  # a collection of all that was recorded would make packets late that the telephones send
    return [len(phone.records) for phone in phones]


async def measured() -> Iterator[Figure]:
    """All figures: about three minutes."""
    spoken_to, spread, together = await speaking(), await asking(SPREAD_S), await asking(0.0)
    label = f"{CALLS} SIP calls, "
    return itertools.chain(
        _rows(f"{label}the agent speaks to all", spoken_to, is_barred=True),
        [
            at_least(
                f"{label}the agent speaks to all: time in which it is heard", round(100 * spoken_to.voiced), 100 * VOICED, "%"
            )
        ],
        _rows(f"{label}all ask within {SPREAD_S:g} s", spread, is_barred=True),
        [at_least(f"{label}all ask within {SPREAD_S:g} s: answered", round(100 * spread.voiced, 1), 100, "%")],
        _rows(f"{label}all ask at the same moment", together, is_barred=False),
        [at_least(f"{label}all ask at the same moment: answered", round(100 * together.voiced, 1), 100, "%")],
    )


def _rows(label: str, found: Loaded, *, is_barred: bool) -> Iterator[Figure]:
    """`is_barred`: whether the targets for pacing hold."""
    packets, latest_ms = found.packets, round(max(found.packets.lateness_ms), 1)
    yield plain(f"{label}: packets", packets.count, "")
    yield at_most(f"{label}: packets missing", packets.missing, 0, "")
    yield at_most(f"{label}: packets out of order", packets.out_of_order, 0, "")
    yield at_most(f"{label}: packets of another stream", packets.foreign, 0, "")
    yield at_most(f"{label}: partial frames", packets.partial, 0, "")
    skips = f"{label}: steps of the timestamp other than 160"
    yield at_most(skips, packets.skips, 0, "") if is_barred else plain(skips, packets.skips, "")
    for share in (50, 99, 99.9):
        yield plain(f"{label}: packet lateness p{share:g}", percentile(packets.lateness_ms, share), "ms")
    latest = f"{label}: latest packet"
    yield at_most(latest, latest_ms, LATEST_MS, "ms") if is_barred else plain(latest, latest_ms, "ms")
    for share in (50, 99):
        yield plain(f"{label}: gap between packets p{share:g}", percentile(packets.gaps_ms, share), "ms")
    yield plain(f"{label}: gap between packets, longest", max(packets.gaps_ms), "ms")
    yield plain(f"{label}: cores of the server", found.cores, "", 2)
    yield plain(f"{label}: the bench's latest wake-up", found.woken_late_ms, "ms")
