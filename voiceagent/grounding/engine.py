"""An engine around a language model that invents, which checks the model's words against what was said. An argument that nobody
said is asked for before a tool runs, or left out if the tool does not need it. A call of a missing tool is not passed on. After
a tool's run, its result is spoken.

A caller's question in place of an answer to the agent's: "For how many people?" – "Do you have a terrace?" It is answered, and
the agent's stays open. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing

from msgspec.structs import replace
from typing_extensions import override

from voiceagent.conversation.history import Message, ToolCall, read_arguments
from voiceagent.grounding.language import GroundingWords
from voiceagent.grounding.limits import ModelLimits, has_all_tools
from voiceagent.grounding.replies import ReplyCheck, question
from voiceagent.grounding.said import Said, check
from voiceagent.grounding.words import words_of
from voiceagent.json_types import JsonObject
from voiceagent.llm.engine import (
    Generated,
    GeneratedText,
    HistoryLimits,
    KvCapacity,
    LlmEngine,
    LlmSession,
    Lull,
    ToolSchema,
    Unfinished,
    Urgency,
    no_forcing,
    prompt_text,
)
from voiceagent.llm.engine import check as check_engine

_LAST_QUESTION = re.compile(r"[^.!?…]*\?\s*\Z")


def is_aside(call: ToolCall, messages: Sequence[Message], language: GroundingWords) -> bool:
    """True if a call that lacks arguments follows a question of the caller's that says none of them, while the agent waits for an
    answer to a question of its own."""
    if not messages or messages[-1].role != "user" or not open_question(messages):
        return False
    last = messages[-1].content
    words = words_of(last, language)
    if not last.rstrip().endswith("?") and not (words and words[0].text in language.questions):
        return False
    given = {name: value for name, value in (read_arguments(call.arguments) or {}).items() if _is_of_words(value)}
    return len(check(given, {}, Said(messages[-1:], language), language).unsaid) == len(given)


def open_question(messages: Sequence[Message]) -> str:
    """The question with which the agent's last words end; empty if they end otherwise, or are its greeting."""
    before = messages[:-1]
    said = next((one.content for one in reversed(before) if one.role == "assistant" and one.content.strip()), "")
    found = _LAST_QUESTION.search(said) if any(one.role == "user" for one in before) else None
    return found[0].strip() if found else ""


def _is_of_words(value: object) -> bool:
    return value not in (None, "", [], {}) and not isinstance(value, bool)


class GroundedEngine(LlmEngine):
    """Implements `LlmEngine` around another engine."""

    def __init__(self, inner: LlmEngine, limits: ModelLimits, language: GroundingWords) -> None:
        self.inner = inner
        self._limits = limits
        self._language = language
        self._counted: Counter[str] = Counter()

    @override
    def open(self, call_id: str) -> GroundedSession:
        return GroundedSession(self.inner.open(call_id), self._limits, self._language, self._counted)

    @property
    @override
    def load(self) -> float:
        return self.inner.load

    @property
    def problems(self) -> dict[str, int]:
        """See `LlmEngine.problems`: what was asked for, put right or replaced."""
        return {**self.inner.problems, **self._counted}

    @property
    @override
    def limits(self) -> HistoryLimits:
        return self.inner.limits

    @override
    async def kv_capacity(self) -> KvCapacity | None:
        return await self.inner.kv_capacity()

    @property
    def no_forcing(self) -> str:
        """See `llm.engine.no_forcing`."""
        return no_forcing(self.inner)

    async def check(self) -> None:
        """See `llm.engine.check`."""
        await check_engine(self.inner)

    @override
    async def close(self) -> None:
        await self.inner.close()


