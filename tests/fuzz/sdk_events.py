"""Client events as the official SDK's types allow them, with mistakes in some, to a whole call over a WebSocket: each is
answered, by events that the SDK can parse, and the call goes on."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from random import Random
from typing import Any, cast
from unittest.mock import patch

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from openai.types.realtime import RealtimeClientEvent
from pydantic import TypeAdapter

from tests.fakes import IdleEngine, SecondModel, SecondSession
from tests.fuzz.target import Finding, Target
from tests.realtime.protocol_rules import ProtocolRules
from voiceagent.audio.format import PLAYED_HZ
from voiceagent.call import Call
from voiceagent.call.scope import AgentParts
from voiceagent.conversation.history import Message, ToolCall
from voiceagent.engines import Engines
from voiceagent.guard.checks import load_guards
from voiceagent.guard.settings import GuardSettings
from voiceagent.latency.budgets import load_budgets
from voiceagent.llm.engine import Generated, GeneratedText, ToolSchema, Urgency
from voiceagent.media.websocket.websocket_leg import WebSocketLeg
from voiceagent.realtime import event_allowance
from voiceagent.realtime.openai_realtime import appended_audio
from voiceagent.resources import default_budgets_file
from voiceagent.settings.agent import AgentConfig, PhraseSettings
from voiceagent.stt.engine import StreamOptions
from voiceagent.stt.hypothesis import Hypothesis, RecognisedWord
from voiceagent.text_normalization.settings import SpeechSettings
from voiceagent.tools.call_tools import CallTools
from voiceagent.tools.toolset import ToolSet
from voiceagent.tts.engine import SpeechChunk
from voiceagent.tts.spoken_voice import AgentSpeech

SCHEMA: dict[str, Any] = TypeAdapter(RealtimeClientEvent).json_schema()
KINDS: list[str] = [kind["$ref"] for kind in SCHEMA["anyOf"]]
ITEM, RESPONSE = "ITEM OF THE CALL", "RESPONSE OF THE CALL"
"""Stand for ids that the server gave."""
AUDIO = "AAAA" * 400
TEXTS = (
    "",
    "a",
    "What time is it?",
    "x" * 3000,
    "ü\u2028\U0001f600\x00",
    AUDIO,
    "%%%",
    "null",
    ITEM,
    RESPONSE,
    "va_x",
    "{}",
    "alloy",
)
NUMBERS = (0, 0, 0.25, 0.5, 0.9, 1, 1, 1.5, 200, 300, 500, 5000, 24_000, -1, 65_535, 2**53, 2**63, -(2**70), 1e300)
ODD: tuple[Any, ...] = (None, True, False, "", "x", 0, -1, 1.5, [], {}, [[]], {"type": None}, {"": {"": []}}, [None] * 40)
MISTAKES = 0.02
"""The share of objects and lists on the way that are replaced by odd values."""
MAX_DEPTH = 10
ANSWER_S = 5.0
EVENTS_OF_A_CALL = 100
NO_LIMIT = 1e12
LIMITS = ("EVENTS_PER_S", "EVENTS_AT_ONCE", "WORK_PER_S", "WORK_AT_ONCE", "BYTES_PER_S", "BYTES_AT_ONCE")


def some_event(random: Random) -> bytes:
    """One event of the client."""
    made = _value({"$ref": random.choice(KINDS)}, random, 0, 0.0)
    for _ in range(random.choice((0, 0, 0, 1, 3))):
        made = _spoiled(made, random)
    return json.dumps(made).encode()


def _value(schema: dict[str, Any], random: Random, depth: int, optional: float) -> Any:
    if "$ref" in schema:
        return _value(SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], random, depth, random.choice((0.1, 0.5, 0.9)))
    if "anyOf" in schema:
        return _value(random.choice(schema["anyOf"]), random, depth, optional)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return random.choice(schema["enum"])
    match schema.get("type"):
        case "object":
            return _object(schema, random, depth, optional if depth < MAX_DEPTH else 0.0)
        case "array":
            return [_value(schema.get("items", {}), random, depth + 1, optional) for _ in range(random.choice((0, 1, 1, 3)))]
        case "string":
            return random.choice(TEXTS)
        case "integer" | "number":
            return random.choice(NUMBERS)
        case "boolean":
            return random.random() < 0.5
        case "null":
            return None
    return random.choice(ODD)


def _object(schema: dict[str, Any], random: Random, depth: int, optional: float) -> dict[str, Any]:
    required = schema.get("required", ())
    made = {
        name: _value(each, random, depth + 1, optional)
        for name, each in schema.get("properties", {}).items()
        if name in required or random.random() < optional
    }
    if isinstance(more := schema.get("additionalProperties"), dict):
        made |= {random.choice(TEXTS[:3]): _value(more, random, depth + 1, optional)}
    return made


def _spoiled(value: Any, random: Random) -> Any:
    """The same, with an odd value in one place."""
    if not value or not isinstance(value, dict | list) or random.random() < MISTAKES:
        return random.choice(ODD)
    places = list(value) if isinstance(value, dict) else list(range(len(value)))
    place = random.choice([each for each in places if isinstance(value[each], dict | list)] * 3 + places)
    if isinstance(value, dict) and random.random() < 0.2:
        return {**value, random.choice(("extra", "type", "id")): random.choice(ODD)}
    spoiled = _spoiled(value[place], random)
    return {**value, place: spoiled} if isinstance(value, dict) else [*value[:place], spoiled, *value[place + 1 :]]


class BriefModel(SecondModel):
    """Answers in a word, or calls the tool that it must."""

    def open(self, call_id: str) -> SecondSession:
        return BriefSession([])


class BriefSession(SecondSession):
    async def generate(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], urgency: Urgency = Urgency.REPLY, must_call: str = ""
    ) -> AsyncGenerator[Generated, None]:
        await asyncio.sleep(0)
        if must_call:
            yield ToolCall(f"c{len(messages)}", str(tools[0]["function"]["name"]), "{}")
        yield GeneratedText("Yes, of course. ")
        await asyncio.sleep(0)
        yield GeneratedText("Why not?")


class BriefEar(IdleEngine):
    """Hears a word in everything."""

    max_audio_s = 30.0
    stream = StreamOptions()
    dropped_partials = 0

    async def transcribe(self, audio: NDArray[np.float32], **_: Any) -> Hypothesis:
        await asyncio.sleep(0)
        return Hypothesis((RecognisedWord("Hello.", 0.0, 0.3, 1.0),), 0.0, 0.0, 1.0)


class BriefVoice(IdleEngine):
    """Says anything in 40 ms."""

    sample_rate_hz = PLAYED_HZ

    async def synthesise(self, text: str) -> AsyncGenerator[SpeechChunk, None]:
        await asyncio.sleep(0)
        yield SpeechChunk(np.full(PLAYED_HZ // 25, 1000, np.int16), ())


class Wire:
    """A client that reads everything at once. Implements `TextWire`."""

    def __init__(self) -> None:
        self.events: deque[dict[str, Any]] = deque()
        self.arrived = asyncio.Event()
        self._rules = ProtocolRules()
        self.error: AssertionError | None = None
        self.closed: tuple[int, str] | None = None
        """How the server closed it."""

    async def send(self, message: str) -> None:
        event = json.loads(message)
        try:
            self._rules.take(event)
        except (AssertionError, ValueError, LookupError) as error:
            self.error = Finding(f"{type(error).__name__}: {error}\n{message[:1500]}")
        self.events.append(event)
        self.arrived.set()

    async def close(self, code: int, reason: str) -> None:
        self.closed = code, reason
        self.arrived.set()


class SdkEvents(Target):
    """The events of OpenAI's SDK to a call."""

    name, examples, max_cpu_s, new_tasks = "events", 1500, 2.0, 30

    def __init__(self) -> None:
        self._limits = patch.dict(vars(event_allowance), dict.fromkeys(LIMITS, NO_LIMIT))
        self._taken = 0
        self._running: asyncio.Task[str] | None = None
        self._leg: WebSocketLeg
        self._wire: Wire
        self._ids = {ITEM: "none", RESPONSE: "none"}

    def inputs(self) -> st.SearchStrategy[bytes]:
        return st.integers(0, 2**64).map(lambda seed: some_event(Random(seed)))

    async def open(self) -> None:
        self._limits.start()
        engine = cast(Any, BriefEar())
        voice = cast(Any, BriefVoice())
        self._parts = AgentParts(
            AgentConfig(profile="embedded", phrases=PhraseSettings(greeting="")),
            Engines(engine, BriefModel(), voice),
            load_guards(GuardSettings()),
            AgentSpeech(SpeechSettings(), {}, ".", voice),
            load_budgets(default_budgets_file()),
        )

    async def close(self) -> None:
        await self._end_call()
        self._limits.stop()

    async def feed(self, data: bytes) -> None:
        if self._taken % EVENTS_OF_A_CALL == 0:
            await self._end_call()
            await self._begin_call()
        self._taken += 1
        text = data.decode("utf-8", "replace")
        for placeholder, known in self._ids.items():
            text = text.replace(placeholder, known)
        await self._leg.receive(text)
        if not _is_silent(text):
            await self._until(lambda event: True, f"no answer to {text[:1000]}")
        probe = f"probe {self._taken}"
        await self._leg.receive(json.dumps({"type": "conversation.item.retrieve", "item_id": "nothing", "event_id": probe}))
        await self._until(
            lambda event: event["type"] == "error" and event["error"]["event_id"] == probe,
            f"the call does not go on after {text[:1000]}",
        )

    async def _begin_call(self) -> None:
        self._wire = Wire()
        self._leg = WebSocketLeg(self._wire, appended_audio)
        tools = CallTools(ToolSet())
        self._running = asyncio.create_task(Call("rtc_1", self._leg, self._parts, tools).run())
        await self._until(lambda event: event["type"] == "session.created", "the call does not begin")

    async def _end_call(self) -> None:
        if self._running is not None:
            self._leg.gone()
            async with asyncio.timeout(ANSWER_S):
                await self._running
            self._running = None
            self._check()

    async def _until(self, wanted: Callable[[dict[str, Any]], bool], problem: str) -> None:
        """Take events until one is wanted."""
        try:
            async with asyncio.timeout(ANSWER_S):
                while True:
                    while self._wire.events:
                        event = self._wire.events.popleft()
                        self._check()
                        self._note(event)
                        if wanted(event):
                            return
                    self._wire.arrived.clear()
                    await self._wire.arrived.wait()
        except TimeoutError as error:
            over = self._running is not None and self._running.done()
            raise Finding(f"{problem}{f'; the call is over ({self._wire.closed})' if over else ''}") from error

    def _note(self, event: dict[str, Any]) -> None:
        if event["type"] == "error" and not (event["error"]["code"] and event["error"]["message"]):
            raise Finding(f"an error without a name: {event}")
        with suppress(KeyError, TypeError):
            self._ids[ITEM] = event["item"]["id"]
        with suppress(KeyError, TypeError):
            self._ids[RESPONSE] = event["response"]["id"]

    def _check(self) -> None:
        if self._wire.error is not None:
            raise self._wire.error


def _is_silent(text: str) -> bool:
    """True for an event that may go without an answer: audio that can be used, and a wish for silence where nothing plays."""
    return appended_audio(text) is not None or '"output_audio_buffer.clear"' in text
