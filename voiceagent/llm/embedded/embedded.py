"""The embedded language model: onnxruntime-genai on the CPU, in this process. `embedded_session` is a conversation with it.
`embedded_worker` is the thread that computes."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from typing_extensions import override

from voiceagent.conversation.history import Message
from voiceagent.errors import ConfigError, EngineError
from voiceagent.llm.chat.call_prompt import CallPrompt
from voiceagent.llm.chat.prompt import ChatPrompt, Detokenizer
from voiceagent.llm.chat.tool_constraint import OPEN, ToolConstraints
from voiceagent.llm.embedded.jobs import Ending, Forget, Job, WorkerConversation
from voiceagent.llm.embedded.worker import EmbeddedOptions, EmbeddedWorker
from voiceagent.llm.engine import (
    FULL_PROMPT,
    Generated,
    GeneratedText,
    HistoryLimits,
    KvCapacity,
    LlmEngine,
    LlmSession,
    Lull,
    TokenCount,
    ToolSchema,
    Urgency,
)
from voiceagent.llm.lulls import SignsOfLife, with_lulls
from voiceagent.settings_file import options_of

MAX_JOBS = 256
BUSY_JOBS = 4
"""From this many generations at a time on, they slow each other down noticeably."""
HANGS_S = 3.0
"""A token takes milliseconds. A worker that needs this long for one hangs."""
LOOK_S = 0.5
"""Interval at which a session that waits for a token checks whether the worker hangs."""
ENDING_S = 5.0
"""Longest wait for the worker to forget a conversation, or to end."""


@dataclass(slots=True)
class SharedModel:
    """State that all sessions of an engine share."""

    options: EmbeddedOptions
    prompt: ChatPrompt
    worker: EmbeddedWorker
    constraints: ToolConstraints
    hangs_s: float
    ending_s: float
    jobs: int = 0
    """Jobs that the sessions wait for now."""
    closing: bool = False

    @property
    def load(self) -> float:
        """See `LlmEngine.load`."""
        return self.jobs / BUSY_JOBS


class EmbeddedSession(LlmSession):
    """One conversation, on the event loop's side: turns prompts into tokens and sends jobs to the worker. The worker keeps the
    conversation's KV cache, so a prompt that begins like the last one costs only its new end."""

    def __init__(self, model: SharedModel) -> None:
        self._model = model
        self.conversation = WorkerConversation()
        self.prompt = CallPrompt(model.prompt, model.options.context_tokens - model.options.max_tokens)
        self._closed = False

    @property
    def prompt_text(self) -> str:
        """See `llm.engine.prompt_text`."""
        return self.prompt.text

    async def generate(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], urgency: Urgency = Urgency.REPLY, must_call: str = ""
    ) -> AsyncGenerator[Generated, None]:
        """See `LlmSession.generate`. A speculative generation is as urgent as a reply, because it mostly becomes one. A call
        that must come is begun for the model."""
        if self._model.jobs >= MAX_JOBS:
            raise EngineError(f"the language model is overloaded: {MAX_JOBS} generations wait; lower the number of calls")
        prompt = self._model.prompt
        answer = prompt.answer(messages, tools)
        text, signs = Detokenizer(prompt), SignsOfLife()
        named = [tool for tool in tools if tool["function"]["name"] == must_call]
        constraint = self._model.constraints.of(named or tools)
        opening = prompt.opening(messages, must_call, "" if constraint is None else OPEN)
        job = Job(self.conversation, self._model.options.max_tokens, constraint, urgency)
        job.opening = prompt.encode(opening)[0]
        job.left -= len(job.opening)
        for piece in answer.feed(opening):
            yield piece
        written = len(job.opening)
        async with aclosing(with_lulls(self._tokens(job, messages, tools))) as tokens:
            async for token in tokens:
                if isinstance(token, Lull):
                    yield token
                    continue
                written += 1
                for piece in answer.feed(text.add(token)):
                    job.pieces += isinstance(piece, GeneratedText)
                    yield piece
                for sign in signs.more() if answer.silent else ():
                    yield sign
        for piece in [*answer.feed(text.finish()), *answer.finish()]:
            yield piece
        yield TokenCount(len(job.ids) - len(job.opening), written, min(job.cached, len(job.ids) - len(job.opening)))

    async def _tokens(self, job: Job, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> AsyncGenerator[int, None]:
        """The answer's tokens."""
        self._check_open()
        self._model.jobs += 1
        try:
            job.ids = [*await self.prompt.ids_soon(messages, tools), *job.opening]
            job.messages = messages
            self._check_open()
            self._model.worker.put(job)
            while (token := await self._next(job)) is not None:
                if isinstance(token, EngineError):
                    raise token
                yield token
        finally:
            job.cancelled = True
            self._model.jobs -= 1

    async def _next(self, job: Job) -> int | EngineError | None:
        """The job's next token. Raises EngineError when the worker hangs."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S):
                    return await job.tokens.get()
            since_s = self._model.worker.token_since_s
            if since_s is not None and time.monotonic() - since_s > self._model.hangs_s:
                raise EngineError(f"the language model hangs at a token for over {self._model.hangs_s:g} s; restart the server")

    async def prefill(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> None:
        """See `LlmSession.prefill`. The template's text after the last message's words is also read, and rewound later."""
        if self._model.load < 1:
            reading = Job(self.conversation, 0, self._model.constraints.of(tools), Urgency.AHEAD)
            async with aclosing(self._tokens(reading, messages, tools)) as tokens:
                async for _ in tokens:
                    pass

    async def ending_chance(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> float | None:
        """See `LlmSession.ending_chance`. It takes one step after the prefilled tokens, and gives None if much would have to be
        read first."""
        if self._model.load >= 1 or not messages or not messages[-1].content:
            return None
        self._check_open()
        self._model.jobs += 1
        try:
            ids = await self.prompt.open_ids_soon(messages, tools)
            if not ids:
                return None
            self._check_open()
            ending = Ending(self.conversation, ids)
            self._model.worker.put(ending)
            try:
                async with asyncio.timeout(self._model.hangs_s):
                    return await ending.answer
            except TimeoutError as error:
                raise EngineError(f"the language model told of no ending within {self._model.hangs_s:g} s") from error
            finally:
                ending.cancelled = True
        finally:
            self._model.jobs -= 1

    def _check_open(self) -> None:
        if self._closed:
            raise EngineError("the call has ended")
        if self._model.closing:  # the worker answers no more
            raise EngineError("the language model was shut down")

    @override
    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._model.closing:
            return
        forget = Forget(self.conversation)
        self._model.worker.put(forget)
        with contextlib.suppress(TimeoutError):  # the worker hangs, and its generations have reported it
            async with asyncio.timeout(self._model.ending_s):
                await forget.done.wait()


class EmbeddedEngine(LlmEngine):
    """Implements `LlmEngine`."""

    def __init__(
        self, folder: Path, options: EmbeddedOptions | None = None, *, hangs_s: float = HANGS_S, ending_s: float = ENDING_S
    ) -> None:
        """Load a folder made by onnxruntime-genai's model builder. Raises ModelError."""
        self.options = options or EmbeddedOptions()
        thinking = self.options.enable_thinking
        self.prompt = ChatPrompt(folder, None if thinking is None else {"enable_thinking": thinking}, self.options.tool_format)
        self.worker = EmbeddedWorker(folder, self.options, self.prompt)
        constraints = ToolConstraints(folder, self.prompt.template)
        self._model = SharedModel(self.options, self.prompt, self.worker, constraints, hangs_s, ending_s)

    @override
    def open(self, call_id: str) -> EmbeddedSession:
        return EmbeddedSession(self._model)

    @property
    def tokens_read(self) -> int:
        """Prompt tokens read in all. Cached tokens are not read again."""
        return self.worker.tokens_read

    @property
    @override
    def load(self) -> float:
        return self._model.load

    @property
    @override
    def limits(self) -> HistoryLimits:
        room = self.options.context_tokens - self.options.max_tokens
        return HistoryLimits(int(FULL_PROMPT * room), self.options.long_history_tokens)

    @property
    def no_tools(self) -> str:
        """See `voiceagent.llm.engine.no_tools`."""
        return self.prompt.no_tools

    @property
    def no_forcing(self) -> str:
        """See `voiceagent.llm.engine.no_forcing`."""
        return self.prompt.no_forcing

    async def kv_capacity(self) -> KvCapacity:
        """See `LlmEngine.kv_capacity`. Each session that is kept may fill the context."""
        return KvCapacity(self.options.max_sessions * self.options.context_tokens, self.options.context_tokens)

    @override
    async def close(self) -> None:
        self._model.closing = True
        await asyncio.to_thread(self.worker.stop, self._model.ending_s)


def create(path: Path | None, options: Mapping[str, object]) -> EmbeddedEngine:
    """The plugin `embedded` of `voiceagent.llm`. Raises ModelError, ConfigError."""
    if path is None:
        raise ConfigError("llm engine embedded: needs a model; name one of models/registry.yaml")
    return EmbeddedEngine(path, options_of(options, EmbeddedOptions, "llm engine embedded"))
