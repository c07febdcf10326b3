"""The same questions by SIP, by a vendor's stream and from a browser, in turn on one server: voice to voice, the tools that ran,
and how soon the agent is silent when a telephone interrupts it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from bench.asked_calls import speeches_of
from bench.harness import Figure, at_least, at_most, plain
from bench.interruptions import utterances_of_voices
from bench.phone.line import VENDOR, Line, all_ended, kept_calls, line
from bench.phone.rtp import RtpPhone
from bench.phone.sipp import sipp_calls
from bench.phone.stream import stream_call
from bench.trial import QUIET_MS, Leg, Speech, Stop, Turn, ask, interrupt
from tests.kept_calls import latest_log
from voiceagent.client.caller import Caller
from voiceagent.conversation import actions as act
from voiceagent.latency.budgets import percentile

Ran = tuple[str, dict[str, object]]
"""A tool's name and its arguments."""

REQUESTS: Mapping[str, Ran] = {
    "What's the weather in London tomorrow?": ("get_weather", {"city": "London", "day": "tomorrow"}),
    "What time is it in Berlin?": ("get_time", {"city": "Berlin"}),
    "What is twelve plus thirty?": ("calculate", {"expression": "12 + 30"}),
    "Set a timer for ten minutes.": ("set_timer", {"minutes": 10}),
    "What's the weather in Rome?": ("get_weather", {"city": "Rome"}),
    "What time is it in Paris?": ("get_time", {"city": "Paris"}),
}
LONG = "What can you do?"
SIP, BROWSER = "SIP", "browser"
EXTRA_MS, STOP_MS = 120.0, 250.0
STOPS, STOP_CALLS = 40, 2
RIGHT = 90.0
"""Percent of the requests, at least."""
GREETED_TIMEOUT_S = 20.0


@dataclass(slots=True)
class Talked:
    """The measurements of one leg's calls."""

    voice_to_voice_ms: list[float] = field(default_factory=list)
    asked: int = 0
    cut: int = 0
    """Questions that the agent spoke into."""
    right: int = 0
    """Requests for which the right tool ran with the right arguments, and an answer was heard."""


async def talk(profile: str, rounds: int) -> dict[str, Talked]:
    """Each request on each leg in turn, so many times over, by leg."""
    speeches = await speeches_of("" if profile == "embedded" else profile, list(REQUESTS))
    found: dict[str, Talked] = {}
    async with line(profile) as world:
        for _ in range(rounds):
            await _round(world, speeches, found)
    return found


async def _round(world: Line, speeches: Mapping[str, Speech], found: dict[str, Talked]) -> None:
    calls, heard = dict[str, str](), dict[str, set[str]]()
    async with AsyncExitStack() as stack:
        legs: dict[str, Leg] = {}
        for name in (SIP, VENDOR, BROWSER):
            before = kept_calls(world)
            legs[name] = await stack.enter_async_context(_call(world, name))
            await _greeted(legs[name])
            (calls[name],) = kept_calls(world) - before
        names = [*legs]
        for request in REQUESTS:
            for name in names:
                turn = await ask(legs[name], speeches[request])
                _add(found.setdefault(name, Talked()), turn)
                if turn.voice_to_voice_ms is not None:
                    heard.setdefault(name, set()).add(request)
            names.append(names.pop(0))
    await all_ended(world)
    for name, call_id in calls.items():
        ran = _ran(world, call_id)
        for request, wanted in REQUESTS.items():
            found[name].right += wanted in ran and request in heard.get(name, ())
            if wanted not in ran:
                print(f"problem: {name}: {request} ran none of {ran}", flush=True)


@asynccontextmanager
async def _call(world: Line, name: str) -> AsyncIterator[Leg]:
    if name == SIP:
        async with sipp_calls(world.folder, world.pbx_port, 1) as (phone,):
            yield phone
    elif name == VENDOR:
        async with stream_call(world.server.url, VENDOR) as stream:
            yield stream
    else:
        async with Caller(world.server.url) as caller:
            yield caller


def _add(talked: Talked, turn: Turn) -> None:
    talked.asked += 1
    talked.cut += turn.cut
    if turn.voice_to_voice_ms is not None:
        talked.voice_to_voice_ms.append(turn.voice_to_voice_ms)


async def _greeted(leg: Leg) -> None:
    async with asyncio.timeout(GREETED_TIMEOUT_S):
        await leg.wait_heard(0.0)
        await leg.wait_quiet(QUIET_MS)


def _ran(world: Line, call_id: str) -> list[Ran]:
    """The tools that a call has run, with their arguments."""
    _, steps = latest_log(world.server.data_dir, call_id)
    started = [action for step in steps for action in step.actions if isinstance(action, act.ToolStarted)]
    return [(action.name, json.loads(action.arguments)) for action in started]


async def stops(count: int) -> list[Stop]:
    """Measures how soon the agent was silent when a telephone interrupted it by SIP, on the bundled models."""
    (question,) = (await speeches_of("", [LONG])).values()
    interruptions = utterances_of_voices()
    found: list[Stop] = []
    async with line("embedded") as world, sipp_calls(world.folder, world.pbx_port, STOP_CALLS) as phones:
        await asyncio.gather(*map(_greeted, phones))

        async def interrupt_all(phone: RtpPhone) -> None:
            while len(found) < count and interruptions:
                stop = await interrupt(phone, question, interruptions.pop())
                if stop is not None:
                    found.append(stop)

        await asyncio.gather(*map(interrupt_all, phones))
    return found


def rows(profile: str, found: Mapping[str, Talked]) -> Iterator[Figure]:
    """The figures of `talk`."""
    browser = found[BROWSER].voice_to_voice_ms
    for name, talked in found.items():
        label = f"{profile}, {name}"
        times = talked.voice_to_voice_ms
        yield plain(f"{label}: turns timed", len(times), "")
        for share in (50, 90, 95):
            yield plain(f"{label}: voice to voice p{share}", percentile(times, share), "ms")
        if name != BROWSER:
            more_ms = percentile(times, 50) - percentile(browser, 50)
            yield at_most(f"{label}: voice to voice p50, more than the browser's", round(more_ms, 1), EXTRA_MS, "ms")
            more_ms = percentile(times, 95) - percentile(browser, 95)
            yield plain(f"{label}: voice to voice p95, more than the browser's", more_ms, "ms")
        yield at_least(f"{label}: right tool and an answer", round(100 * talked.right / talked.asked, 1), RIGHT, "%")
        yield plain(f"{label}: questions that the agent spoke into", talked.cut, "")


def stop_rows(found: Sequence[Stop]) -> Iterator[Figure]:
    """The figures of `stops`."""
    stops_ms, replies_ms = [stop.last_ms for stop in found], [stop.reply_ms for stop in found]
    yield at_least("SIP: interruptions timed", len(stops_ms), STOPS, "")
    yield plain("SIP: stop p50", percentile(stops_ms, 50), "ms")
    yield at_most("SIP: stop p95", round(percentile(stops_ms, 95), 1), STOP_MS, "ms")
    yield plain("SIP: stop, longest", max(stops_ms), "ms")
    yield plain("SIP: answers into a pause of the interruption", sum(stop.last_ms > stop.reply_ms for stop in found), "")
    for share in (50, 95):
        yield plain(f"SIP: stop of the reply that was interrupted p{share}", percentile(replies_ms, share), "ms")
    yield plain("SIP: stop of the reply that was interrupted, longest", max(replies_ms), "ms")
