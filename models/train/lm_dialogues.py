"""Makes the language model's training and held-out conversations: a caller drawn from `domain`, answered by rule.

Out comes a list of chat messages in the OpenAI shape (system, user, assistant with tool calls, tool). The caller asks,
leaves things out, answers questions, corrects himself, follows up, chats, interrupts and says things out of domain;
what the recogniser would do to his words is done too.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NotRequired, TypedDict

from models.train import domain, phrases
from models.train import lm_replies as replies


class Function(TypedDict):
    """A tool by its name, with the arguments of a call."""

    name: str
    arguments: dict[str, domain.SlotValue]


class Called(TypedDict):
    """A call of a tool."""

    type: Literal["function"]
    function: Function


class Message(TypedDict):
    """One of a conversation, in the OpenAI shape."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: NotRequired[list[Called]]


_REQUEST_WEIGHTS = {
    "get_time": 9, "get_date": 3, "get_weather": 13, "book_table": 20, "book_appointment": 16, "change_booking": 10,
    "cancel_booking": 5, "order_status": 11, "calculate": 12, "set_timer": 8, "cancel_timer": 3,
}  # fmt: skip
_CHANGES = {
    "get_time": ["city"],
    "get_weather": ["city", "day", "city day"],
    "order_status": ["order_number"],
    "set_timer": ["minutes"],
    "book_table": ["people", "day", "time", "day time"],
    "book_appointment": ["day", "time", "day time"],
    "change_booking": ["day", "time", "day time"],
}
_ENDS_PENDING = {"stop", "never_mind", "no", "goodbye"}
_KEEPS_QUESTION = {"yes", "okay", "greeting", "compliment", "thanks"}