class GroundedSession(LlmSession):
    """Implements `LlmSession` by another."""

    def __init__(self, inner: LlmSession, limits: ModelLimits, language: GroundingWords, counted: Counter[str]) -> None:
        """`counted` counts what was asked for, put right or replaced."""
        self._inner = inner
        self._limits = limits
        self._language = language
        self._counted = counted

    @property
    def prompt_text(self) -> str:
        """See `llm.engine.prompt_text`."""
        return prompt_text(self._inner)

    async def generate(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], urgency: Urgency = Urgency.REPLY, must_call: str = ""
    ) -> AsyncGenerator[Generated, None]:
        """See `LlmSession.generate`. A summary is not checked, nor is the rest of a reply that another engine began, nor a call
        that must come."""
        if must_call:
            async with aclosing(self._inner.generate(messages, tools, urgency, must_call)) as forced:
                async for piece in forced:
                    yield piece
            return
        replies = None
        goes_on = bool(messages) and isinstance(messages[-1], Unfinished)
        if self._limits.checks_replies and urgency is not Urgency.AHEAD and not goes_on:
            replies = ReplyCheck(self._limits, messages, self._language, has_all_tools=has_all_tools(self._limits, tools))
        called = spoke = aside = False
        async with aclosing(self._inner.generate(messages, tools, urgency)) as stream:
            async for piece in stream:
                text = _passed(piece, replies)
                if text:
                    spoke = True
                    yield GeneratedText(text)
                if isinstance(piece, ToolCall):
                    checked = self._checked(piece, messages, tools, is_first=not called)
                    asks = bool(tools) and not called and isinstance(checked, GeneratedText)
                    aside = asks and is_aside(piece, messages, self._language)
                    if aside:
                        break
                    if isinstance(checked, ToolCall):
                        called = True
                    elif called:  # the model asks for it again when it has read the other's result
                        return
                    yield checked
                    if not called:
                        return
                elif not isinstance(piece, GeneratedText):
                    yield piece
                elif replies and replies.instead is not None:
                    break
        if aside:
            async for piece in self._answer_aside(messages, urgency):
                yield piece
        elif replies is not None and not called:
            for text in self._end_of(replies, spoke=spoke):
                yield GeneratedText(text)

    def _end_of(self, replies: ReplyCheck, *, spoke: bool) -> Iterator[str]:
        """Yields the rest of a reply that no text follows."""
        if text := replies.finish():
            spoke = True
            yield text
        if replies.instead is not None:
            self._counted["reply_replaced"] += 1
        if replies.instead:
            yield f" {replies.instead}" if spoke else replies.instead

    async def _answer_aside(self, messages: Sequence[Message], urgency: Urgency) -> AsyncGenerator[Generated, None]:
        """The answer to a question that the caller asked in place of an answer: without tools, then our question once more."""
        self._counted["aside_answered"] += 1
        async with aclosing(self.generate(messages, (), urgency)) as stream:
            async for piece in stream:
                yield piece
        yield GeneratedText(f" {open_question(messages)}")

    def _checked(self, call: ToolCall, messages: Sequence[Message], tools: Sequence[ToolSchema], *, is_first: bool) -> Generated:
        """The call as it may run, or what to say instead. If a further call of the same answer lacks arguments, that was already
        said for the first."""
        schema = next((tool["function"] for tool in tools if tool["function"]["name"] == call.name), None)
        if schema is None:
            self._counted["unknown_tool"] += 1
            return GeneratedText(self._language.cannot)
        given = read_arguments(call.arguments)
        if self._limits.arguments != "said" or given is None:  # a call that cannot be read is refused by the tool
            return call
        parameters: JsonObject = schema.get("parameters") or {}
        checked = check(given, parameters, Said(messages, self._language, self._limits.means), self._language)
        needed = [name for name in checked.unsaid if name in parameters.get("required", ()) or not is_first]
        if checked.unsaid:
            self._counted["unsaid_argument"] += 1
        if needed:
            return GeneratedText(question(needed, parameters, self._limits, self._language))
        checked = checked.without(checked.unsaid)
        if not checked.mended:
            return call
        self._counted["argument_as_said"] += 1
        return replace(call, arguments=checked.text)

    @override
    async def prefill(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> None:
        await self._inner.prefill(messages, tools)

    @override
    async def ending_chance(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> float | None:
        return await self._inner.ending_chance(messages, tools)

    @override
    async def close(self) -> None:
        await self._inner.close()


def _passed(piece: Generated, replies: ReplyCheck | None) -> str:
    """The text that may be said after this piece."""
    if isinstance(piece, GeneratedText):
        return replies.add(piece.text) if replies else piece.text
    if replies is None:
        return ""
    return replies.flush() if isinstance(piece, ToolCall) or (isinstance(piece, Lull) and piece.writes_call) else replies.pause()
