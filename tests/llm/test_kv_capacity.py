"""What engines tell of their KV cache."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from voiceagent.llm.engine import KvCapacity
from voiceagent.llm.servers.openai import OpenAiEngine, OpenAiOptions
from voiceagent.llm.servers.server_load import read_kv_capacity

METRICS = """# HELP vllm:cache_config_info Information of the LLMEngine CacheConfig
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size="128",cache_dtype="auto",engine="0",num_cpu_blocks="None",num_gpu_blocks="1365"} 1.0
vllm:num_requests_running{engine="0",model_name="m"} 0.0
"""


def test_blocks_times_their_size() -> None:
    assert read_kv_capacity(METRICS, 4096) == KvCapacity(174_720, 4096)
    assert read_kv_capacity(METRICS, None) == KvCapacity(174_720, 174_720)
    two = METRICS + METRICS.replace('engine="0"', 'engine="1"')
    assert read_kv_capacity(two, 4096) == KvCapacity(349_440, 4096)


def test_what_layers_of_several_kinds_share_is_counted_by_vllm() -> None:
    shared = METRICS.replace('num_cpu_blocks="None"', 'kv_cache_size_tokens="98304"')
    assert read_kv_capacity(shared, 4096) == KvCapacity(98_304, 4096)


@pytest.mark.parametrize("text", ["", "llamacpp:kv_cache_tokens 5", METRICS.replace("1365", "None"), "<html>"])
def test_others_do_not_tell(text: str) -> None:
    assert read_kv_capacity(text, 4096) is None


@pytest.fixture
async def server() -> AsyncIterator[TestServer]:
    """What a vLLM server says of itself."""

    async def models(_: web.Request) -> web.Response:
        model = {"id": "m", "object": "model", "owned_by": "vllm", "max_model_len": 4096}
        return web.json_response({"object": "list", "data": [model]})

    async def metrics(_: web.Request) -> web.Response:
        return web.Response(text=METRICS)

    app = web.Application()
    app.router.add_get("/v1/models", models)
    app.router.add_get("/metrics", metrics)
    server = TestServer(app)
    await server.start_server()
    yield server
    await server.close()


async def test_a_server_is_asked_beside_its_api(server: TestServer) -> None:
    engine = OpenAiEngine(OpenAiOptions(base_url=str(server.make_url("/v1"))))
    assert await engine.kv_capacity() == KvCapacity(174_720, 4096, is_servers=True)
    await server.close()
    assert await engine.kv_capacity() is None
    await engine.close()
