"""The table of servers, their gauges and the grammar of tool calls: pure functions."""

from __future__ import annotations

import json

import pytest

from voiceagent.llm.engine import Urgency
from voiceagent.llm.servers.dialects import UNKNOWN, VLLM_GAUGES, server_of
from voiceagent.llm.servers.server_load import gauge, load_of
from voiceagent.llm.servers.vllm import structural_tag


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        ("vllm", "vLLM"),
        ("sglang", "SGLang"),
        ("tensorrt_llm", "TensorRT-LLM"),
        ("nvidia", "Dynamo"),
        ("llamacpp", "llama.cpp"),
        ("library", "Ollama"),
    ],
)
def test_a_server_is_known_by_who_owns_its_models(owner: str, name: str) -> None:
    assert server_of(owner).name == name


def test_a_server_of_unknown_kind_is_asked_for_nothing_special() -> None:
    assert server_of("somebody") is UNKNOWN
    assert UNKNOWN.priority_field(Urgency.AHEAD) == {}


@pytest.mark.parametrize(
    ("owner", "field"),
    [("vllm", {"priority": 2}), ("sglang", {"priority": -2}), ("nvidia", {"nvext": {"agent_hints": {"priority": -2}}})],
)
def test_each_server_is_told_the_urgency_in_its_own_way(owner: str, field: dict[str, object]) -> None:
    assert server_of(owner).priority_field(Urgency.AHEAD) == field


def test_gauges_are_summed_over_engines() -> None:
    text = (
        'vllm:num_requests_waiting{engine="0"} 1.0\nvllm:num_requests_waiting{engine="1"} 2.0\nvllm:num_requests_waiting_by 9\n'
    )
    assert gauge(text, "vllm:num_requests_waiting") == 3
    assert gauge(text, "vllm:kv_cache_usage_perc") is None
    assert gauge("vllm:kv_cache_usage_perc much", "vllm:kv_cache_usage_perc") is None


@pytest.mark.parametrize(("waiting", "usage", "busy"), [(0, 0.1, False), (1, 0.1, True), (0, 0.95, True)])
def test_a_queue_and_a_full_cache_are_load(waiting: int, usage: float, busy: bool) -> None:
    text = f"{VLLM_GAUGES.waiting} {waiting}\n{VLLM_GAUGES.cache_usage} {usage}\n"
    assert (load_of(text, VLLM_GAUGES) >= 1) is busy


def test_the_grammar_names_each_tool_with_its_schema() -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    written = structural_tag([{"type": "function", "function": {"name": "get_time", "parameters": schema}}])
    assert written is not None
    tag = json.loads(written)
    first, second = tag["format"]["tags"]
    assert first["begin"] == '<tool_call>\n{"name": "get_time", "arguments": '
    assert second["begin"] == '<tool_call>{"name": "get_time", "arguments": '
    assert first["content"]["json_schema"] == schema
    assert first["end"] == "}\n</tool_call>"
