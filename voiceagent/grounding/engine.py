"""An engine around a language model that invents, which checks the model's words against what was said. An argument that nobody
said is asked for before a tool runs, or left out if the tool does not need it. A call of a missing tool is not passed on. What is
spoken after a tool's run is the tool's result."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from voiceagent.conversation.history import Message, ToolCall, read_arguments
from voiceagent.grounding.language import Language
from voiceagent.grounding.limits import ModelLimits, has_all_tools
from voiceagent.grounding.replies import ReplyCheck, question
from voiceagent.grounding.said import Said, check
from voiceagent.llm.engine import Generated, GeneratedText, KvCapacity, LlmEngine, ToolSchema, Unfinished, Urgency


class GroundedEngine:
    """Implements `LlmEngine` around another engine."""

    def __init__(self, inner: LlmEngine, limits: ModelLimits, language: Language) -> None:
        self.inner = inner
        self._limits = limits
        self._language = language
        self._counted: Counter[str] = Counter()

    async def generate(
        self, call_id: str, messages: Sequence[Message], tools: Sequence[ToolSchema], urgency: Urgency = Urgency.REPLY
    ) -> AsyncGenerator[Generated, None]:
        """See `LlmEngine.generate`. A summary is not checked, nor is the rest of a reply that another engine began."""
        replies = None
        goes_on = bool(messages) and isinstance(messages[-1], Unfinished)
        if self._limits.checks_replies and urgency is not Urgency.AHEAD and not goes_on:
            replies = ReplyCheck(self._limits, messages, self._language, has_all_tools=has_all_tools(self._limits, tools))
        called = spoke = False
        async with aclosing(self.inner.generate(call_id, messages, tools, urgency)) as stream:
            async for piece in stream:
                if isinstance(piece, GeneratedText):
                    text = replies.add(piece.text) if replies else piece.text
                else:
                    text = replies.flush() if replies else ""
                if text:
                    spoke = True
                    yield GeneratedText(text)
                if isinstance(piece, ToolCall):
                    checked = self._checked(piece, messages, tools, is_first=not called)
                    if isinstance(checked, ToolCall):
                        called = True
                    elif called:  # the model asks for it again when it has read the other's result
                        return
                    yield checked
                    if not called:
                        return
                elif replies and replies.instead is not None:
                    break
        if replies is None or called:
            return
        if text := replies.finish():
            spoke = True
            yield GeneratedText(text)
        if replies.instead is not None:
            self._counted["reply_replaced"] += 1
        if replies.instead:
            yield GeneratedText(f" {replies.instead}" if spoke else replies.instead)

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
        parameters: Mapping[str, Any] = schema.get("parameters") or {}
        checked = check(given, parameters, Said(messages, self._language), self._language)
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

    async def prefill(self, call_id: str, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> None:
        """See `LlmEngine.prefill`."""
        await self.inner.prefill(call_id, messages, tools)

    async def ending_chance(self, call_id: str, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> float | None:
        """See `LlmEngine.ending_chance`."""
        return await self.inner.ending_chance(call_id, messages, tools)

    @property
    def load(self) -> float:
        """See `LlmEngine.load`."""
        return self.inner.load

    @property
    def problems(self) -> dict[str, int]:
        """See `LlmEngine.problems`: what was asked for, corrected or replaced."""
        return {**self.inner.problems, **self._counted}

    async def kv_capacity(self) -> KvCapacity | None:
        """See `LlmEngine.kv_capacity`."""
        return await self.inner.kv_capacity()

    async def forget(self, call_id: str) -> None:
        """See `LlmEngine.forget`."""
        await self.inner.forget(call_id)

    async def close(self) -> None:
        """See `LlmEngine.close`."""
        await self.inner.close()
