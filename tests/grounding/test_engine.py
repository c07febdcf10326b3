"""The bundled language model behind the check of its words, as every profile has it."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing

import pytest

from bench.bundled.lm import demo_tools
from voiceagent.conversation.history import Message, ToolCall
from voiceagent.engines import load_llm
from voiceagent.grounding.engine import GroundedEngine
from voiceagent.grounding.language import ENGLISH
from voiceagent.grounding.limits import ModelLimits
from voiceagent.llm.embedded.embedded import EmbeddedEngine, EmbeddedSession
from voiceagent.llm.engine import Generated, GeneratedText, Lull, ToolSchema, Unfinished, Urgency
from voiceagent.models.registry import profile, registry
from voiceagent.settings.agent import LlmSettings

SYSTEM = Message("system", "You are a friendly voice assistant. Answer in one short sentence.")
LIMITS = registry().model("micro-lm").limits
HOTEL = [
    {
        "type": "function",
        "function": {
            "name": "free_rooms",
            "description": "How many rooms are free on a date.",
            "parameters": {"type": "object", "properties": {"date": {"type": "string"}}, "required": ["date"]},
        },
    }
]
UNSEEN_WEATHER = ("snow", "light rain", "hail", "partly cloudy", "drizzle")


@pytest.fixture
async def bundled() -> AsyncIterator[GroundedEngine]:
    engine = load_llm(profile("embedded").llm, LlmSettings(), {})
    assert isinstance(engine, GroundedEngine)
    yield engine
    await engine.close()


async def answer(engine: GroundedEngine, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> tuple[str, list[ToolCall]]:
    session = engine.open("call")
    made = [piece async for piece in session.generate(messages, tools)]
    await session.close()
    text = "".join(piece.text for piece in made if isinstance(piece, GeneratedText))
    return text, [piece for piece in made if isinstance(piece, ToolCall)]


@pytest.mark.parametrize(
    ("said", "time"),
    [
        ("Book a table for four people on Friday at seven.", "7"),
        ("Book a table for three at half past nine tomorrow.", "9:30"),
        ("Table for two tonight at 7 p.m.", "7 PM"),
        ("Book a dentist on the third of May at eight in the morning.", "8 AM"),
    ],
)
async def test_a_booking_takes_the_time_that_was_said(bundled: GroundedEngine, said: str, time: str) -> None:
    _, (call,) = await answer(bundled, [SYSTEM, Message("user", said)], demo_tools())
    assert json.loads(call.arguments)["time"] == time


@pytest.mark.parametrize("weather", UNSEEN_WEATHER)
async def test_what_a_tool_answered_is_what_is_said(bundled: GroundedEngine, weather: str) -> None:
    result = {"city": "Oslo", "day": "today", "weather": weather, "temperature": 3}
    call = ToolCall("1", "get_weather", '{"city": "Oslo"}')
    asked = [SYSTEM, Message("user", "What's the weather in Oslo?"), Message("assistant", "", (call,))]
    text, _ = await answer(bundled, [*asked, Message("tool", json.dumps(result), tool_call_id="1")], demo_tools())
    assert weather in text
    assert not {"sunny", "cloudy", "windy", "foggy", "hot", "mild", "rainy"} & set(text.replace(weather, "").split())


async def test_an_agent_of_another_trade_hears_no_boasting_and_runs_no_tool_of_the_demo(bundled: GroundedEngine) -> None:
    hotel = Message("system", "You answer the phone of a small hotel. One or two short sentences.")
    asked = ("How many rooms are free on Friday?", "What can you do?", "What time is breakfast?", "Hello.", "What's the weather?")
    for question in asked:
        text, calls = await answer(bundled, [hotel, Message("user", question)], HOTEL)
        assert text
        assert not calls
        assert not {"time,", "weather,", "bookings,", "tables,", "timers."} & set(text.split())


async def test_a_tool_that_is_not_there_is_not_asked_for_and_the_caller_is_told() -> None:
    engine = GroundedEngine(Scripted([ToolCall("1", "get_weather", '{"city": "Oslo"}')]), LIMITS, ENGLISH)
    assert await answer(engine, [SYSTEM, Message("user", "The weather in Oslo?")], HOTEL) == (ENGLISH.cannot, [])
    assert engine.problems == {"unknown_tool": 1}


async def test_an_argument_that_nobody_said_is_asked_for() -> None:
    call = ToolCall("1", "book_table", '{"people": 2, "day": "tonight", "time": "9:44"}')
    engine = GroundedEngine(Scripted([call]), LIMITS, ENGLISH)
    text, calls = await answer(engine, [SYSTEM, Message("user", "A table for two tonight.")], demo_tools())
    assert (text, calls) == ("At what time?", [])
    assert engine.problems == {"unsaid_argument": 1}


async def test_of_two_calls_the_one_that_was_said_runs() -> None:
    said, unsaid = ToolCall("1", "get_time", '{"city": "Oslo"}'), ToolCall("2", "get_time", '{"city": "Rome"}')
    engine = GroundedEngine(Scripted([said, unsaid]), LIMITS, ENGLISH)
    assert await answer(engine, [SYSTEM, Message("user", "The time in Oslo?")], demo_tools()) == ("", [said])


async def test_a_generation_ends_at_what_may_not_be_said() -> None:
    scripted = Scripted([GeneratedText("Itomorrow. "), GeneratedText("And so on.")])
    engine = GroundedEngine(scripted, LIMITS, ENGLISH)
    assert await answer(engine, [SYSTEM, Message("user", "Hello.")], demo_tools()) == (ENGLISH.not_understood, [])
    assert (scripted.given, scripted.closed) == (1, True)


async def test_a_summary_and_the_rest_of_anothers_reply_are_not_checked() -> None:
    script: list[Generated] = [GeneratedText("the caller's name is Anna.")]
    engine = GroundedEngine(Scripted(script), LIMITS, ENGLISH)
    begun = [SYSTEM, Message("user", "Hello."), Unfinished("assistant", "I believe that ")]
    assert (await answer(engine, begun, demo_tools()))[0] == "the caller's name is Anna."
    summed = [piece async for piece in engine.open("call").generate([Message("user", "Sum up.")], (), Urgency.AHEAD)]
    assert summed == script


async def test_a_model_without_limits_is_not_checked() -> None:
    engine = load_llm(profile("gpu").llm, LlmSettings(), {})
    assert not isinstance(engine, GroundedEngine)
    await engine.close()
    other = load_llm(profile("vllm-cpu").llm, LlmSettings(base_url="http://127.0.0.1:9/v1"), {})
    assert not isinstance(other, GroundedEngine)
    await other.close()


class Scripted(EmbeddedEngine):
    """Writes what a test wants, which the model does only now and then."""

    def __init__(self, script: Sequence[Generated]) -> None:
        self.script = script
        self.given = 0
        self.closed = False

    def open(self, call_id: str) -> ScriptedSession:
        return ScriptedSession(self)


class ScriptedSession(EmbeddedSession):
    def __init__(self, engine: Scripted) -> None:
        self._engine = engine

    async def generate(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], urgency: Urgency = Urgency.REPLY, must_call: str = ""
    ) -> AsyncGenerator[Generated, None]:
        try:
            for piece in self._engine.script:
                self._engine.given += 1
                yield piece
        finally:
            self._engine.closed = True

    async def close(self) -> None:
        pass


async def test_an_argument_that_nobody_said_and_the_tool_does_not_need_is_left_out() -> None:
    engine = GroundedEngine(Scripted([ToolCall("1", "get_time", '{"city": "Rome"}')]), LIMITS, ENGLISH)
    _, (call,) = await answer(engine, [SYSTEM, Message("user", "What time is it?")], demo_tools())
    assert call == ToolCall("1", "get_time", "{}")
    assert engine.problems == {"unsaid_argument": 1, "argument_as_said": 1}


async def test_where_only_arguments_are_checked_text_goes_on_as_it_comes() -> None:
    pieces = [GeneratedText("The"), GeneratedText(" pool"), GeneratedText(" opens at")]
    engine = GroundedEngine(Scripted([*pieces]), ModelLimits(arguments="said"), ENGLISH)
    async with aclosing(engine.open("call").generate([SYSTEM, Message("user", "When?")], [])) as stream:
        assert [piece async for piece in stream] == pieces


async def test_a_pause_and_the_beginning_of_a_call_release_what_waits_for_more() -> None:
    sentence = LIMITS.sentences[0]
    for lull in (Lull(), Lull(writes_call=True)):
        engine = GroundedEngine(Scripted([GeneratedText(sentence), lull, GeneratedText(" ")]), LIMITS, ENGLISH)
        found = [piece async for piece in engine.open("call").generate([SYSTEM, Message("user", "Hello.")], demo_tools())]
        before = found[: found.index(lull)]
        assert "".join(piece.text for piece in before if isinstance(piece, GeneratedText)) == sentence


BOOKING = (
    SYSTEM,
    Message("user", "Book a table for Friday at seven."),
    Message("assistant", "All right. For how many people?"),
)


class Answering(Scripted):
    """Calls a tool where it has one, and says its line where it has none."""

    def __init__(self, call: ToolCall, line: str) -> None:
        super().__init__([call])
        self._call, self._line = call, line

    def open(self, call_id: str) -> AnsweringSession:
        return AnsweringSession(self, self._call, self._line)


class AnsweringSession(ScriptedSession):
    def __init__(self, engine: Scripted, call: ToolCall, line: str) -> None:
        super().__init__(engine)
        self._call, self._line = call, line

    async def generate(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], urgency: Urgency = Urgency.REPLY, must_call: str = ""
    ) -> AsyncGenerator[Generated, None]:
        yield self._call if tools else GeneratedText(self._line)


@pytest.mark.parametrize(
    "asked", ["Do you have a terrace?", "Do you have a terrace", "Is there parking?", "And what do you serve?"]
)
async def test_a_question_in_the_middle_of_a_booking_is_answered_and_ours_stays_open(asked: str) -> None:
    call = ToolCall("1", "book_table", '{"people": 2, "day": "Friday", "time": "7"}')
    engine = GroundedEngine(Answering(call, "Yes, we do."), ModelLimits(arguments="said"), ENGLISH)
    text, calls = await answer(engine, [*BOOKING, Message("user", asked)], demo_tools())
    assert (text, calls) == ("Yes, we do. For how many people?", [])
    assert engine.problems["aside_answered"] == 1


@pytest.mark.parametrize("said", ["How about Saturday?", "On Friday.", "I don't know yet.", "Can we make it eight?"])
async def test_what_belongs_to_the_booking_is_no_aside(said: str) -> None:
    day = "Saturday" if "Saturday" in said else "Friday"
    call = ToolCall("1", "book_table", json.dumps({"people": 3, "day": day, "time": "8" if "eight" in said else "7"}))
    engine = GroundedEngine(Answering(call, "Yes, we do."), ModelLimits(arguments="said"), ENGLISH)
    assert await answer(engine, [*BOOKING, Message("user", said)], demo_tools()) == ("How many people?", [])


async def test_the_first_question_of_a_call_is_no_aside() -> None:
    call = ToolCall("1", "book_table", '{"people": 3, "day": "Friday", "time": "7"}')
    engine = GroundedEngine(Answering(call, "Yes, we do."), ModelLimits(arguments="said"), ENGLISH)
    greeting = Message("assistant", "Hello, what can I do for you?")
    said = [SYSTEM, greeting, Message("user", "Can I book a table?")]
    assert (await answer(engine, said, demo_tools()))[1] == []
    assert "aside_answered" not in engine.problems


async def test_a_choice_that_nobody_said_is_asked_for_with_the_choices() -> None:
    engine = GroundedEngine(
        Scripted([ToolCall("1", "cancel_booking", '{"kind": "table"}')]), ModelLimits(arguments="said"), ENGLISH
    )
    text, calls = await answer(engine, [SYSTEM, Message("user", "Cancel it.")], demo_tools())
    assert (text, calls) == ("What kind: appointment or table?", [])


async def test_what_a_tool_needs_and_its_call_lacks_is_asked_for() -> None:
    engine = GroundedEngine(Scripted([ToolCall("1", "free_rooms", "{}")]), ModelLimits(arguments="said"), ENGLISH)
    assert await answer(engine, [SYSTEM, Message("user", "Have you got a room?")], HOTEL) == ("What date?", [])
