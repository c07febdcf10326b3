"""vLLM in this process: one box, no server between. `AsyncLLM` batches the requests of all calls in processes of its own; prompts
are token ids of the model's own chat template, tool calls are read here and, where a grammar can, kept to their schemas.
Closing a generation aborts its request, which frees its KV cache at the next step."""

from __future__ import annotations

import asyncio
import itertools
import logging
import math
import os
from collections import OrderedDict
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec

from voiceagent.conversation.history import Message
from voiceagent.errors import ConfigError, EngineError, ModelError
from voiceagent.llm.call_prompt import CallPrompt
from voiceagent.llm.endings import SPREAD_TOKENS, ending_ids
from voiceagent.llm.engine import Generated, KvCapacity, ToolSchema, Urgency
from voiceagent.llm.prompt import ChatPrompt
from voiceagent.llm.server_load import FULL_CACHE
from voiceagent.llm.tool_grammar import structural_tag

log = logging.getLogger(__name__)

MAX_CALLS = 4096
CLOSES_WITHIN_S = 2.0
"""Then vLLM kills its processes. By itself it waits for 5 s, and a server that has not ended by then exits with an error."""
QUIET = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
"""Nothing is looked up or reported, unless the environment says otherwise."""


class VllmOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of a profile's `llm`."""

    context_tokens: int = 8192
    """Prompt and reply together; older turns are left out of a longer conversation."""
    long_tokens: int | None = None
    """A conversation of more loses its older half; None: one that nearly fills the context."""
    max_tokens: int = 200
    temperature: float = 0.0
    dtype: str = "auto"
    """`bfloat16`, `float16`, `float32`; `auto` is the model's own."""
    gpu_memory_utilization: float = 0.9
    """Share of the GPU that vLLM takes for weights and KV cache. Leave room where Whisper runs on the same GPU."""
    max_num_batched_tokens: int = 512
    """Tokens a step. A step is never interrupted: with few, a barge-in or another caller's reply waits for no long prompt."""
    max_num_seqs: int = 128
    """Requests that are computed at a time."""
    busy_generations: int = 64
    """With so many generations at a time nothing speculative is begun."""
    enable_thinking: bool | None = None
    """Given to the chat template where set."""
    tool_format: str = ""
    """How the model writes tool calls, where its chat template does not tell."""
    speculative: dict[str, Any] | None = None
    """vLLM's `speculative_config`, such as {method: ngram, num_speculative_tokens: 4, prompt_lookup_max: 4} or a draft model:
    tokens drafted cheaply and checked together."""
    sleep_after_s: float | None = None
    """Without a request for so long the weights leave the GPU; the next request waits for them. None: never. GPUs only."""
    engine: dict[str, Any] = {}
    """Further arguments of vLLM's `AsyncEngineArgs`, such as tensor_parallel_size or quantization."""


class _Gauges:
    """What vLLM says of itself after every step; a stat logger of its kind, see `vllm.v1.metrics.loggers.StatLoggerBase`."""

    def __init__(self) -> None:
        self.waiting = 0
        self.cache_usage = 0.0
        self.prefix_queries = 0
        """Prompt tokens, in all."""
        self.prefix_hits = 0
        """Those that were in the cache."""

    def __call__(self, vllm_config: Any, engine_index: int = 0) -> _Gauges:
        return self

    def record(self, scheduler_stats: Any, *_: Any, **__: Any) -> None:
        """A step is over."""
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
        """Known here already."""


