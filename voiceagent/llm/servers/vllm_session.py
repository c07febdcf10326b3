"""One conversation with vLLM in this process. Prompts are token ids of the model's own chat template. Tool calls are parsed here.
A grammar keeps them to their schemas, for forms that have one. Closing a generation aborts its request, which frees its KV cache
at the next step."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from typing_extensions import override

from voiceagent.conversation.history import Message
from voiceagent.llm.chat.call_prompt import CallPrompt
from voiceagent.llm.endings import SPREAD_TOKENS
from voiceagent.llm.engine import Generated, LlmSession, Lull, ToolSchema, Urgency
from voiceagent.llm.lulls import SignsOfLife, with_lulls

if TYPE_CHECKING:
    from voiceagent.llm.servers.vllm import VllmEngine
import json

from voiceagent.llm.chat.tool_formats import HERMES, ToolFormat

_WRAPPED = {
    "hermes": ("<tool_call>", [(f"<tool_call>{line}", f"{line}</tool_call>") for line in ("\n", "")], "arguments"),
    "llama": ('{"name": ', [("", "")], "parameters"),
}
"""The beginning of a call, the marks around its JSON, and the name of the arguments' field, by form."""


MOST_SPACES = 1
"""Most spaces in a row. A small model may fill a call with white space if the grammar allows it."""


def structural_tag(tools: Sequence[ToolSchema], form: ToolFormat | None = HERMES) -> str | None:
    """The structural tag of XGrammar (xgrammar.mlc.ai, "Structural Tag") for one or more tools, as JSON. Text stays free; where a
    call begins, only a known tool with arguments of its schema can be written. None for a form that is not JSON between marks of
    plain text: it is not constrained."""
    if form is None or form.name not in _WRAPPED:
        return None
    trigger, around, arguments = _WRAPPED[form.name]
    tags = [_tag(tool["function"], opener, closer, arguments) for tool in tools for opener, closer in around]
    return json.dumps(
        {"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": [trigger], "tags": tags}}, ensure_ascii=False
    )


def _tag(function: dict[str, object], opener: str, closer: str, arguments: str) -> dict[str, object]:
    """One tool's call between its marks."""
    schema = function.get("parameters") or {"type": "object", "properties": {}}
    return {
        "type": "tag",
        "begin": f'{opener}{{"name": {json.dumps(function["name"])}, "{arguments}": ',
        "content": {"type": "json_schema", "json_schema": schema, "max_whitespace_cnt": MOST_SPACES},
        "end": f"}}{closer}",
    }


class VllmSession(LlmSession):
    """Implements `LlmSession`."""

    def __init__(self, engine: VllmEngine, call_id: str) -> None:
        self._engine = engine
        self._call_id = call_id
        self.prompt = CallPrompt(engine.prompt, engine.options.context_tokens - engine.options.max_tokens)

    @override
    async def generate(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], urgency: Urgency = Urgency.REPLY, must_call: str = ""
    ) -> AsyncGenerator[Generated, None]:
        answer, signs = self._engine.prompt.answer(messages, tools), SignsOfLife()
        opening, most = self._engine.prompt.opening(messages, must_call), self._engine.options.max_tokens
        for piece in answer.feed(opening):
            yield piece
        async with aclosing(with_lulls(self._texts(messages, tools, urgency, most, opening))) as texts:
            async for text in texts:
                if isinstance(text, Lull):
                    yield text
                    continue
                for piece in answer.feed(self._engine.prompt.hidden(text)):
                    yield piece
                for sign in signs.more() if answer.silent else ():
                    yield sign
        for piece in answer.finish():
            yield piece

    async def prefill(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> None:
        """See `LlmSession.prefill`. It is a request for one token. The prompt stays in the prefix cache."""
        if self._engine.load < 1:
            async with aclosing(self._texts(messages, tools, Urgency.AHEAD, 1)) as texts:
                async for _ in texts:
                    pass

    async def _texts(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], urgency: Urgency, max_tokens: int, opening: str = ""
    ) -> AsyncGenerator[str, None]:
        """The answer's text behind its `opening`, the beginning of a call, which no grammar can go on from."""
        begun = self._engine.prompt.encode(opening)[0]
        ids = [*await self.prompt.ids_soon(messages, tools), *begun]
        sampling = self._sampling(() if begun else tools, max_tokens - len(begun))
        async with aclosing(self._engine.outputs(self._call_id, ids, sampling, urgency)) as outputs:
            async for output in outputs:
                if output.text:
                    yield output.text

    async def ending_chance(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> float | None:
        """See `LlmSession.ending_chance`. It is a request for one token, with the probabilities of the likeliest ones."""
        if self._engine.load >= 1 or not messages or not messages[-1].content:
            return None
        ids = await self.prompt.open_ids_soon(messages, tools)
        if not ids:
            return None
        from vllm import SamplingParams

        chance = None
        sampling = SamplingParams(temperature=0.0, max_tokens=1, logprobs=SPREAD_TOKENS, detokenize=False)
        async with aclosing(self._engine.outputs(self._call_id, ids, sampling, Urgency.SPECULATIVE)) as outputs:
            async for output in outputs:
                if output.logprobs:
                    likely = {token: math.exp(told.logprob) for token, told in output.logprobs[0].items()}
                    chance = min(1.0, sum(likely[token] for token in self._engine.ending_ids.intersection(likely)))
        return chance

    def _sampling(self, tools: Sequence[ToolSchema], max_tokens: int) -> object:
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

        tag = structural_tag(tools, self._engine.prompt.form) if tools and max_tokens > 1 else None
        return SamplingParams(
            temperature=self._engine.options.temperature,
            max_tokens=max_tokens,
            output_kind=RequestOutputKind.DELTA,
            skip_special_tokens=not self._engine.prompt.tells_controls,
            stop_token_ids=sorted(self._engine.prompt.stop_ids) or None,
            structured_outputs=StructuredOutputsParams(structural_tag=tag) if tag else None,
        )

    async def close(self) -> None:
        """See `LlmSession.close`. The prefix cache overwrites the conversation when it needs room."""
