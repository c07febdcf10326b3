"""The text that the adapter learns from: what the chat template writes, in pieces, because a model reads
and writes them apart."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from jinja2 import Template
from jinja2.sandbox import ImmutableSandboxedEnvironment

from models.train.tools.talk import Message

TEMPLATE = Path(__file__).with_name("adapter_chat_template.jinja")


class Prompted(Protocol):
    """An agent as its prompt shows it."""

    @property
    def instructions(self) -> str:
        """What it is told."""
        ...

    @property
    def schemas(self) -> list[dict[str, Any]]:
        """Of its tools, as a chat template takes them."""
        ...


def prompt_text(agent: Prompted) -> str:
    """Instructions and tools, as the chat template writes them."""
    messages = [{"role": "system", "content": agent.instructions}] if agent.instructions else []
    return template().render(messages=messages, tools=agent.schemas or None, add_generation_prompt=False)


def message_text(message: Message) -> tuple[str, str]:
    """A message as the chat template writes it: what opens it, and what its speaker says, with the mark of its end."""
    called = [call["function"] for call in message.get("tool_calls", ())]
    calls = [f'<tool_call>{{"name": {_json(one["name"])}, "arguments": {_json(one["arguments"])}}}</tool_call>' for one in called]
    return f"<|im_start|>{message['role']}\n", "\n".join([*filter(None, [message["content"]]), *calls]) + "<|im_end|>"


@cache
def template() -> Template:
    """The chat template."""
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = _json
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8"))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
