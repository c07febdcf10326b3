"""What `voiceagent plan` says of memory, against what vLLM says of the same model and the same memory."""

from __future__ import annotations

import re

import aiohttp

from bench.vllm_server import BLOCK_TOKENS, CONTEXT_TOKENS, CPU_ENVIRONMENT, VllmServer
from voiceagent.capacity.plan import Accelerator, Behaviour, Machine, SpeechCost, plan
from voiceagent.capacity.shape import find_model, kv_bits
from voiceagent.latency.budgets import load_budgets
from voiceagent.llm.servers.openai import OpenAiEngine
from voiceagent.resources import bundled_models_dir, default_budgets_file
from voiceagent.server.calls.admission import Admission
from voiceagent.server.monitoring.metrics import Metrics
from voiceagent.settings.agent import AdmissionSettings


async def test_the_planned_cache_is_the_one_that_vllm_makes(vllm_server: VllmServer, engine: OpenAiEngine) -> None:
    found = find_model(str(bundled_models_dir() / "lm" / "safetensors"))
    cache_bytes = int(CPU_ENVIRONMENT["VLLM_CPU_KVCACHE_SPACE"]) * 2**30
    box = Accelerator(memory_gb=(cache_bytes + found.file_bytes) / 1e9, bandwidth_gbs=20, tflops=0.1)
    machine = Machine(box, memory_utilisation=1, reserve_gb=0)
    budget = load_budgets(default_budgets_file()).of("embedded")
    behaviour = Behaviour(context_tokens=CONTEXT_TOKENS)
    made = plan(found.shape, machine, behaviour, budget, SpeechCost(0.1, 0.1), kv_dtype="fp32", file_bytes=found.file_bytes)

    capacity = await engine.kv_capacity()
    assert capacity is not None
    assert made.kv_bytes_per_token == found.shape.kv_bytes_per_token(kv_bits(found.shape, "fp32"))
    assert 0 <= made.kv_tokens - capacity.tokens <= 2 * BLOCK_TOKENS, "a cache is cut into whole blocks"
    assert capacity.longest_tokens == CONTEXT_TOKENS

    async with aiohttp.ClientSession() as session, session.get(f"{vllm_server.root}/metrics") as answer:
        said = re.search(r'kv_cache_size_tokens="(\d+)"', await answer.text())
    assert said is not None
    assert abs(made.kv_tokens - int(said[1])) <= 2 * BLOCK_TOKENS

    metrics = Metrics()
    Admission(AdmissionSettings(max_calls=1000, context_tokens_per_call=CONTEXT_TOKENS), metrics).fit(capacity)
    planned = made.limits[0].calls
    assert planned is not None
    assert 0 <= planned - metrics.call_places <= 1
