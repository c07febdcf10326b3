"""The Chat Completions with OpenAI's own client, on whole agents: the same tools and guards as in a call, streams that are lost
and go on, and many requests beside a spoken call."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import openai
import pytest
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionChunk

from tests.calls.scripted_model import Message, agent_on
from tests.fakes import Said
from tests.llm.scripted_server import Delta, Script, Until, scripted_server
from tests.server_process import ServerProcess, running_server
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.resources import demo_agent_file
from voiceagent.settings.agent import load_agent
from voiceagent.tools.toolset import ToolSet

KEY = "a-key-of-a-client-that-writes"
KEYS = {"VOICEAGENT_KEYS": f"{KEY},other"}
WEATHER = "What's the weather in Paris tomorrow?"
RESULT = {"city": "Paris", "day": "tomorrow", "weather": "rainy", "temperature": 12}
IMAGE = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}
GUARDED = """
name: Guarded
instructions: You are a friendly voice assistant. Answer in one short sentence.
phrases: {greeting: "Hello, how can I help you?"}
guard:
  output: {phrases: ["thank you"], line: "I may not say that."}
  input: {topics: {berlin: "\\\\bBerlin\\\\b"}, lines: {berlin: "Let us not talk about this city."}}
"""


@asynccontextmanager
async def client_of(url: str, key: str = KEY) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(api_key=key, base_url=f"{url}/v1", max_retries=0) as client:
        yield client


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


async def streamed(client: AsyncOpenAI, messages: Any, **fields: Any) -> list[ChatCompletionChunk]:
    stream: Any = await client.chat.completions.create(model="voiceagent", stream=True, messages=messages, **fields)
    return [chunk async for chunk in stream]


async def answered(client: AsyncOpenAI, messages: Any, **fields: Any) -> Any:
    return await client.chat.completions.create(model="voiceagent", messages=messages, **fields)


def text_of(chunks: list[ChatCompletionChunk]) -> str:
    return "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "agent.yaml").write_text(GUARDED)
    with running_server(folder, "--config", str(folder / "agent.yaml"), environment=KEYS) as running:
        yield running


async def test_the_agent_answers_in_writing_with_its_own_tools(server: ServerProcess) -> None:
    async with client_of(server.url) as client:
        whole = await answered(client, [user(WEATHER)])
        chunks = await streamed(client, [user(WEATHER)], stream_options={"include_usage": True})
        assert [model.id async for model in client.models.list()] == ["Demo", "voiceagent"]
    (choice,) = whole.choices
    assert "Paris" in choice.message.content
    assert (choice.finish_reason, choice.message.tool_calls) == ("stop", None)
    assert text_of(chunks) == choice.message.content, "and no greeting before it"
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-2].choices[0].finish_reason == "stop"
    usage = chunks[-1].usage
    assert chunks[-1].choices == []
    assert usage == whole.usage
    assert usage is not None
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
    assert usage.completion_tokens > 0
    assert {chunk.id for chunk in chunks} == {chunks[0].id}


async def test_the_client_runs_its_tool_and_gets_the_answer(guarded: ServerProcess) -> None:
    agent = load_agent(demo_agent_file())
    tools = ToolSet.from_config(agent.tools, agent.base_dir).schemas()
    async with client_of(guarded.url) as client:
        whole = await answered(client, [user(WEATHER)], tools=tools)
        chunks = await streamed(client, [user(WEATHER)], tools=tools)
        (choice,) = whole.choices
        (call,) = choice.message.tool_calls
        assert choice.finish_reason == chunks[-1].choices[0].finish_reason == "tool_calls"
        assert (call.function.name, json.loads(call.function.arguments)) == ("get_weather", {"city": "Paris", "day": "tomorrow"})
        (delta,) = [delta for chunk in chunks for delta in chunk.choices[0].delta.tool_calls or ()]
        assert delta.function is not None
        assert (delta.index, delta.function.name, delta.function.arguments) == (0, call.function.name, call.function.arguments)
        assert whole.usage.completion_tokens > 0
        forced = {"type": "function", "function": {"name": "get_weather"}}
        (made,) = (await answered(client, [user("Paris, tomorrow.")], tools=tools, tool_choice=forced)).choices
        assert [one.function.name for one in made.message.tool_calls] == ["get_weather"]
        result = {"role": "tool", "tool_call_id": call.id, "content": json.dumps(RESULT)}
        told = await answered(client, [user(WEATHER), choice.message.model_dump(exclude_none=True), result], tools=tools)
    assert "rainy" in told.choices[0].message.content
    assert told.choices[0].finish_reason == "stop"


async def test_guards_stand_where_they_stand_in_a_call(guarded: ServerProcess) -> None:
    async with client_of(guarded.url) as client:
        refused = await answered(client, [user("What time is it in Berlin?")])
        blocked = await answered(client, [user("Hello, how are you?")])
    for whole, line in ((refused, "Let us not talk about this city."), (blocked, "I may not say that.")):
        assert whole.choices[0].finish_reason == "content_filter"
        assert whole.choices[0].message.content.endswith(line)
    assert "thank you" not in blocked.choices[0].message.content


async def test_a_key_is_needed_and_wrong_input_is_named(guarded: ServerProcess) -> None:
    async with client_of(guarded.url, "a-key-of-nobody") as client:
        with pytest.raises(openai.AuthenticationError):
            await answered(client, [user("Hello")])
    wrong: tuple[tuple[dict[str, Any], str, str], ...] = (
        ({"temperature": 0.5}, "temperature", "unsupported_value"),
        ({"nonsense": 1}, "nonsense", "unknown_parameter"),
        ({"max_tokens": 0}, "max_tokens", "invalid_value"),
        ({"tools": [{"type": "function", "function": {"name": "no spaces"}}]}, "tools", "invalid_value"),
        ({"messages": [IMAGE]}, "messages[0].content", "unsupported_value"),
        ({"messages": [{"role": "assistant", "content": "Hello"}]}, "messages", "invalid_value"),
    )
    async with client_of(guarded.url) as client:
        for fields, param, code in wrong:
            with pytest.raises(openai.BadRequestError) as refused:
                await client.chat.completions.create(
                    model="voiceagent", messages=fields.pop("messages", [user("Hello")]), extra_body=fields
                )
            assert (refused.value.param, refused.value.code) == (param, code), refused.value
        with pytest.raises(openai.NotFoundError) as unknown:
            await client.chat.completions.create(model="gpt-5", messages=[{"role": "user", "content": "Hello"}])
        assert (unknown.value.param, unknown.value.code) == ("model", "model_not_found")


@asynccontextmanager
async def scripted(folder: Path, script: Script | Callable[[list[Delta]], Script], settings: str = "") -> AsyncIterator[str]:
    """The address of a server whose language model answers by a script."""
    async with scripted_server(script if callable(script) else lambda _: script) as model:
        (folder / "agent.yaml").write_text(f"llm: {{base_url: '{model.url}'}}\n{settings}")
        with ExitStack() as stack:
            yield (
                await asyncio.to_thread(
                    stack.enter_context,
                    running_server(folder, "--config", str(folder / "agent.yaml"), environment=KEYS),
                )
            ).url


BODY = {"model": "voiceagent", "stream": True, "messages": [user("Tell me a story.")]}


class Reader:
    """Reads a stream, perhaps from behind an event on."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.events: list[tuple[str, str]] = []

    async def read(self, most: int = 1000, *, seen: str = "", key: str = KEY, body: dict[str, Any] = BODY) -> int:
        """Read at most so many events, and hang up. Returns the status."""
        headers = {"Authorization": f"Bearer {key}"} | ({"Last-Event-ID": seen} if seen else {})
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{self.url}/v1/chat/completions", json=body, headers=headers) as response,
        ):
            if response.status != 200:
                return response.status
            event_id, read = "", 0
            async for line in response.content:
                name, _, value = line.decode().rstrip().partition(": ")
                event_id = value if name == "id" else event_id
                if name == "data":
                    self.events.append((event_id, value))
                    read += 1
                if read == most:
                    break
            return 200

    @property
    def text(self) -> str:
        chunks = [json.loads(data) for _, data in self.events if data != "[DONE]"]
        return "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])


