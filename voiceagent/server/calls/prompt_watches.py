"""The prompts of running calls, for operators who ask to see them. While nobody asks, nothing is made of them. A prompt goes into
the bounded queue of each watcher, and nowhere else: no log, no store and no metric gets it."""

from __future__ import annotations

import json
from collections.abc import Callable

from typing_extensions import override

from voiceagent.call.observer import CallObserver
from voiceagent.conversation.history import Message
from voiceagent.json_types import JsonObject
from voiceagent.llm.sent_prompt import SentPrompt
from voiceagent.server.calls.monitors import Monitor

MAX_WATCHERS = 8
"""The most watchers of a server."""
MAX_MESSAGES, MAX_TOOLS = 60, 64
MAX_CHARACTERS, MAX_TEXT_CHARACTERS = 8_000, 60_000
"""The most of a message, and of the whole text. What is left out is marked."""
MAX_LINE_BYTES = 120_000
"""The longest JSON of a prompt. A longer one loses its text, then its tools, then its messages."""


class PromptWatches:
    """The watchers of the prompts of running calls."""

    def __init__(self, dropped: Callable[[str], None]) -> None:
        """`dropped` counts what full queues drop."""
        self._watched: dict[str, set[Monitor]] = {}
        self._dropped = dropped

    def __len__(self) -> int:
        """The number of watchers."""
        return sum(map(len, self._watched.values()))

    def of_call(self, call_id: str) -> CallObserver:
        """The observer of a call that begins."""
        return _CallPrompts(call_id, self)

    def follow(self, call_id: str) -> Monitor:
        """A new watcher of a running call, which gets each prompt from now on."""
        monitor = Monitor()
        self._watched.setdefault(call_id, set()).add(monitor)
        return monitor

    def leave(self, call_id: str, monitor: Monitor) -> None:
        """The watcher has gone."""
        watchers = self._watched.get(call_id, set())
        watchers.discard(monitor)
        if not watchers:
            self._watched.pop(call_id, None)

    def show(self, call_id: str, prompt: SentPrompt) -> None:
        """Hand a prompt to the call's watchers."""
        watchers = self._watched.get(call_id)
        if not watchers:
            return
        line = prompt_line(prompt)
        for monitor in tuple(watchers):
            if monitor.put((0, line)):
                monitor.wake()
            else:
                self.leave(call_id, monitor)
                self._dropped("monitors")

    def end(self, call_id: str) -> None:
        """The call is over."""
        for monitor in self._watched.pop(call_id, ()):
            monitor.end()


class _CallPrompts(CallObserver):
    """The observer of one call."""

    def __init__(self, call_id: str, watches: PromptWatches) -> None:
        self._call_id = call_id
        self._watches = watches

    @override
    def prompted(self, prompt: SentPrompt) -> None:
        self._watches.show(self._call_id, prompt)

    @override
    def ended(self) -> None:
        self._watches.end(self._call_id)


def prompt_line(prompt: SentPrompt) -> bytes:
    """The JSON of a prompt, of a bounded length. `cut` names what is not whole."""
    messages, tools = list(prompt.messages), list(prompt.tools)[:MAX_TOOLS]
    shown = messages if len(messages) <= MAX_MESSAGES else [messages[0], *messages[1 - MAX_MESSAGES :]]
    cut = [
        name
        for name, is_cut in (
            ("messages", len(shown) < len(messages) or any(len(one.prompted) > MAX_CHARACTERS for one in shown)),
            ("tools", len(tools) < len(prompt.tools)),
            ("text", len(prompt.text) > MAX_TEXT_CHARACTERS),
        )
        if is_cut
    ]
    found: JsonObject = {
        "type": "prompt",
        "reply": prompt.reply_id,
        "speculative": prompt.is_speculative,
        "must_call": prompt.must_call,
        "tokens": {"prompt": prompt.count.prompt, "generated": prompt.count.generated, "cached": prompt.count.cached},
        "messages": [_message(one) for one in shown],
        "tools": tools,
        "text": _cut(prompt.text, MAX_TEXT_CHARACTERS),
        "cut": cut,
    }
    for name, nothing in (("text", ""), ("tools", []), ("messages", [])):
        line = json.dumps(found).encode()
        if len(line) <= MAX_LINE_BYTES:
            return line
        found[name] = nothing
        found["cut"] = [*(one for one in found["cut"] if one != name), name]
    return json.dumps(found).encode()


def _message(message: Message) -> JsonObject:
    shown: JsonObject = {"role": message.role, "content": _cut(message.prompted, MAX_CHARACTERS)}
    if message.tool_calls:
        shown["tool_calls"] = [
            {"id": call.call_id, "name": call.name, "arguments": _cut(call.arguments, MAX_CHARACTERS)}
            for call in message.tool_calls
        ]
    if message.tool_call_id:
        shown["tool_call_id"] = message.tool_call_id
    return shown


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]} … [{len(text) - most} characters more]"
