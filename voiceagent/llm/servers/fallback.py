"""A language model with a fallback. The fallback answers if the first model fails, and continues a reply in which the first model
stops. It also answers everything in the seconds after a failure, so that not every turn waits for a dead server."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from typing_extensions import override

from voiceagent.conversation.history import Message, ToolCall, estimated_tokens
from voiceagent.errors import EngineError
from voiceagent.llm.chat.call_prompt import LeftOut, after_instructions
from voiceagent.llm.engine import (
    Generated,
    GeneratedText,
    HistoryLimits,
    KvCapacity,
    LlmEngine,
    LlmSession,
    ToolSchema,
    Unfinished,
    Urgency,
    check,
    forced_call,
    no_forcing,
    no_tools,
    prompt_text,
)

log = logging.getLogger(__name__)

REST_S = 10.0
"""The time for which the fallback answers everything before the first model is tried again."""


class FallbackEngine(LlmEngine):
    """Implements `LlmEngine` with two others."""

    def __init__(self, first: LlmEngine, fallback: LlmEngine) -> None:
        self.first = first
        self.fallback = fallback
        self._failed_s = float("-inf")
        self.failures = 0
        """Replies that the fallback gave because the first model failed."""

    @property
    def uses_fallback(self) -> bool:
        """True for `REST_S` after the first model failed."""
        return time.monotonic() - self._failed_s < REST_S

    @property
    def _now(self) -> LlmEngine:
        return self.fallback if self.uses_fallback else self.first

    @override
    def open(self, call_id: str) -> FallbackSession:
        return FallbackSession(self, call_id)

    def failed(self) -> None:
        """Note that the first model failed now."""
        self._failed_s = time.monotonic()

    @property
    @override
    def load(self) -> float:
        return self._now.load

    @property
    def limits(self) -> HistoryLimits:
        """See `LlmEngine.limits`. They are those of the first model. The fallback gets a shorter history if its own limits are
        lower."""
        return self.first.limits

    @property
    def no_tools(self) -> str:
        """See `no_tools`. Either model may be unable to use tools."""
        return no_tools(self.first) or no_tools(self.fallback)

    @property
    def no_forcing(self) -> str:
        """See `no_forcing`. Either model may have to call."""
        return no_forcing(self.first) or no_forcing(self.fallback)

    @property
    @override
    def problems(self) -> dict[str, int]:
        return {**self.first.problems, **self.fallback.problems, "fallback_answered": self.failures}

    async def kv_capacity(self) -> KvCapacity | None:
        """See `LlmEngine.kv_capacity`. It is that of the model that answers now."""
        return await self._now.kv_capacity()

    async def check(self) -> None:
        """See `llm.engine.check`. One working model is enough."""
        try:
            await check(self.first)
        except EngineError:
            await check(self.fallback)

    @override
    async def close(self) -> None:
        await self.first.close()
        await self.fallback.close()


class FallbackSession(LlmSession):
    """Implements `LlmSession` with a session of each model. The fallback's session opens when it is needed."""

    def __init__(self, engine: FallbackEngine, call_id: str) -> None:
        self._engine = engine
        self._call_id = call_id
        self._first = engine.first.open(call_id)
        self._fallback: LlmSession | None = None
        self._left_out = LeftOut()
        """The turns that are left out for the fallback."""
        self._closed = False

    def _begun_fallback(self) -> LlmSession:
        if self._closed:
            raise EngineError("the call has ended")
        if self._fallback is None:
            self._fallback = self._engine.fallback.open(self._call_id)
        return self._fallback

    @property
    def _now(self) -> LlmSession:
        return self._begun_fallback() if self._engine.uses_fallback else self._first

    @property
    def prompt_text(self) -> str:
        """See `llm.engine.prompt_text`."""
        answers = self._fallback if self._engine.uses_fallback else None
        return prompt_text(answers or self._first)

    async def generate(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], urgency: Urgency = Urgency.REPLY, must_call: str = ""
    ) -> AsyncGenerator[Generated, None]:
        """See `LlmSession.generate`. The fallback continues a reply that fails in the middle, because the caller has heard its
        beginning. A reply that has called a tool fails."""
        said, forced = "", forced_call(must_call)
        if not self._engine.uses_fallback:
            called = False
            try:
                async with aclosing(self._first.generate(messages, tools, urgency, **forced)) as stream:
                    async for piece in stream:
                        if isinstance(piece, GeneratedText):
                            said += piece.text
                        elif isinstance(piece, ToolCall):
                            called = True
                        yield piece
                return
            except EngineError as error:
                if self._closed:  # this conversation has ended, and the model is well
                    raise
                self._engine.failed()
                if called:
                    raise
                self._engine.failures += 1
                log.warning("the fallback language model answers for %g s: %s", REST_S, error)
        asked = (*messages, Unfinished("assistant", said)) if said.strip() else messages
        at_space = said[-1:].isspace()
        async with aclosing(self._begun_fallback().generate(self._fitted(asked), tools, urgency, **forced)) as stream:
            async for piece in stream:
                if at_space and isinstance(piece, GeneratedText):
                    piece, at_space = GeneratedText(piece.text.lstrip()), False
                yield piece

    def _fitted(self, messages: Sequence[Message]) -> Sequence[Message]:
        """The part of the conversation that fits the fallback's limits."""
        if not self._engine.uses_fallback or (most := self._engine.fallback.limits.history_tokens) is None:
            return messages
        first = after_instructions(messages)
        kept = self._left_out.kept(messages)
        while estimated_tokens(kept[first:]) > most and self._left_out.leave_out(messages):
            kept = self._left_out.kept(messages)
        return kept

    @override
    async def prefill(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> None:
        await self._now.prefill(self._fitted(messages), tools)

    async def ending_chance(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> float | None:
        """See `LlmSession.ending_chance`. The model that answers now is asked."""
        return await self._now.ending_chance(self._fitted(messages), tools)

    @override
    async def close(self) -> None:
        self._closed = True
        await self._first.close()
        if self._fallback is not None:
            await self._fallback.close()
