"""The embedded language model: onnxruntime-genai on the CPU, in this process. Each call keeps its KV cache from turn to turn: a
prompt that begins like the last one costs only its new end. This half lives on the event loop; `embedded_worker` does the
work."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec

from voiceagent.conversation.history import Message
from voiceagent.errors import ConfigError, EngineError
from voiceagent.llm.call_prompt import CallPrompt
from voiceagent.llm.embedded_jobs import Ending, Forget, Job
from voiceagent.llm.embedded_options import EmbeddedOptions
from voiceagent.llm.embedded_worker import EmbeddedWorker
from voiceagent.llm.engine import Generated, KvCapacity, ToolSchema, Urgency
from voiceagent.llm.prompt import ChatPrompt, Detokenizer
from voiceagent.llm.tool_constraint import ToolConstraints

MAX_JOBS = 256
BUSY_JOBS = 4
"""So many generations at a time slow each other down noticeably."""
HANGS_S = 3.0
"""A token takes milliseconds: a worker that is at one for so long hangs."""
LOOK_S = 0.5
"""Who waits for a token looks this often whether the worker hangs."""
ENDING_S = 5.0
"""So long the worker is waited for to forget a call, or to end."""


class EmbeddedEngine:
    """Implements `LlmEngine`."""

    def __init__(self, folder: Path, options: EmbeddedOptions | None = None) -> None:
        """Load a folder made by onnxruntime-genai's model builder. Raises ModelError."""
        self.options = options or EmbeddedOptions()
        thinking = self.options.enable_thinking
        self.prompt = ChatPrompt(folder, None if thinking is None else {"enable_thinking": thinking}, self.options.tool_format)
        self.worker = EmbeddedWorker(folder, self.options, self.prompt)
        self._constraints = ToolConstraints(folder, self.prompt.template)
        self._prompts: OrderedDict[str, CallPrompt] = OrderedDict()
        self._making_room: dict[str, asyncio.Task[None]] = {}
        self._jobs = 0
        self._closing = False

    @property
    def tokens_read(self) -> int:
        """Of prompts, in all; what a cache held was not read again."""
        return self.worker.tokens_read

    async def generate(
        self, call_id: str, messages: Sequence[Message], tools: Sequence[ToolSchema], urgency: Urgency = Urgency.REPLY
    ) -> AsyncGenerator[Generated, None]:
        """See `LlmEngine.generate`. All generations take turns, a token each, whatever their urgency."""
        if self._jobs >= MAX_JOBS:
            raise EngineError(f"the language model is overloaded: {MAX_JOBS} generations wait; lower the number of calls")
        answer = self.prompt.answer(messages, tools)
        text = Detokenizer(self.prompt)
        made = 0
        async with aclosing(self._tokens(call_id, messages, tools, self.options.max_tokens)) as tokens:
            async for token in tokens:
                made += 1
                for piece in answer.feed(text.add(token)):
                    yield piece
        for piece in [*answer.feed(text.finish()), *answer.finish()]:
            yield piece
        if not answer.called:
            self._make_room(call_id, messages, tools, made)

    async def _tokens(
        self, call_id: str, messages: Sequence[Message], tools: Sequence[ToolSchema], max_tokens: int
    ) -> AsyncGenerator[int, None]:
        """The answer's tokens; with `max_tokens` 0 the prompt is only read."""
        self._stop_making_room(call_id)
        self._jobs += 1
        job = Job(call_id, [], max_tokens, self._constraints.of(tools))
        try:
            job.ids = await self.prompt_of(call_id).ids_soon(messages, tools, ahead=not max_tokens)
            job.messages = messages
            self.worker.put(job)
            while (token := await self._next(job)) is not None:
                if isinstance(token, EngineError):
                    raise token
                yield token
        finally:
            job.cancelled = True
            self._jobs -= 1

    async def _next(self, job: Job) -> int | EngineError | None:
        """The job's next token. Raises EngineError when the worker hangs: nobody is to wait for what does not come."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S):
                    return await job.tokens.get()
            since_s = self.worker.token_since_s
            if since_s is not None and time.monotonic() - since_s > HANGS_S:
                raise EngineError(f"the language model hangs at a token for over {HANGS_S:g} s; restart the server")

    async def prefill(self, call_id: str, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> None:
        """See `LlmEngine.prefill`. What follows the last message's words in the template is read too, and taken back later."""
        if self.load < 1:
            async with aclosing(self._tokens(call_id, messages, tools, 0)) as tokens:
                async for _ in tokens:
                    pass

    async def ending_chance(self, call_id: str, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> float | None:
        """See `LlmEngine.ending_chance`: one step, behind what was prefilled; None where much would have to be read."""
        if self.load >= 1 or not messages or not messages[-1].content:
            return None
        self._jobs += 1
        try:
            ids = await self.prompt_of(call_id).open_ids_soon(messages, tools)
            if not ids:
                return None
            ending = Ending(call_id, ids)
            self.worker.put(ending)
            try:
                async with asyncio.timeout(HANGS_S):
                    return await ending.answer
            except TimeoutError as error:
                raise EngineError(f"the language model told of no ending within {HANGS_S:g} s") from error
            finally:
                ending.cancelled = True
        finally:
            self._jobs -= 1

    @property
    def load(self) -> float:
        """See `LlmEngine.load`."""
        return self._jobs / BUSY_JOBS

    def prompt_of(self, call_id: str) -> CallPrompt:
        """What keeps the call's prompts."""
        prompt = self._prompts.get(call_id)
        if prompt is None:
            room = self.options.context_tokens - self.options.max_tokens
            prompt = self._prompts[call_id] = CallPrompt(self.prompt, room, self.options.long_tokens)
            while len(self._prompts) > self.options.max_sessions:
                self._prompts.popitem(last=False)
        self._prompts.move_to_end(call_id)
        return prompt

    def _make_room(self, call_id: str, messages: Sequence[Message], tools: Sequence[ToolSchema], made: int) -> None:
        """A reply of so many tokens is made and will be spoken for a while: where the next prompt is one to be shortened, read
        the short one now. What is asked for the call next stops it."""
        prompt = self._prompts.get(call_id)
        if prompt is not None and prompt.is_full(made) and self.load < 1:
            reading = self._read_short(call_id, prompt, messages, tools, made)
            self._making_room[call_id] = asyncio.create_task(reading, name=f"making room {call_id}")

    async def _read_short(
        self, call_id: str, prompt: CallPrompt, messages: Sequence[Message], tools: Sequence[ToolSchema], made: int
    ) -> None:
        job = Job(call_id, [], 0)
        try:
            with contextlib.suppress(EngineError):  # a favour: the generation that needs it will tell
                job.ids = await prompt.ids_soon(messages, tools, ahead=True, more_tokens=made)
                self.worker.put(job)
                while isinstance(await self._next(job), int):
                    pass
        finally:
            job.cancelled = True
            if self._making_room.get(call_id) is asyncio.current_task():
                del self._making_room[call_id]

    def _stop_making_room(self, call_id: str) -> None:
        task = self._making_room.pop(call_id, None)
        if task is not None:
            task.cancel()

    @property
    def no_tools(self) -> str:
        """See `voiceagent.llm.engine.no_tools`."""
        return self.prompt.no_tools

    @property
    def problems(self) -> dict[str, int]:
        """See `LlmEngine.problems`: it has none that it could make good."""
        return {}

    async def kv_capacity(self) -> KvCapacity:
        """See `LlmEngine.kv_capacity`: the sessions that are kept, each as long as the context."""
        return KvCapacity(self.options.max_sessions * self.options.context_tokens, self.options.context_tokens)

    async def forget(self, call_id: str) -> None:
        """See `LlmEngine.forget`."""
        self._stop_making_room(call_id)
        self._prompts.pop(call_id, None)
        if self._closing:
            return
        forget = Forget(call_id)
        self.worker.put(forget)
        with contextlib.suppress(TimeoutError):  # the worker hangs, and its generations have said so
            async with asyncio.timeout(ENDING_S):
                await forget.done.wait()

    async def close(self) -> None:
        """See `LlmEngine.close`."""
        self._closing = True
        making_room = tuple(self._making_room.values())
        for task in making_room:
            task.cancel()
        await asyncio.gather(*making_room, return_exceptions=True)
        await asyncio.to_thread(self.worker.stop, ENDING_S)


def create(path: Path | None, options: Mapping[str, Any]) -> EmbeddedEngine:
    """The plugin `embedded` of `voiceagent.llm`. Raises ModelError, ConfigError."""
    if path is None:
        raise ConfigError("llm engine embedded: needs a model; name one of models/registry.yaml")
    try:
        return EmbeddedEngine(path, msgspec.convert(dict(options), EmbeddedOptions))
    except msgspec.ValidationError as error:
        raise ConfigError(f"llm engine embedded: {error}") from error
