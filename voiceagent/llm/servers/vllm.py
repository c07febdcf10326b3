"""vLLM in this process, for one machine without a separate server. `AsyncLLM` batches the requests of all calls in its own
processes. Tool calls are parsed here."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import math
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, Protocol

import msgspec
from typing_extensions import override

from voiceagent.conversation.history import Message
from voiceagent.errors import ConfigError, EngineError, ModelError
from voiceagent.llm.chat.call_prompt import CallPrompt
from voiceagent.llm.chat.prompt import ChatPrompt
from voiceagent.llm.chat.tool_formats import HERMES, ToolFormat
from voiceagent.llm.endings import SPREAD_TOKENS, ending_ids
from voiceagent.llm.engine import (
    FULL_PROMPT,
    Generated,
    HistoryLimits,
    KvCapacity,
    LlmEngine,
    LlmSession,
    Lull,
    ToolSchema,
    Urgency,
)
from voiceagent.llm.lulls import SignsOfLife, with_lulls
from voiceagent.llm.servers.server_load import FULL_CACHE
from voiceagent.settings_file import options_of
from voiceagent.task_owner import TaskOwner

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
    """One conversation. Prompts are token ids of the model's own chat template. A grammar keeps tool calls to their schemas, for
    forms that have one. Closing a generation aborts its request, which frees its KV cache at the next step."""

    def __init__(self, engine: VllmEngine, call_id: str) -> None:
        self._engine = engine
        self._call_id = call_id
        self.prompt = CallPrompt(engine.prompt, engine.options.context_tokens - engine.options.max_tokens)

    @property
    def prompt_text(self) -> str:
        """See `llm.engine.prompt_text`."""
        return self.prompt.text

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


class PrefixCacheStats(Protocol):
    """`vllm.v1.metrics.stats.PrefixCacheStats`, of a step."""

    queries: int
    """Prompt tokens."""
    hits: int


class SchedulerStats(Protocol):
    """`vllm.v1.metrics.stats.SchedulerStats`."""

    num_waiting_reqs: int
    kv_cache_usage: float
    prefix_cache_stats: PrefixCacheStats


class Logprob(Protocol):
    """`vllm.logprobs.Logprob`."""

    logprob: float


class CompletionOutput(Protocol):
    """`vllm.outputs.CompletionOutput`."""

    text: str
    logprobs: Sequence[Mapping[int, Logprob]] | None
    """The likeliest tokens in each token's place."""


class VllmOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of a profile's `llm`."""

    context_tokens: int = 8192
    """Most tokens of prompt and reply together."""
    long_history_tokens: int | None = None
    """A conversation with more estimated tokens, without instructions and tools, is too long for the model. It is the default of
    an agent's `llm.long_history_tokens`. None: the model needs no such limit."""
    max_tokens: int = 200
    temperature: float = 0.0
    dtype: str = "auto"
    """`bfloat16`, `float16` or `float32`. `auto` is the model's own."""
    gpu_memory_utilization: float = 0.9
    """The share of the GPU's memory for weights and KV cache. Leave room if Whisper runs on the same GPU."""
    max_num_batched_tokens: int = 512
    """Most tokens per step. A step is never interrupted. With few tokens, a barge-in or another caller's reply need not wait for
    a long prompt."""
    max_num_seqs: int = 128
    """Most requests that are computed at a time."""
    busy_generations: int = 64
    """From this many generations at a time on, no speculative work begins."""
    enable_thinking: bool | None = None
    """Passed to the chat template if set."""
    tool_format: str = ""
    """The form of the model's tool calls, if its chat template does not show it."""
    speculative: dict[str, object] | None = None
    """vLLM's `speculative_config`, such as {method: ngram, num_speculative_tokens: 4, prompt_lookup_max: 4} or a draft model.
    Tokens are drafted cheaply and checked together."""
    sleep_after_s: float | None = None
    """After this time without a request the weights leave the GPU. The next request waits until they are back. None: never. GPUs
    only."""
    engine: dict[str, object] = {}
    """Further arguments of vLLM's `AsyncEngineArgs`, such as tensor_parallel_size or quantization."""


log = logging.getLogger(__name__)

CLOSES_WITHIN_S = 2.0
"""After this time vLLM kills its processes. Its own default is 5 s, and a server that has not ended by then exits with an
error."""


class _Gauges:
    """Reads vLLM's own statistics after every step. It is a stat logger, see `vllm.v1.metrics.loggers.StatLoggerBase`."""

    def __init__(self) -> None:
        self.waiting = 0
        self.cache_usage = 0.0
        self.prefix_queries = 0
        """Prompt tokens in all."""
        self.prefix_hits = 0
        """Prompt tokens that were in the cache."""

    def __call__(self, vllm_config: object, engine_index: int = 0) -> _Gauges:
        return self

    def record(self, scheduler_stats: SchedulerStats | None, *_: object, **__: object) -> None:
        """Note the statistics of a step."""
        if scheduler_stats is not None:
            self.waiting = scheduler_stats.num_waiting_reqs
            self.cache_usage = scheduler_stats.kv_cache_usage
            self.prefix_queries += scheduler_stats.prefix_cache_stats.queries
            self.prefix_hits += scheduler_stats.prefix_cache_stats.hits

    def log_engine_initialized(self) -> None:
        """Nothing is logged."""

    def log(self) -> None:
        """Nothing is logged."""

    def record_sleep_state(self, is_awake: int, level: int) -> None:
        """Not needed: the engine knows its own sleep state."""


