"""One answer of the Chat Completions, as it is written: the events of its stream, which are kept for a while so that a reader
whose connection was lost can go on, and the whole of it at its end."""

from __future__ import annotations

import asyncio
import json
import time

from voiceagent.call.written_leg import AnswerCall, AnswerEnd, AnswerFailed, AnswerPart, AnswerText, WrittenLeg
from voiceagent.conversation.history import Message, ToolCall
from voiceagent.json_types import JsonObject
from voiceagent.realtime.chat_request import ChatRequest
from voiceagent.server.http.chat_memory import ChatMemory
from voiceagent.server.http.problems import Problem

DONE = b"[DONE]"
UNAVAILABLE = ("server_stopping", "llm_failed", "reply_timeout")
"""Failures after which another try may succeed."""


class ChatAnswer:
    """The answer to one request. Make it inside the event loop."""

    def __init__(self, asked: ChatRequest, owner: tuple[str, str], body: bytes, memory: ChatMemory) -> None:
        """`owner` is the client, and `body` the hash of its request: only both together are let go on."""
        self.id = ""
        """Set once the call has begun."""
        self.owner, self.body = owner, body
        self.leg: WrittenLeg
        self.size_bytes = 0
        self.readers = 0
        self.failure: AnswerFailed | None = None
        self._asked = asked
        self._memory = memory
        self._created = int(time.time())
        self._events: list[bytes] = []
        self._changed = asyncio.Event()
        self._text = ""
        self._calls: list[ToolCall] = []
        self._end: AnswerEnd | None = None

    async def make_leg(self) -> WrittenLeg:
        """The leg of its call."""
        self.leg = WrittenLeg(self._memory.recall(self.owner, self._asked.messages), self._asked.tools, self.take)
        return self.leg

    @property
    def is_over(self) -> bool:
        """True once nothing more comes."""
        return self._end is not None or self.failure is not None

    def take(self, part: AnswerPart) -> None:
        """Take the next part."""
        match part:
            case AnswerText(text):
                self._text += text
                self._chunk({"content": text})
            case AnswerCall(call):
                self._chunk({"tool_calls": [{"index": len(self._calls), **_shown(call)}]})
                self._calls.append(call)
            case AnswerEnd(reason):
                self._end = part
                answer = Message("assistant", " ".join(self._text.split()), tuple(self._calls))
                self._memory.keep(self.owner, self._asked.messages, answer, part)
                self._chunk({}, reason)
                if self._asked.counts:
                    self._put(self._head("chat.completion.chunk") | {"choices": [], "usage": self._usage()})
                self._keep(DONE)
            case AnswerFailed():
                self.failure = part
                self._put(self.problem().body())
        self._changed.set()

    def problem(self) -> Problem:
        """The failure, as an error."""
        code, message = ("failed", "There is no answer.") if self.failure is None else (self.failure.code, self.failure.message)
        return Problem(503 if code in UNAVAILABLE else 500, code, message)

    async def after(self, number: int) -> list[tuple[int, bytes]]:
        """The events behind this one. Waits for the next; none is the end."""
        while number >= len(self._events) and not self.is_over:
            self._changed.clear()
            await self._changed.wait()
        return list(enumerate(self._events[number:], number + 1))

    async def over(self) -> None:
        """Wait until nothing more comes."""
        while not self.is_over:
            self._changed.clear()
            await self._changed.wait()

    def whole(self) -> JsonObject:
        """The answer that is over."""
        reason = None if self._end is None else self._end.reason
        message: JsonObject = {"role": "assistant", "content": self._text or None, "refusal": None}
        message |= {"tool_calls": [_shown(call) for call in self._calls]} if self._calls else {}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
        return self._head("chat.completion") | {"choices": [choice], "usage": self._usage()}

    def _chunk(self, delta: JsonObject, reason: str | None = None) -> None:
        delta = delta if self._events else {"role": "assistant", **delta}
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        usage = {"usage": None} if self._asked.counts else {}
        self._put(self._head("chat.completion.chunk") | {"choices": [choice]} | usage)

    def _put(self, event: JsonObject) -> None:
        self._keep(json.dumps(event, separators=(",", ":")).encode())

    def _keep(self, event: bytes) -> None:
        self._events.append(event)
        self.size_bytes += len(event)

    def _head(self, kind: str) -> JsonObject:
        return {"id": self.id, "object": kind, "created": self._created, "model": self._asked.model}

    def _usage(self) -> JsonObject:
        end = self._end or AnswerEnd("stop")
        return {
            "prompt_tokens": end.prompt_tokens,
            "completion_tokens": end.tokens,
            "total_tokens": end.prompt_tokens + end.tokens,
        }


def _shown(call: ToolCall) -> JsonObject:
    return {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
