"""Connections that are cut at random moments, or for long, on both transports at once: no word, tool call or turn is lost or
doubled. `make test-cuts CUTS=200 SEED=7` cuts more often, at other moments, and for up to a minute."""

from __future__ import annotations

import asyncio
import os
import random
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import Any, Protocol, TypeVar

import aiohttp
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.calls.cut_relay import CutRelay
from tests.calls.scripted_model import Message, agent_on
from tests.calls.socket_caller import SocketCaller
from tests.calls.test_resume import check_replay
from tests.fakes import Said
from tests.kept_calls import latest_log
from tests.media.test_connections import offer_of
from tests.server_process import ServerProcess
from voiceagent.client.caller import Caller
from voiceagent.client.signalling import CallOverError
from voiceagent.client.signalling import answer_to as answer_to_offer
from voiceagent.conversation import machine
from voiceagent.conversation.history import Message as Kept
from voiceagent.errors import MediaError

C = TypeVar("C")

CUTS = int(os.environ.get("CUTS", "16"))
SEED = int(os.environ.get("SEED", "1"))
OUTAGES_S = tuple(float(away) for away in os.environ.get("OUTAGES", "").split())
"""The lengths of long outages."""
TOO_LONG_S = 61.0
CALLS = 4
"""Of each transport, at the same time."""
LATEST_CUT_S = 4.0
"""After the words of a turn: what is said to them lasts about as long."""
NAMES = ("badger", "donkey", "falcon", "hedgehog", "lobster", "otter", "penguin", "rabbit", "squirrel", "turtle")
TOOLS = '''
import asyncio, pathlib
from voiceagent.tools import tool

@tool
async def book(name: str) -> dict[str, str]:
    """Book something."""
    with pathlib.Path(__file__).with_name("booked").open("a") as file:
        file.write(f"{name}\\n")
    await asyncio.sleep(0.8)
    return {"booked": name}
'''


def answer_to(text: str) -> str:
    """The agent's words."""
    name = text.rstrip(".?!").split()[-1]
    told = f"The {name} went out to sea in a small boat, and the wind was kind all day."
    return f"Well. {name} is booked, and a letter with all of it is on its way." if text.startswith("Book") else told


def script(messages: list[Message]) -> str | tuple[str, str]:
    asked = next((message["content"] for message in reversed(messages) if message["role"] == "user"), "Hi.")
    if asked.startswith("Book") and messages[-1]["role"] == "user":
        return "book", f'{{"name": "{asked.rstrip(".").split()[-1]}"}}'
    return answer_to(asked)


class Cuttable(Protocol):
    """A caller whose connection can be cut."""

    events: list[dict[str, Any]]
    changed: asyncio.Event

    async def send(self, name: str, **fields: Any) -> None: ...

    async def cut_and_resume(self, away_s: float) -> None: ...


class OverSocket:
    def __init__(self, caller: SocketCaller) -> None:
        self.events, self.changed, self.send, self.speak = caller.events, caller.changed, caller.send, caller.speak
        self._caller = caller

    async def cut_and_resume(self, away_s: float) -> None:
        await self._caller.cut()
        await asyncio.sleep(away_s)
        await self._caller.resume()


class OverWebRtc:
    def __init__(self, caller: Caller, relay: CutRelay) -> None:
        self.events: list[dict[str, Any]] = []
        self.changed = asyncio.Event()
        self._caller, self._relay = caller, relay

    async def read(self) -> None:
        async for event in self._caller.events():
            self.events.append(event.data)
            self.changed.set()

    async def send(self, name: str, **fields: Any) -> None:
        self._caller.send_event({"type": name, **fields})

    async def cut_and_resume(self, away_s: float) -> None:
        before = self.named("voiceagent.resume")
        self._relay.cut()
        self._relay.is_down = True
        await asyncio.sleep(away_s)
        self._relay.is_down = False
        await until(self, lambda: self.named("voiceagent.resume") > before)

    def named(self, name: str) -> int:
        return sum(event["type"] == name for event in self.events)


async def until(caller: Cuttable, condition: Any) -> None:
    async with asyncio.timeout(40):
        while not condition():
            caller.changed.clear()
            await caller.changed.wait()


