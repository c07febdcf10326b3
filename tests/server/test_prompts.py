"""Prompts as the language model got them: who may see them, that they are whole and bounded, and that nothing keeps them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.calls.socket_caller import SocketCaller
from tests.server_process import running_server
from voiceagent.conversation.history import Message, ToolCall
from voiceagent.llm.engine import TokenCount
from voiceagent.llm.sent_prompt import SentPrompt
from voiceagent.server.access.key_ring import KEYS_VARIABLE, OPERATOR_KEYS_VARIABLE
from voiceagent.server.calls.prompt_watches import MAX_LINE_BYTES, MAX_MESSAGES, PromptWatches, prompt_line

CLIENT, OPERATOR, OTHER = "client-key-of-a-page", "operator-key-number-1", "operator-key-number-2"
SECRET = "The house rule is zebra four."
PATIENCE_S = 60.0


def prompt(*messages: Message, text: str = "", tools: tuple[dict[str, Any], ...] = ()) -> SentPrompt:
    return SentPrompt(1, False, messages, tools, "", text, TokenCount(0, 0))


def test_a_prompt_is_shown_as_it_was() -> None:
    call = Message("assistant", "", (ToolCall("c1", "look", '{"at": 1}'),))
    result = Message("tool", "2", tool_call_id="c1")
    shown = json.loads(prompt_line(prompt(Message("system", "Be kind."), call, result, text="<s>")))
    assert shown["messages"] == [
        {"role": "system", "content": "Be kind."},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "name": "look", "arguments": '{"at": 1}'}]},
        {"role": "tool", "content": "2", "tool_call_id": "c1"},
    ]
    assert (shown["text"], shown["cut"]) == ("<s>", [])


def test_a_prompt_of_any_length_is_bounded_and_says_what_is_cut() -> None:
    many = [Message("system", "Be kind."), *(Message("user", f"{number} {'ü' * 9_000}") for number in range(200))]
    tools = tuple({"type": "function", "function": {"name": f"t{number}", "description": "x" * 5_000}} for number in range(100))
    line = prompt_line(prompt(*many, text="y" * 100_000, tools=tools))
    assert len(line) <= MAX_LINE_BYTES
    assert set(json.loads(line)["cut"]) == {"messages", "tools", "text"}
    few = json.loads(prompt_line(prompt(*(Message("user", str(number)) for number in range(100)))))
    assert [one["content"] for one in few["messages"]] == ["0", *(str(number) for number in range(101 - MAX_MESSAGES, 100))]


async def test_nothing_is_made_of_a_prompt_that_nobody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[SentPrompt] = []

    def make(one: SentPrompt) -> bytes:
        made.append(one)
        return b"{}"

    monkeypatch.setattr("voiceagent.server.calls.prompt_watches.prompt_line", make)
    dropped: list[str] = []
    watches = PromptWatches(dropped.append)
    call = watches.of_call("rtc_1")
    call.prompted(prompt())
    assert made == []
    monitor = watches.follow("rtc_1")
    call.prompted(prompt())
    assert len(made) == 1
    for _ in range(1_000):
        call.prompted(prompt())
    assert monitor.closed == "too_slow"
    assert dropped == ["monitors"]
    assert len(watches) == 0
    ending = watches.follow("rtc_1")
    call.ended()
    assert await ending.take() == []


async def test_an_operator_sees_the_prompts_of_its_own_call_and_nothing_keeps_them(tmp_path: Path) -> None:
    (tmp_path / "agent.yaml").write_text(f"profile: embedded\ninstructions: {SECRET}\nphrases: {{greeting: ''}}\n")
    keys = {KEYS_VARIABLE: CLIENT, OPERATOR_KEYS_VARIABLE: f"{OPERATOR},{OTHER}"}
    with running_server(tmp_path, "--config", str(tmp_path / "agent.yaml"), environment=keys) as server:
        async with (
            asyncio.timeout(PATIENCE_S),
            SocketCaller(server.url, OPERATOR) as caller,
            aiohttp.ClientSession(server.url) as http,
        ):
            await caller.until(lambda: bool(caller.token))
            path = f"/v1/calls/{caller.call_id}/prompts"
            for key, where, code in (
                (CLIENT, path, "operator_only"),
                (OTHER, path, "call_not_found"),
                (OPERATOR, "/v1/calls/rtc_none/prompts", "call_not_found"),
            ):
                async with http.get(where, headers={"Authorization": f"Bearer {key}"}) as refused:
                    assert (await refused.json())["error"]["code"] == code
            async with http.get(path, headers={"Authorization": f"Bearer {OPERATOR}"}) as stream:
                assert stream.headers["Cache-Control"] == "no-store"
                await caller.write("What can you do?")
                line = await stream.content.readline()
                while not line.startswith(b"data: "):
                    line = await stream.content.readline()
                shown = json.loads(line.removeprefix(b"data: "))
                await caller.wait("response.done")
                await caller.hang_up()
                rest = await stream.content.read()
        assert shown["messages"] == [{"role": "system", "content": SECRET}, {"role": "user", "content": "What can you do?"}]
        assert SECRET in shown["text"]
        assert b"closed" not in rest
    assert holding(tmp_path, SECRET) <= {"agent.yaml", "sent_events.jsonl"}  # the latter is the tests' own


def holding(folder: Path, text: str) -> set[str]:
    """The names of the files below that hold a text."""
    return {file.name for file in folder.rglob("*") if file.is_file() and text.encode() in file.read_bytes()}
