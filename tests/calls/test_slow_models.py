"""A language model that thinks, hangs or pauses, in whole calls over real WebRTC: what the caller hears, and in which order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.llm.scripted_server import Delta, Script, Until, scripted_server
from tests.server_process import running_server
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue

FILLER, APOLOGY = "One moment, please.", "Sorry, I did not get that."
SECRET = "The user wants the time. "


def agent(folder: Path, url: str, turn: str, *, llm: str = "") -> str:
    tools = folder / "tools.py"
    tools.write_text(
        "from voiceagent.tools import tool\n\n\n@tool(effect='none')\ndef save_answer(q: int) -> dict[str, bool]:\n"
        '    """Save an answer.\n\n    Args:\n        q: The number of the question.\n    """\n    return {"saved": True}\n'
    )
    file = folder / "agent.yaml"
    file.write_text(
        f'name: Slow\ntools: ["{tools}"]\nllm: {{base_url: "{url}"{llm}}}\nturn: {{filler_after_ms: 0, {turn}}}\n'
        f'phrases: {{apology: "{APOLOGY}", fillers: ["{FILLER}"]}}\n'
    )
    return str(file)


@asynccontextmanager
async def call(folder: Path, answer: Callable[[list[Delta]], Script], turn: str, llm: str = "") -> AsyncIterator[Any]:
    """A call whose language model answers by script."""
    async with scripted_server(answer) as model:
        with running_server(folder, "--config", agent(folder, model.url, turn, llm=llm)) as server:
            async with Caller(server.url) as caller, Dialogue(caller) as dialogue:
                yield model, dialogue


def type_text(dialogue: Dialogue, text: str) -> int:
    """Type something to be answered. Returns the number of the next event."""
    since = dialogue.event_count
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    dialogue.caller.send_event({"type": "output_audio_buffer.clear"})
    dialogue.caller.send_event({"type": "conversation.item.create", "item": item})
    dialogue.caller.send_event({"type": "response.create"})
    return since


async def heard(dialogue: Dialogue, since: int, words: str) -> None:
    """Wait until the caller has heard the words."""
    await dialogue.wait_event(
        lambda event: event.type == "voiceagent.heard" and words in str(event.data["heard"]), since, f"{words!r} to be heard"
    )


async def answered(dialogue: Dialogue, since: int) -> str:
    """Wait for the reply's end. Returns what was heard of it."""
    await dialogue.wait_event(lambda event: event.type == "response.done", since, "the end of the reply")
    reports = [event.data for event in dialogue.events_since(since) if event.type == "voiceagent.heard"]
    return str(reports[-1]["heard"]) if reports else ""


def in_content(*pieces: str) -> list[Delta]:
    return [{"content": piece} for piece in pieces]


THOUGHTS: dict[str, tuple[Script, Delta, Script]] = {
    "reasoning_content": ([], {"reasoning_content": SECRET}, []),
    "reasoning": ([], {"reasoning": SECRET}, []),
    "marks": (list(in_content("<thi", "nk>")), {"content": SECRET}, list(in_content("</thi", "nk>\n\n"))),
    "harmony": (
        list(in_content("<|channel|>analysis<|message|>")),
        {"content": SECRET},
        list(in_content("<|end|><|start|>assistant", "<|channel|>final<|message|>")),
    ),
    "harmony without marks": (list(in_content("analysis")), {"content": SECRET}, list(in_content("assistantfinal"))),
}


async def test_thoughts_are_bridged_and_never_heard_and_the_answer_comes_after_them(tmp_path: Path) -> None:
    goes_on: dict[str, asyncio.Event] = {form: asyncio.Event() for form in THOUGHTS}

    def answer(messages: list[Delta]) -> Script:
        form = messages[-1]["content"]
        begin, thought, end = THOUGHTS[form]
        return [*begin, Until(goes_on[form], thought), *end, *in_content("It is ", "noon.")]

    async with call(tmp_path, answer, "reply_timeout_s: 2, reply_filler_after_ms: 2500") as (model, dialogue):
        for form, event in goes_on.items():
            since = type_text(dialogue, form)
            await heard(dialogue, since, FILLER)
            event.set()
            assert await answered(dialogue, since) == f"{FILLER} It is noon.", form
        assert not dialogue.errors
        assert not any(SECRET.strip() in str(event.data) for event in dialogue.events_since(0))
        assert SECRET.strip() not in str(model.requests[-1]["messages"])


async def test_a_model_that_hangs_is_bridged_before_the_apology(tmp_path: Path) -> None:
    never = asyncio.Event()
    limits = ", first_token_timeout_s: 4, inactivity_timeout_s: 4"

    def answer(messages: list[Delta]) -> Script:
        return [*in_content(*(("Well, ",) if messages[-1]["content"] == "stall" else ())), Until(never)]

    async with call(tmp_path, answer, "reply_filler_after_ms: 1500", limits) as (_, dialogue):
        assert await answered(dialogue, type_text(dialogue, "hang")) == f"{FILLER} {APOLOGY}"
        said = await answered(dialogue, type_text(dialogue, "stall"))
        assert said.replace("Well, ", "") == f"{FILLER} {APOLOGY}"


async def test_a_sentence_is_heard_while_the_model_pauses_behind_it(tmp_path: Path) -> None:
    goes_on: dict[str, asyncio.Event] = {}
    sentences = ("It is noon.", "Great!", "Ask for Dr.", "You have 3.", 'He said "no.', "Let me see...")

    def answer(messages: list[Delta]) -> Script:
        text = messages[-1]["content"]
        return [*in_content(*text.partition(" ")), Until(goes_on.setdefault(text, asyncio.Event())), *in_content(" And more.")]

    async with call(tmp_path, answer, "reply_filler_after_ms: 0") as (_, dialogue):
        for text in sentences:
            since = type_text(dialogue, text)
            await heard(dialogue, since, text)
            goes_on[text].set()
            assert await answered(dialogue, since) == f"{text} And more."


async def test_what_stands_before_a_long_tool_call_is_heard_while_it_is_written(tmp_path: Path) -> None:
    written, name = asyncio.Event(), {"index": 0, "id": "c", "function": {"name": "save_answer", "arguments": ""}}
    more: Delta = {"tool_calls": [{"index": 0, "function": {"arguments": " "}}]}
    end: Delta = {"tool_calls": [{"index": 0, "function": {"arguments": '{"q": 1}'}}]}

    def answer(messages: list[Delta]) -> Script:
        if messages[-1]["role"] == "tool":
            return list(in_content("It is saved."))
        return [*in_content("Let me write ", "that down for you"), {"tool_calls": [name]}, Until(written, more), end]

    guards = "reply_filler_after_ms: 0"
    async with call(tmp_path, answer, guards) as (_, dialogue):
        since = type_text(dialogue, "Save it.")
        await heard(dialogue, since, "Let me write that down for you")
        written.set()
        assert await answered(dialogue, since) == "Let me write that down for you It is saved."