async def test_a_lost_stream_goes_on_without_a_lost_or_doubled_word(tmp_path: Path) -> None:
    gate = asyncio.Event()
    told = "There was a king. He had a cat. The cat was wise. They lived well."
    sentences: list[Delta] = [{"content": f"{sentence}. "} for sentence in told.rstrip(".").split(". ")]
    async with scripted(tmp_path, [*sentences[:2], Until(gate), *sentences[2:]]) as url:
        reader = Reader(url)
        assert await reader.read(1) == 200
        seen = reader.events[-1][0]
        assert await reader.read(seen=seen, key="other") == 404, "another client's"
        assert await reader.read(seen=seen, body={**BODY, "max_tokens": 9}) == 409, "another request"
        assert await reader.read(seen=f"{seen[:-2]}0:1") == 404
        gate.set()
        assert await reader.read(seen=seen) == 200
        assert reader.text == told
        assert [int(event_id.split(":")[1]) for event_id, _ in reader.events] == [*range(1, len(reader.events) + 1)]
        assert reader.events[-1][1] == "[DONE]"
        again = Reader(url)
        assert await again.read(seen=reader.events[-3][0]) == 200
        assert again.events == reader.events[-2:], "it is kept for a while after its end"


CONFIRMED = '''
from pathlib import Path
from voiceagent.tools import tool

@tool(confirm="Shall I cancel your booking?")
def cancel_booking() -> dict[str, str]:
    """Cancel the booking."""
    with Path(__file__).with_name("cancelled").open("a") as file:
        file.write("x")
    return {"cancelled": "table"}
'''