class VllmEngine:
    """Implements `LlmEngine`."""

    def __init__(self, folder: Path, options: VllmOptions | None = None) -> None:
        """Load a model's folder: seconds to minutes. Raises ModelError, and ConfigError where vLLM is not installed."""
        self.options = options or VllmOptions()
        thinking = self.options.enable_thinking
        self.prompt = ChatPrompt(folder, None if thinking is None else {"enable_thinking": thinking}, self.options.tool_format)
        self.gauges = _Gauges()
        self._engine = _load(folder, self.options, self.gauges)
        self._ending_ids = frozenset(ending_ids(self.prompt, self.prompt.stop_ids).tolist())
        self._prompts: OrderedDict[str, CallPrompt] = OrderedDict()
        self._numbers = itertools.count()
        self._generations = 0
        self._sleeping = False
        self._falling_asleep: asyncio.TimerHandle | None = None
        self._nap: asyncio.Task[None] | None = None
        self._waking = asyncio.Lock()

    async def generate(
        self, call_id: str, messages: Sequence[Message], tools: Sequence[ToolSchema], urgency: Urgency = Urgency.REPLY
    ) -> AsyncGenerator[Generated, None]:
        """See `LlmEngine.generate`."""
        answer = self.prompt.answer(messages, tools)
        async with aclosing(self._texts(call_id, messages, tools, urgency, self.options.max_tokens)) as texts:
            async for text in texts:
                for piece in answer.feed(self.prompt.hidden(text)):
                    yield piece
        for piece in answer.finish():
            yield piece

    async def prefill(self, call_id: str, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> None:
        """See `LlmEngine.prefill`: a request for one token, whose prompt stays in the prefix cache."""
        if self.load < 1:
            async with aclosing(self._texts(call_id, messages, tools, Urgency.AHEAD, 1)) as texts:
                async for _ in texts:
                    pass

    async def _texts(
        self, call_id: str, messages: Sequence[Message], tools: Sequence[ToolSchema], urgency: Urgency, max_tokens: int
    ) -> AsyncGenerator[str, None]:
        ids = await self.prompt_of(call_id).ids_soon(messages, tools, ahead=urgency is Urgency.AHEAD)
        async with aclosing(self._outputs(call_id, ids, self._sampling(tools, max_tokens), urgency)) as outputs:
            async for output in outputs:
                if output.text:
                    yield output.text

    async def _outputs(self, call_id: str, ids: list[int], sampling: Any, urgency: Urgency) -> AsyncGenerator[Any, None]:
        """What comes of a prompt. Raises EngineError."""
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
        except Exception as error:  # vLLM raises errors of many trees, some of them bare
            raise EngineError(f"vLLM failed: {' '.join(str(error).split())[:200] or type(error).__name__}") from error
        finally:
            self._generations -= 1
            self._plan_nap()

    async def ending_chance(self, call_id: str, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> float | None:
        """See `LlmEngine.ending_chance`: a request for one token, of which only the likeliest are looked at."""
        if self.load >= 1 or not messages or not messages[-1].content:
            return None
        ids = await self.prompt_of(call_id).open_ids_soon(messages, tools)
        if not ids:
            return None
        from vllm import SamplingParams

        chance = None
        sampling = SamplingParams(temperature=0.0, max_tokens=1, logprobs=SPREAD_TOKENS, detokenize=False)
        async with aclosing(self._outputs(call_id, ids, sampling, Urgency.SPECULATIVE)) as outputs:
            async for output in outputs:
                if output.logprobs:
                    likely = {token: math.exp(told.logprob) for token, told in output.logprobs[0].items()}
                    chance = min(1.0, sum(likely[token] for token in self._ending_ids.intersection(likely)))
        return chance

    def prompt_of(self, call_id: str) -> CallPrompt:
        """What keeps the call's prompts."""
        prompt = self._prompts.get(call_id)
        if prompt is None:
            room = self.options.context_tokens - self.options.max_tokens
            prompt = self._prompts[call_id] = CallPrompt(self.prompt, room, self.options.long_tokens)
            while len(self._prompts) > MAX_CALLS:
                self._prompts.popitem(last=False)
        self._prompts.move_to_end(call_id)
        return prompt

    def _sampling(self, tools: Sequence[ToolSchema], max_tokens: int) -> Any:
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

        tag = structural_tag(tools, self.prompt.form) if tools and max_tokens > 1 else None
        return SamplingParams(
            temperature=self.options.temperature,
            max_tokens=max_tokens,
            output_kind=RequestOutputKind.DELTA,
            skip_special_tokens=not self.prompt.tells_controls,
            stop_token_ids=sorted(self.prompt.stop_ids) or None,
            structured_outputs=StructuredOutputsParams(structural_tag=tag) if tag else None,
        )

    # --- sleep ---

    async def _wake(self) -> None:
        """Have the weights back on the GPU."""
        if self._falling_asleep is not None:
            self._falling_asleep.cancel()
            self._falling_asleep = None
        async with self._waking:
            if self._nap is not None:
                await asyncio.wait([self._nap])  # whoever waits may be cancelled, the nap must not be
                nap, self._nap = self._nap, None
                if nap.exception() is not None:
                    log.warning("vLLM could not sleep: %s", nap.exception())
            if self._sleeping:
                await self._engine.wake_up()
                self._sleeping = False

    def _plan_nap(self) -> None:
        """Nothing is asked any more: sleep, if that lasts."""
        if self.options.sleep_after_s is not None and not self._generations:
            self._falling_asleep = asyncio.get_running_loop().call_later(self.options.sleep_after_s, self._begin_nap)

    def _begin_nap(self) -> None:
        self._falling_asleep = None
        if not self._generations and self._nap is None:
            self._nap = asyncio.get_running_loop().create_task(self._fall_asleep())

    async def _fall_asleep(self) -> None:
        await self._engine.sleep(level=1)
        self._sleeping = True

    @property
    def load(self) -> float:
        """See `LlmEngine.load`: what is asked, what waits for room and how full the KV cache is."""
        mine = self._generations / self.options.busy_generations
        if not self._generations:
            return 0.0
        return max(mine, 1.0 + self.gauges.waiting if self.gauges.waiting else 0.0, self.gauges.cache_usage / FULL_CACHE)

    @property
    def no_tools(self) -> str:
        """See `voiceagent.llm.engine.no_tools`."""
        return self.prompt.no_tools

    @property
    def problems(self) -> dict[str, int]:
        """See `LlmEngine.problems`: it has none that it could make good."""
        return {}

    async def kv_capacity(self) -> KvCapacity | None:
        """See `LlmEngine.kv_capacity`."""
        cache = self._engine.vllm_config.cache_config
        tokens = getattr(cache, "kv_cache_size_tokens", None) or (cache.num_gpu_blocks or 0) * cache.block_size
        if not tokens:
            return None
        return KvCapacity(tokens, min(tokens, self.options.context_tokens))

    async def forget(self, call_id: str) -> None:
        """See `LlmEngine.forget`. What the prefix cache holds of the call is overwritten when room is needed."""
        self._prompts.pop(call_id, None)

    async def close(self) -> None:
        """See `LlmEngine.close`."""
        if self._falling_asleep is not None:
            self._falling_asleep.cancel()
        if self._nap is not None:
            await asyncio.gather(self._nap, return_exceptions=True)
        engine, self._engine = self._engine, None
        await asyncio.to_thread(engine.shutdown, CLOSES_WITHIN_S)


def _load(folder: Path, options: VllmOptions, gauges: _Gauges) -> Any:
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
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
    except Exception as error:  # vLLM raises errors of many trees, some of them bare
        line = " ".join(str(error).split())[:300] or type(error).__name__
        raise ModelError(f"{folder}: vLLM cannot load it ({line}); see its log above") from error


def create(path: Path | None, options: Mapping[str, Any]) -> VllmEngine:
    """The plugin `vllm` of `voiceagent.llm`. Raises ModelError, ConfigError."""
    if path is None:
        raise ConfigError("llm engine vllm: needs a model; name one of models/registry.yaml")
    try:
        return VllmEngine(path, msgspec.convert(dict(options), VllmOptions))
    except msgspec.ValidationError as error:
        raise ConfigError(f"llm engine vllm: {error}") from error
