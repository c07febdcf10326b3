"""A language model with a fallback: the fallback answers what the first one fails to begin, goes on where it stops in the middle
of a reply, and answers whatever is asked in the seconds after that, so that a dead server is not waited for in every turn."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from voiceagent.conversation.history import Message
from voiceagent.errors import EngineError
from voiceagent.llm.engine import Generated, GeneratedText, KvCapacity, LlmEngine, ToolSchema, Unfinished, Urgency, no_tools

log = logging.getLogger(__name__)

REST_S = 10.0
"""So long the fallback answers everything, before the first one is tried again."""


class FallbackEngine:
    """Implements `LlmEngine` by two others."""

    def __init__(self, first: LlmEngine, fallback: LlmEngine) -> None:
        self._first = first
        self._fallback = fallback
        self._failed_s = float("-inf")
        self.failures = 0
        """Replies that the fallback gave because the first one failed."""

    @property
    def _now(self) -> LlmEngine:
        return self._fallback if time.monotonic() - self._failed_s < REST_S else self._first

    async def generate(
        self, call_id: str, messages: Sequence[Message], tools: Sequence[ToolSchema], urgency: Urgency = Urgency.REPLY
    ) -> AsyncGenerator[Generated, None]:
        """See `LlmEngine.generate`. What fails in the middle is gone on with, for the caller has heard its beginning; with a tool
        that was asked for it fails."""
        engine, said = self._now, ""
        if engine is self._first:
            called = False
            try:
                async with aclosing(engine.generate(call_id, messages, tools, urgency)) as stream:
                    async for piece in stream:
                        if isinstance(piece, GeneratedText):
                            said += piece.text
                        else:
                            called = True
                        yield piece
                return
            except EngineError as error:
                self._failed_s = time.monotonic()
                if called:
                    raise
                self.failures += 1
                log.warning("the fallback language model answers for %g s: %s", REST_S, error)
        asked = (*messages, Unfinished("assistant", said)) if said.strip() else messages
        at_space = said[-1:].isspace()
        async with aclosing(self._fallback.generate(call_id, asked, tools, urgency)) as stream:
            async for piece in stream:
                if at_space and isinstance(piece, GeneratedText):
                    piece, at_space = GeneratedText(piece.text.lstrip()), False
                yield piece

    async def prefill(self, call_id: str, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> None:
        """See `LlmEngine.prefill`."""
        await self._now.prefill(call_id, messages, tools)

    async def ending_chance(self, call_id: str, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> float | None:
        """See `LlmEngine.ending_chance`: of whichever answers."""
        return await self._now.ending_chance(call_id, messages, tools)

    @property
    def load(self) -> float:
        """See `LlmEngine.load`."""
        return self._now.load

    @property
    def no_tools(self) -> str:
        """See `no_tools`: of whichever cannot."""
        return no_tools(self._first) or no_tools(self._fallback)

    @property
    def problems(self) -> dict[str, int]:
        """See `LlmEngine.problems`."""
        return {**self._first.problems, **self._fallback.problems, "fallback_answered": self.failures}

    async def kv_capacity(self) -> KvCapacity | None:
        """See `LlmEngine.kv_capacity`: of the first one, while it answers."""
        return await self._now.kv_capacity()

    async def forget(self, call_id: str) -> None:
        """See `LlmEngine.forget`."""
        await self._first.forget(call_id)
        await self._fallback.forget(call_id)

    async def close(self) -> None:
        """See `LlmEngine.close`."""
        await self._first.close()
        await self._fallback.close()
