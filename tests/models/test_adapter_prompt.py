"""The chat template of the small language model's adapter: what the trainer feeds is what a call prompts."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from models.train.adapter_prompt import TEMPLATE, message_text, prompt_text
from models.train.tools.conversations import example
from models.train.tools.talk import Message as Made
from voiceagent.conversation.history import Message, ToolCall
from voiceagent.llm.chat.chat_template import ChatTemplate

BOOK: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "book_table",
        "description": "Book a table.",
        "parameters": {
            "type": "object",
            "properties": {
                "people": {"type": "integer"},
                "day": {"type": "string", "description": "as said"},
                "kind": {"enum": ["inside", "outside"]},
                "age": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
                "dishes": {"type": "array", "items": {"type": "string"}},
                "note": {},
            },
            "required": ["people", "day"],
        },
    },
}
BARE: dict[str, Any] = {"type": "function", "function": {"name": "bye", "description": "", "parameters": {}}}
CALLS = (ToolCall("a", "book_table", '{"people": 2, "day": "Friday"}'), ToolCall("b", "bye", "{}"))


@pytest.fixture
def template(tmp_path: Path) -> ChatTemplate:
    shutil.copy(TEMPLATE, tmp_path / "chat_template.jinja")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<|im_end|>", "bos_token": "<|im_start|>"}))
    return ChatTemplate(tmp_path, {}, frozenset({"<|im_start|>", "<|im_end|>", "<|endoftext|>"}))


def test_its_calls_are_read_as_hermes(template: ChatTemplate) -> None:
    assert template.no_tools == ""
    assert template.form is not None
    assert template.form.name == "hermes"


def test_tools_are_listed_as_signatures(template: ChatTemplate) -> None:
    text = template.text([Message("system", "Be brief."), Message("user", "Hi.")], [BOOK, BARE])
    signature = 'people: integer, day: string (as said), kind?: "inside"|"outside", age?: integer, dishes?: string[], note?: any'
    listed = f"Tools:\nbook_table({signature}) Book a table.\nbye()"
    assert text == f"<|im_start|>system\nBe brief.\n{listed}<|im_end|>\n<|im_start|>user\nHi.<|im_end|>\n<|im_start|>assistant\n"


def test_calls_and_results_are_rendered_in_their_order(template: ChatTemplate) -> None:
    talk = [
        Message("user", "A table for two on Friday, and bye."),
        Message("assistant", "", CALLS),
        Message("tool", '{"ok": true}', tool_call_id="a"),
        Message("tool", "{}", tool_call_id="b"),
        Message("assistant", "Booked. Bye."),
        Message("user", "Oh."),
    ]
    text = template.text(talk, [])
    first = '<tool_call>{"name": "book_table", "arguments": {"people": 2, "day": "Friday"}}</tool_call>'
    second = '<tool_call>{"name": "bye", "arguments": {}}</tool_call>'
    expected = [
        ("user", "A table for two on Friday, and bye."),
        ("assistant", f"{first}\n{second}"),
        ("tool", '{"ok": true}'),
        ("tool", "{}"),
        ("assistant", "Booked. Bye."),
        ("user", "Oh."),
    ]
    assert text == "".join(f"<|im_start|>{role}\n{said}<|im_end|>\n" for role, said in expected) + "<|im_start|>assistant\n"


def as_history(messages: Sequence[Made]) -> list[Message]:
    """A generated conversation as a call keeps it."""
    found: list[Message] = []
    waiting: list[str] = []
    for message in messages:
        functions = [call["function"] for call in message.get("tool_calls", ())]
        calls = tuple(ToolCall(f"call_{len(found)}_{n}", f["name"], json.dumps(f["arguments"])) for n, f in enumerate(functions))
        waiting += [call.call_id for call in calls]
        call_id = waiting.pop(0) if message["role"] == "tool" else ""
        found.append(Message(message["role"], message["content"], calls, call_id))
    return found


def test_a_call_prompts_byte_for_byte_what_the_trainer_feeds(template: ChatTemplate) -> None:
    rng = random.Random(12)
    for agent, conversations in (example(rng, 5) for _ in range(40)):
        system = [Message("system", agent.instructions)] if agent.instructions else []
        for messages in conversations:
            fed = prompt_text(agent) + "".join("".join(message_text(message)) + "\n" for message in messages)
            prompted = template.text([*system, *as_history(messages)], agent.schemas)
            assert prompted == fed + "<|im_start|>assistant\n"