class Conversation:
    """One simulated call; `turn()` appends what is said and done in one turn to `messages`.

    `accept` says which sentences may be used, `noise` is the share of them that are misheard.
    """

    def __init__(self, rng: random.Random, accept: Callable[[str], bool], noise: float) -> None:
        self.rng = rng
        self.accept = accept
        self.noise = noise
        self.messages: list[Message] = []
        self._pending: tuple[str, dict[str, domain.SlotValue], tuple[str, ...]] | None = None
        self._last: tuple[str, dict[str, domain.SlotValue]] | None = None
        self._booked: str | None = None
        self._said: str | None = None
        self._tools = replies.Tools(rng)

    def turn(self, *, request: bool = False) -> None:
        """Let the caller say one thing and the assistant answer it; `request` makes it ask for a tool."""
        draw = self.rng.random()
        if self._pending and not (request and draw < 0.3):
            return self._answer_or_else(draw)
        changeable = self._last is not None and self._last[0] in _CHANGES
        if changeable and draw < 0.4:
            return self._change()
        if request or draw < 0.8:
            return self._request()
        return self._talk() if draw < 0.92 else self._out_of_domain()

    def _request(self) -> None:
        (intent,) = self.rng.choices(list(_REQUEST_WEIGHTS), list(_REQUEST_WEIGHTS.values()))
        utterance = self._draw(phrases.REQUESTS[intent], intent, manners=0.3)
        self._user(utterance.written)
        slots = dict(utterance.slots)
        if intent in ("change_booking", "cancel_booking"):
            slots = {"kind": slots.pop("kind", "") or self._booked or "table", **slots}
        self._complete(intent, slots)

    def _answer_or_else(self, draw: float) -> None:
        assert self._pending is not None
        tool, known, missing = self._pending
        if draw < 0.08:
            return self._talk()
        if draw < 0.13:
            return self._out_of_domain()
        if draw < 0.18:
            return self._request()
        if draw < 0.25 and (known.keys() & phrases.CORRECTIONS.keys()):
            key = self.rng.choice(sorted(known.keys() & phrases.CORRECTIONS.keys()))
            patterns = phrases.CORRECTIONS[key]
        else:
            open_slots = {"day", "time"} if missing == ("change",) else set(missing)
            if missing == ("change",) and known["kind"] == "table":
                open_slots.add("people")
            keys = [key for key in phrases.ANSWERS if set(key.split()) <= open_slots]
            key = self.rng.choices(keys, [2 ** len(k.split()) for k in keys])[0]
            if tool.startswith("book") and self.rng.random() < 0.04:
                key = "name"
            patterns = phrases.ANSWERS[key]
        utterance = self._draw(patterns, "answer", manners=0.15)
        self._user(utterance.written)
        self._complete(tool, {**known, **utterance.slots})
        return None

    def _change(self) -> None:
        assert self._last is not None
        tool, arguments = self._last
        keys = list(_CHANGES[tool])
        if arguments.get("kind") == "table":
            keys.append("people")
        key = self.rng.choice(keys)
        patterns = [*phrases.CORRECTIONS.get(key, [])]
        if tool in ("get_time", "get_weather", "order_status"):
            patterns += phrases.FOLLOW_UPS.get(key, []) * 2 + phrases.ANSWERS[key][:2]
        utterance = self._draw(patterns, "change", manners=0.12)
        self._user(utterance.written)
        if tool.startswith("book"):
            kind = "table" if tool == "book_table" else "appointment"
            self._complete("change_booking", {"kind": kind, **utterance.slots})
        elif tool == "change_booking":
            self._complete(tool, {"kind": arguments["kind"], **utterance.slots})
        else:
            self._complete(tool, {**arguments, **utterance.slots})

    def _talk(self) -> None:
        kinds = [*phrases.TALK, "repeat"] if self._said else [*phrases.TALK]
        kind = self.rng.choice(kinds)
        self._user(self._draw(phrases.TALK[kind], kind, manners=0.1).written)
        if kind == "repeat":
            return self._say(self._said or replies.NOTHING_SAID)
        if self._pending and kind in _KEEPS_QUESTION:
            return self._say(replies.question(self._pending[2]))
        if kind in _ENDS_PENDING:
            self._pending = None
        return self._say(self.rng.choice(replies.TALK_REPLIES[kind]))

    def _out_of_domain(self) -> None:
        while True:
            draw = self.rng.random()
            if draw < 0.3:
                utterance = domain.word_salad(self.rng)
            else:
                utterance = domain.fill(self.rng, self.rng.choice(phrases.OUT_OF_DOMAIN), "out_of_domain")
                utterance = domain.with_manners(self.rng, utterance, 0.15)
            if self.accept(utterance.written):
                break
        self._user(utterance.written)
        self._say(replies.NOT_UNDERSTOOD)

    def _draw(self, patterns: Sequence[str], intent: str, manners: float) -> domain.Utterance:
        while True:
            pattern = self.rng.choice(patterns)
            utterance = domain.with_manners(self.rng, domain.fill(self.rng, pattern, intent), manners)
            if self.accept(utterance.written):
                return utterance

    def _complete(self, tool: str, slots: Mapping[str, domain.SlotValue]) -> None:
        parameters = replies.TOOLS[tool][1]
        arguments = {name: slots[name] for name in parameters if name in slots}
        missing = tuple(name for name, required in parameters.items() if required and name not in slots)
        if tool == "change_booking" and len(arguments) == 1:
            missing = ("change",)
        if missing:
            self._pending = (tool, arguments, missing)
            return self._say(replies.question(missing))
        arguments = self._as_said(arguments)
        self._pending = None
        self._last = (tool, arguments)
        if tool.startswith("book") or tool == "change_booking":
            self._booked = "table" if tool == "book_table" else str(arguments.get("kind", "appointment"))
        self.messages.append(tool_call(tool, arguments))
        result = self._tools.call(tool, arguments)
        self.messages.append({"role": "tool", "content": json.dumps(result)})
        return self._say(replies.reply(tool, arguments, result))

    def _as_said(self, arguments: dict[str, domain.SlotValue]) -> dict[str, domain.SlotValue]:
        """Arguments in the case the transcript has them: a lower-case transcript gives lower-case names."""
        said = " ".join(m["content"] for m in reversed(self.messages) if m["role"] == "user")
        return {
            name: value.lower() if isinstance(value, str) and value not in said and value.lower() in said else value
            for name, value in arguments.items()
        }

    def _user(self, text: str) -> None:
        if self.rng.random() < self.noise:
            heard = domain.as_heard(self.rng, text)
            text = text if domain.is_held_out(heard) else heard
        self.messages.append({"role": "user", "content": text})

    def _say(self, text: str) -> None:
        self._said = text
        self.messages.append({"role": "assistant", "content": text})

    def interrupt(self) -> None:
        """Cut the last reply at a word, as a caller who speaks over it does; sometimes nothing of it was heard."""
        heard = self.messages[-1]["content"].split()
        kept = self.rng.randrange(len(heard))
        if kept:
            self.messages[-1] = {"role": "assistant", "content": " ".join(heard[:kept])}
            self._said = " ".join(heard[:kept])
        else:
            del self.messages[-1]


def tool_call(tool: str, arguments: Mapping[str, domain.SlotValue]) -> Message:
    """The assistant's message that calls `tool`, in the OpenAI shape with the arguments as an object."""
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"type": "function", "function": {"name": tool, "arguments": dict(arguments)}}],
    }


def system_message(rng: random.Random) -> list[Message]:
    return [{"role": "system", "content": rng.choice(replies.SYSTEM_PROMPTS)}]


def train_conversation(rng: random.Random, turns: int, noise: float = 0.25) -> list[Message]:
    """A conversation of `turns` turns in which no held-out sentence is said."""
    conversation = Conversation(rng, lambda text: not domain.is_held_out(text), noise)
    for index in range(turns):
        if index and rng.random() < 0.06:
            conversation.interrupt()
        conversation.turn()
    system = system_message(rng) if turns > 1 or rng.random() < 0.5 else []
    return system + conversation.messages


def held_out_conversation(rng: random.Random, turns: int) -> list[Message]:
    """A conversation whose every sentence with slots is held out, and whose last turn ends in a held-out tool call."""
    while True:
        conversation = Conversation(rng, lambda text: domain.is_held_out(text) or domain.without_slots(text), noise=0.0)
        for index in range(turns):
            conversation.turn(request=index == turns - 1)
        last_user = max(i for i, m in enumerate(conversation.messages) if m["role"] == "user")
        called = "tool_calls" in conversation.messages[last_user + 1]
        if called and domain.is_held_out(conversation.messages[last_user]["content"]):
            return [{"role": "system", "content": replies.SYSTEM_PROMPTS[0]}, *conversation.messages]