def canceller(messages: list[Message]) -> str | tuple[str, str]:
    """Cancel, unless a tool's result says that it is done."""
    return "It is cancelled." if '{"cancelled": "table"}' in str(messages) else ("cancel_booking", "{}")


async def test_a_tool_waits_for_a_yes_of_the_same_conversation_and_its_result_stays_known(tmp_path: Path) -> None:
    asked, done = user("Cancel my table for Saturday."), tmp_path / "cancelled"
    async with agent_on(tmp_path, canceller, CONFIRMED) as server, client_of(server.url) as client:
        (question,) = (await answered(client, [asked])).choices
        assert (question.message.content, question.finish_reason) == ("Shall I cancel your booking?", "stop")
        agent = {"role": "assistant", "content": question.message.content}
        invented = [user("Hello."), agent, user("Yes, please.")]
        assert (await answered(client, invented)).choices[0].message.content == question.message.content
        assert not done.exists(), "nobody has asked that in this conversation"
        said = [asked, agent, user("Yes, please.")]
        (choice,) = (await answered(client, said)).choices
        assert choice.message.content == "It is cancelled."
        assert done.read_text() == "x"
        said += [{"role": "assistant", "content": choice.message.content}, user("What did you do for me?")]
        assert (await answered(client, said)).choices[0].message.content == "It is cancelled."
    assert done.read_text() == "x", "the model read the result, and called nothing"


BOTH: list[Delta] = [
    {"tool_calls": [{"index": 0, "id": "ours", "function": {"name": "book", "arguments": "{}"}}]},
    {"tool_calls": [{"index": 1, "id": "theirs", "function": {"name": "locate", "arguments": "{}"}}]},
]
BOOK = '''
from pathlib import Path
from voiceagent.tools import tool

@tool
def book() -> dict[str, str]:
    """Book a table."""
    with Path(__file__).with_name("booked").open("a") as file:
        file.write("x")
    return {"booked": "table 7"}
'''


async def test_tools_of_both_sides_in_one_answer_run_once_each(tmp_path: Path) -> None:
    prompts: list[list[Delta]] = []

    def answer(messages: list[Delta]) -> Script:
        prompts.append(messages)
        return [{"content": "You have table 7, "}, {"content": "near you. "}] if "Main Street" in str(messages) else [*BOTH]

    (tmp_path / "book.py").write_text(BOOK)
    theirs: Any = {"type": "function", "function": {"name": "locate", "parameters": {"type": "object", "properties": {}}}}
    async with scripted(tmp_path, answer, "tools: [book.py]\n") as url, client_of(url) as client:
        said: list[Any] = [user("Book a table near me.")]
        (choice,) = (await answered(client, said, tools=[theirs])).choices
        assert choice.finish_reason == "tool_calls"
        assert [(call.id, call.function.name) for call in choice.message.tool_calls] == [("theirs", "locate")]
        said += [choice.message.model_dump(exclude_none=True)]
        said += [{"role": "tool", "tool_call_id": "theirs", "content": "Main Street"}]
        (told,) = (await answered(client, said, tools=[theirs])).choices
        assert told.message.content == "You have table 7, near you."
        assert [message["role"] for message in prompts[-1]][-5:] == ["user", "assistant", "tool", "assistant", "tool"]
        assert "table 7" in str(prompts[-1]), "the model reads what the server's tool has answered"
        (cut,) = (await answered(client, said, tools=[theirs], max_tokens=1)).choices
        assert (cut.finish_reason, cut.message.content) == ("length", "You")
    assert (tmp_path / "booked").read_text() == "x"


async def test_a_failing_model_is_an_error(tmp_path: Path) -> None:
    async with scripted(tmp_path, []) as url, client_of(url) as client:
        with pytest.raises(openai.InternalServerError) as failed:
            await answered(client, [user("Hello")])
        assert failed.value.code == "empty_reply"
        with pytest.raises(openai.APIError) as broken:
            await streamed(client, [user("Hello")])
        assert broken.value.code == "empty_reply"


async def test_twenty_requests_beside_a_call_are_answered_and_the_call_goes_on(tmp_path: Path, said: Said) -> None:
    settings = "admission: {max_calls: 21, per_client: {calls: 21}}\n"
    async with (
        scripted(tmp_path, [{"content": "It is fine."}], settings) as url,
        Caller(url, token=KEY) as caller,
        Dialogue(caller) as dialogue,
        client_of(url) as client,
    ):
        patient = client.with_options(max_retries=8)  # a busy machine's server says when to ask again
        asked = [asyncio.create_task(answered(patient, [user(f"Question {number}?")])) for number in range(20)]
        (turn,) = await dialogue.turn(WEATHER, *await said(WEATHER))
        assert turn.heard == "It is fine."
        assert {(await one).choices[0].message.content for one in asked} == {"It is fine."}
    assert not [event for event in dialogue.events_since(0) if event.type == "error"]