class VllmEngine(LlmEngine):
    """Implements `LlmEngine`."""

    def __init__(self, folder: Path, options: VllmOptions | None = None) -> None:
        """Load a model's folder, which takes seconds to minutes. Raises ModelError, and ConfigError if vLLM is not installed."""
        self.options = options or VllmOptions()
        thinking = self.options.enable_thinking
        self.prompt = ChatPrompt(folder, None if thinking is None else {"enable_thinking": thinking}, self.options.tool_format)
        self.gauges = _Gauges()
        # vLLM's AsyncLLM: the package is optional, and tells no types where it is not installed
        self._engine: Any = _load(folder, self.options, self.gauges)
        self.ending_ids = frozenset(ending_ids(self.prompt, self.prompt.stop_ids).tolist())
        self._numbers = itertools.count()
        self._generations = 0
        self._sleeping = False
        self._falling_asleep: asyncio.TimerHandle | None = None
        self._tasks = TaskOwner()
        self._nap: asyncio.Task[None] | None = None
        self._waking = asyncio.Lock()

    @override
    def open(self, call_id: str) -> VllmSession:
        return VllmSession(self, call_id)

    async def outputs(
        self, call_id: str, ids: list[int], sampling: object, urgency: Urgency
    ) -> AsyncGenerator[CompletionOutput, None]:
        """The results of a prompt: vLLM's `CompletionOutput`s. Raises EngineError."""
        self._generations += 1
        try:
            await self._wake()
            request_id = f"{call_id} {next(self._numbers)}"
            outputs = self._engine.generate({"prompt_token_ids": ids}, sampling, request_id, priority=int(urgency))
            async with aclosing(outputs):
                async for output in outputs:
                    if output.outputs:
                        yield output.outputs[0]
        except (EngineError, asyncio.CancelledError, GeneratorExit):
            raise
        except Exception as error:  # vLLM raises errors of many classes, some of them bare
            raise EngineError(f"vLLM failed: {' '.join(str(error).split())[:200] or type(error).__name__}") from error
        finally:
            self._generations -= 1
            self._plan_nap()

    # --- sleep ---

    async def _wake(self) -> None:
        """Bring the weights back to the GPU."""
        if self._falling_asleep is not None:
            self._falling_asleep.cancel()
            self._falling_asleep = None
        async with self._waking:
            if self._nap is not None:
                await asyncio.wait([self._nap])  # the waiting task may be cancelled; falling asleep must not be
                nap, self._nap = self._nap, None
                if nap.exception() is not None:
                    log.warning("vLLM could not sleep: %s", nap.exception())
            if self._sleeping:
                await self._engine.wake_up()
                self._sleeping = False

    def _plan_nap(self) -> None:
        """If no generation runs, fall asleep after `sleep_after_s`."""
        if self.options.sleep_after_s is not None and not self._generations:
            self._falling_asleep = asyncio.get_running_loop().call_later(self.options.sleep_after_s, self._begin_nap)

    def _begin_nap(self) -> None:
        self._falling_asleep = None
        if not self._generations and self._nap is None:
            self._nap = self._tasks.start(self._fall_asleep(), "vLLM falls asleep")

    async def _fall_asleep(self) -> None:
        await self._engine.sleep(level=1)
        self._sleeping = True

    @property
    def load(self) -> float:
        """See `LlmEngine.load`. It is the greatest of three: the generations here, the requests that wait, and the use of the KV
        cache."""
        mine = self._generations / self.options.busy_generations
        if not self._generations:
            return 0.0
        return max(mine, 1.0 + self.gauges.waiting if self.gauges.waiting else 0.0, self.gauges.cache_usage / FULL_CACHE)

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

    @override
    async def kv_capacity(self) -> KvCapacity | None:
        cache = self._engine.vllm_config.cache_config
        tokens = getattr(cache, "kv_cache_size_tokens", None) or (cache.num_gpu_blocks or 0) * cache.block_size
        if not tokens:
            return None
        return KvCapacity(tokens, min(tokens, self.options.context_tokens))

    @override
    async def close(self) -> None:
        if self._falling_asleep is not None:
            self._falling_asleep.cancel()
        await self._tasks.finished()
        engine, self._engine = self._engine, None
        await asyncio.to_thread(engine.shutdown, CLOSES_WITHIN_S)


def _load(folder: Path, options: VllmOptions, gauges: _Gauges) -> object:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # nothing is looked up online, unless the environment says otherwise
    try:
        from vllm import AsyncEngineArgs
        from vllm.v1.engine.async_llm import AsyncLLM
    except ImportError as error:
        raise ConfigError(
            f"llm engine vllm: vLLM cannot be imported here ({error}); install it with pip install 'voiceagent[vllm]'"
        ) from error
    try:
        arguments = AsyncEngineArgs(
            **{
                "model": str(folder),
                "dtype": options.dtype,
                "max_model_len": options.context_tokens,
                "gpu_memory_utilization": options.gpu_memory_utilization,
                "max_num_batched_tokens": options.max_num_batched_tokens,
                "max_num_seqs": options.max_num_seqs,
                "enable_prefix_caching": True,
                "scheduling_policy": "priority",
                "speculative_config": options.speculative,
                "enable_sleep_mode": options.sleep_after_s is not None,
                **options.engine,
            }
        )
        return AsyncLLM.from_engine_args(arguments, stat_loggers=[gauges])
    except Exception as error:  # vLLM raises errors of many classes, some of them bare
        line = " ".join(str(error).split())[:300] or type(error).__name__
        raise ModelError(f"{folder}: vLLM cannot load it ({line}); see its log above") from error


def create(path: Path | None, options: Mapping[str, object]) -> VllmEngine:
    """The plugin `vllm` of `voiceagent.llm`. Raises ModelError, ConfigError."""
    if path is None:
        raise ConfigError("llm engine vllm: needs a model; name one of models/registry.yaml")
    return VllmEngine(path, options_of(options, VllmOptions, "llm engine vllm"))
