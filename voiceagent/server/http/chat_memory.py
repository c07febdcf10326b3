"""Facts of written conversations that clients cannot bring back: which of the agent's tools ran for an answer, and which call it
asked the caller to confirm. They are found by all that was said before, which the next request repeats."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from dataclasses import dataclass

import msgspec

from voiceagent.call.written_leg import AnswerEnd, WrittenMessage
from voiceagent.conversation.history import Message, ToolCall

KEPT_S = 600.0
MAX_ANSWERS, MAX_BYTES = 1_000, 4 * 2**20
"""Answers that are remembered. The oldest are forgotten first."""


@dataclass(frozen=True, slots=True)
class _Remembered:
    """The facts that belong to an answer besides its text."""

    until_s: float
    size_bytes: int
    ran: tuple[Message, ...]
    confirming: ToolCall | None


class ChatMemory:
    """One per server. Use it inside the event loop."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, _Remembered] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._known)

    def recall(self, owner: tuple[str, str], messages: tuple[Message, ...]) -> tuple[WrittenMessage, ...]:
        """The conversation with what the agent's tools did in it."""
        said, found = _hash_of(owner, ()), list[WrittenMessage]()
        for message in messages:
            said.update(_encoded(message))
            known = self._get(said.digest()) if message.role == "assistant" else None
            found += [WrittenMessage(one) for one in known.ran] if known else []
            found.append(WrittenMessage(message, known.confirming if known else None))
        return tuple(found)

    def keep(self, owner: tuple[str, str], messages: tuple[Message, ...], answer: Message, end: AnswerEnd) -> None:
        """Remember what belongs to the answer to these messages, if anything does."""
        if not end.ran and end.confirming is None:
            return
        size = len(msgspec.json.encode((end.ran, end.confirming)))
        key = _hash_of(owner, (*messages, answer)).digest()
        self._forget(key)
        self._known[key] = _Remembered(asyncio.get_running_loop().time() + KEPT_S, size, end.ran, end.confirming)
        self._bytes += size
        while len(self._known) > MAX_ANSWERS or self._bytes > MAX_BYTES:
            self._forget(next(iter(self._known)))

    def _get(self, key: bytes) -> _Remembered | None:
        known = self._known.get(key)
        return known if known is not None and known.until_s > asyncio.get_running_loop().time() else None

    def _forget(self, key: bytes) -> None:
        if (known := self._known.pop(key, None)) is not None:
            self._bytes -= known.size_bytes


def _hash_of(owner: tuple[str, str], messages: tuple[Message, ...]) -> hashlib._Hash:
    said = hashlib.sha256(msgspec.json.encode(owner))
    for message in messages:
        said.update(_encoded(message))
    return said


def _encoded(message: Message) -> bytes:
    return msgspec.json.encode(message) + b"\n"