async def turns(
    caller: Cuttable,
    moments: random.Random,
    cuts: int,
    speech: tuple[NDArray[np.int16], int] | None = None,
    away_s: float | None = None,
) -> list[str]:
    """Have so many turns, each with a cut; returns the caller's words. Where there is speech, every third one is spoken. Each cut
    lasts `away_s`, or up to half a second."""
    asked: list[str] = []
    await until(caller, lambda: any(event["type"] == "voiceagent.resume" for event in caller.events))
    for number in range(cuts):
        if speech is not None and isinstance(caller, OverSocket) and number % 3 == 2:
            asked.append(await spoken(caller, moments, *speech))
            continue
        verb = moments.choice(("Book the", "Tell me about the"))
        asked.append(f"{verb} {NAMES[number % len(NAMES)]}.")
        since, item_id = len(caller.events), f"item_mine_{number}"
        await ask(caller, asked[-1], item_id, since)
        await asyncio.sleep(moments.uniform(0.0, LATEST_CUT_S))
        await caller.cut_and_resume(moments.uniform(0.0, 0.5) if away_s is None else away_s)
        await all_told(caller, item_id)
        await ask(caller, asked[-1], item_id, since)
        try:
            await until(caller, lambda start=since, text=asked[-1]: is_answered(caller.events[start:], text))
        except TimeoutError:
            told = [(event["type"], event.get("heard", "")) for event in caller.events[since:]]
            raise AssertionError(f"turn {number}, {asked[-1]!r} was not answered: {told}") from None
    return asked


