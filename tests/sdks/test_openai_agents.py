"""Whole calls with OpenAI's Agents SDK for Python (PyPI `openai-agents`), as it comes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import numpy as np
from agents import FunctionTool
from agents.realtime import RealtimeAgent, RealtimeItem, RealtimeRunner, RealtimeSession, RealtimeSessionEvent
from agents.tool_context import ToolContext

from tests.browser.test_page_client_secret import secret_of
from tests.fakes import Said
from tests.realtime.protocol_rules import ProtocolRules
from tests.server_process import ServerProcess
from voiceagent.audio.resample import resample
from voiceagent.json_types import JsonObject
from voiceagent.task_owner import running

RATE_HZ = 24_000
PIECE_S = 0.05


class Microphone:
    """A microphone: it never stops, and hears what is said."""

    def __init__(self, session: RealtimeSession, said: Said) -> None:
        self._session = session
        self._said = said
        self._speech = b""

    async def say(self, text: str) -> None:
        pcm, rate_hz = await self._said(text)
        self._speech = resample(pcm, rate_hz, RATE_HZ).astype("<i2").tobytes()

    async def run(self) -> None:
        size = int(RATE_HZ * PIECE_S) * np.int16().nbytes
        while True:
            piece, self._speech = self._speech[:size], self._speech[size:]
            await self._session.send_audio(piece.ljust(size, b"\0"))
            await asyncio.sleep(PIECE_S)


class Call:
    """One call, and what the SDK made of it."""

    def __init__(self, session: RealtimeSession) -> None:
        self._events = aiter(session)
        self.kinds: list[str] = []
        """The SDK's own events."""
        self.history: list[RealtimeItem] = []
        self._names: list[str] = []
        self._rules = ProtocolRules()

    async def wait(self, name: str, count: int = 1) -> None:
        """Take events until the server has sent `count` of this name."""
        async with asyncio.timeout(20):
            while self.count(name) < count:
                self._take(await anext(self._events))

    def _take(self, event: RealtimeSessionEvent) -> None:
        assert event.type != "error", event
        self.kinds.append(event.type)
        if event.type == "raw_model_event" and event.data.type == "raw_server_event":
            data = dict(event.data.data)
            self._rules.take(data)
            self._names.append(data["type"])
        elif event.type == "history_updated":
            self.history = event.history

    def count(self, name: str) -> int:
        """The events of this name so far."""
        return self._names.count(name)


async def test_a_call_over_a_websocket(keyed: tuple[ServerProcess, str], clock: JsonObject, said: Said) -> None:
    server, key = keyed
    cities = []

    async def get_time(context: ToolContext[Any], arguments: str) -> str:
        cities.append(json.loads(arguments)["city"])
        return json.dumps({"city": cities[-1], "time": "3:45 PM"})

    tool = FunctionTool(clock["name"], clock["description"], clock["parameters"], get_time, strict_json_schema=False)
    agent = RealtimeAgent(name="Demo", instructions="You are a friendly voice assistant.", tools=[tool])
    url = f"{server.url.replace('http', 'ws', 1)}/v1/realtime?model=gpt-realtime"
    session = await RealtimeRunner(agent).run(model_config={"url": url, "api_key": secret_of(server.url, key)})
    async with session:
        call, microphone = Call(session), Microphone(session, said)
        async with running(microphone.run(), "microphone"):
            await microphone.say("What's the weather in Paris tomorrow?")
            await call.wait("response.done")
            await microphone.say("What time is it in Tokyo?")
            await call.wait("response.done", 3)
            await session.send_message("What can you do?")
            await call.wait("response.output_audio.delta", call.count("response.output_audio.delta") + 1)
            await microphone.say("Stop.")
            await call.wait("response.done", 5)
    assert cities == ["Tokyo"]
    assert "audio_interrupted" in call.kinds
    calls = [item for item in call.history if item.type == "function_call"]
    assert [(item.name, item.status) for item in calls] == [("get_time", "completed")]
    weather, time, cut, okay = (item for item in call.history if item.type == "message" and item.role == "assistant")
    assert [item.status for item in (weather, time, okay)] == ["completed"] * 3
    assert cut.status == "incomplete"
    for item, word in ((weather, "Paris"), (time, "Tokyo"), (okay, "Okay")):
        assert word in item.model_dump_json()
