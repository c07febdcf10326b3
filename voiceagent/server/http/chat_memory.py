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


@dataclass(frozen=True, slots=True)
class KeepLimits:
    """The limits of what is kept of answers. The oldest are forgotten first."""

    seconds: float
    answers: int
    size_bytes: int


REMEMBERED = KeepLimits(600.0, 1_000, 4 * 2**20)


@dataclass(frozen=True, slots=True)
class _Remembered:
    """The facts that belong to an answer besides its text."""

    until_s: float
    size_bytes: int
    ran: tuple[Message, ...]
    confirming: ToolCall | None


class ChatMemory:
    """One per server. Use it inside the event loop."""

    def __init__(self, limits: KeepLimits = REMEMBERED) -> None:
        self._limits = limits
        self._known: OrderedDict[bytes, _Remembered] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._known)

    def recall(self, owner: tuple[str, str], messages: tuple[Message, ...]) -> tuple[WrittenMessage, ...]:
        """The conversation with what the agent's tools did in it."""
        self._forget_old()
        said, found = _hash_of(owner, ()), list[WrittenMessage]()
        for message in messages:
            said.update(_encoded(message))
            known = self._known.get(said.digest()) if message.role == "assistant" else None
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
        until_s = asyncio.get_running_loop().time() + self._limits.seconds
        self._known[key] = _Remembered(until_s, size, end.ran, end.confirming)
        self._bytes += size
        self._forget_old()

    def _forget_old(self) -> None:
        now_s, most = asyncio.get_running_loop().time(), self._limits
        while self._known:
            key, oldest = next(iter(self._known.items()))
            if oldest.until_s > now_s and len(self._known) <= most.answers and self._bytes <= most.size_bytes:
                return
            self._forget(key)

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