async def spoken(caller: OverSocket, moments: random.Random, pcm: NDArray[np.int16], rate_hz: int) -> str:
    """Say something, and cut the connection meanwhile or after it; returns what was understood."""
    since, cut_at = len(caller.events), moments.randrange(50)
    pieces = [pcm[start : start + rate_hz // 10] for start in range(0, len(pcm), rate_hz // 10)]
    silence = np.zeros(rate_hz // 10, np.int16)
    for number in range(400):
        if number == cut_at:
            await caller.cut_and_resume(moments.uniform(0.0, 0.5))
        await caller.speak(pieces[number] if number < len(pieces) else silence, rate_hz)
        told = caller.events[since:]
        texts = [event["transcript"] for event in told if event["type"].endswith("transcription.completed")]
        if number > cut_at and texts and is_answered(told, texts[0]):
            return str(texts[0])
        await asyncio.sleep(0.1)
    raise AssertionError(f"what was said was not answered: {[event['type'] for event in caller.events[since:]]}")


async def all_told(caller: Cuttable, item_id: str) -> None:
    """Wait until the events that were missed have come: the answer to a question comes after them."""
    since = len(caller.events)
    await caller.send("conversation.item.retrieve", item_id=item_id, event_id="mine")
    answers = ("conversation.item.retrieved", "error")
    await until(caller, lambda: any(event["type"] in answers for event in caller.events[since:]))


async def ask(caller: Cuttable, text: str, item_id: str, since: int) -> None:
    """Send what the server has not acknowledged."""
    told = caller.events[since:]
    if not any(event["type"] == "conversation.item.added" and event["item"]["id"] == item_id for event in told):
        item = {"id": item_id, "type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        await caller.send("conversation.item.create", item=item)
    if not any(event["type"] == "response.created" for event in told):
        await caller.send("response.create")


def is_answered(events: list[dict[str, Any]], text: str) -> bool:
    """True when the whole answer was heard, and no response is open."""
    named = Counter(event["type"] for event in events)
    heard = {event["item_id"]: event["heard"] for event in events if event["type"] == "voiceagent.heard"}
    return named["response.created"] == named["response.done"] > 0 and " ".join(heard.values()) == answer_to(text)


async def begun(stack: AsyncExitStack, make: Callable[[], AbstractAsyncContextManager[C]]) -> C:
    """A caller whose call has begun. The server refuses while its event loop is late: then another one is made."""
    async with asyncio.timeout(60):
        while True:
            try:
                return await stack.enter_async_context(make())
            except (MediaError, aiohttp.WSServerHandshakeError) as error:
                if "503" not in str(error):
                    raise
            await asyncio.sleep(0.2)


async def over_socket(
    server: ServerProcess,
    seed: int,
    cuts: int,
    speech: tuple[NDArray[np.int16], int] | None = None,
    away_s: float | None = None,
) -> tuple[str, list[str]]:
    async with AsyncExitStack() as stack:
        caller = await begun(stack, lambda: SocketCaller(server.url))
        asked = await turns(OverSocket(caller), random.Random(seed), cuts, speech, away_s)
        check_events(caller.events)
        return caller.call_id, asked


async def over_webrtc(server: ServerProcess, seed: int, cuts: int, away_s: float | None = None) -> tuple[str, list[str]]:
    relays: list[CutRelay] = []

    def make() -> Caller:
        relays.append(CutRelay())
        return Caller(server.url, relay=relays[-1])

    async with asyncio.TaskGroup() as group, AsyncExitStack() as stack:
        caller = await begun(stack, make)
        cuttable = OverWebRtc(caller, relays[-1])
        group.create_task(cuttable.read())
        asked = await turns(cuttable, random.Random(seed), cuts, None, away_s)
        check_events(cuttable.events)
        return caller.call_id, asked


def check_events(events: list[dict[str, Any]]) -> None:
    """The client got each event once, and each response ended once."""
    assert max(Counter(event["event_id"] for event in events).values()) == 1
    created = [event["response"]["id"] for event in events if event["type"] == "response.created"]
    assert created == [event["response"]["id"] for event in events if event["type"] == "response.done"]


def turns_in(history: tuple[Kept, ...]) -> list[tuple[str, str]]:
    """What the caller said, and what they heard as the answer."""
    found: list[tuple[str, str]] = []
    for message in history:
        if message.role == "user":
            found.append((message.content, ""))
        elif message.role == "assistant":
            said, heard = found[-1]
            found[-1] = said, f"{heard} {message.content}".strip()
    return found


async def check_calls(server: ServerProcess, done: list[tuple[str, list[str]]]) -> None:
    """Each call's history holds each turn, and all words of its answer, once; each booking was made once."""
    for call_id, asked in done:
        head, steps = await asyncio.to_thread(latest_log, server.data, call_id)
        state = machine.start(head.rules)
        for step in steps:
            state, _ = machine.step(state, step.event)
        assert turns_in(state.memory.history) == [(text, answer_to(text)) for text in asked], (SEED, call_id)
        await asyncio.to_thread(check_replay, server, call_id)
    booked = Counter((server.data / "booked").read_text().split())
    assert booked == Counter(text.rstrip(".").split()[-1] for _, asked in done for text in asked if text.startswith("Book"))


async def test_cuts_at_random_moments_lose_and_double_nothing(tmp_path: Path, said: Said) -> None:
    speech = await said("What's the weather in Paris tomorrow?")
    each = max(1, CUTS // (2 * CALLS))

    async with agent_on(tmp_path, script, TOOLS, "phrases: {greeting: '', fillers: []}\n") as server:
        seeds = range(SEED * 1000, SEED * 1000 + CALLS)
        calls = [call for seed in seeds for call in (over_socket(server, seed, each, speech), over_webrtc(server, seed, each))]
        await check_calls(server, await asyncio.gather(*calls))


async def too_late_over_socket(server: ServerProcess) -> None:
    async with SocketCaller(server.url) as caller:
        await caller.until(lambda: bool(caller.token))
        await caller.cut()
        await asyncio.sleep(TOO_LONG_S)
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await caller.connect(caller.token)
        assert refused.value.status == 401


async def too_late_over_webrtc(server: ServerProcess) -> None:
    relay = CutRelay()
    async with Caller(server.url, relay=relay) as caller:
        token = await anext(str(event.data["token"]) async for event in caller.events() if event.type == "voiceagent.resume")
        relay.cut()
        relay.is_down = True
        await asyncio.sleep(TOO_LONG_S)
        peer, sdp = await offer_of()
        await peer.close()
        with pytest.raises(CallOverError, match="its call is over; begin a new call"):
            await answer_to_offer(server.url, token, sdp, "event_0")


@pytest.mark.skipif(not OUTAGES_S, reason="takes over a minute: make test-cuts")
async def test_long_outages_lose_and_double_nothing(tmp_path: Path) -> None:
    async with agent_on(tmp_path, script, TOOLS, "phrases: {greeting: '', fillers: []}\n") as server:
        late = asyncio.gather(too_late_over_socket(server), too_late_over_webrtc(server))
        calls = [
            call
            for seed, away_s in enumerate(OUTAGES_S, SEED * 1000)
            for call in (over_socket(server, seed, 1, None, away_s), over_webrtc(server, seed, 1, away_s))
        ]
        await check_calls(server, await asyncio.gather(*calls))
        await late
