"""One real vLLM server for all tests of this folder; without vLLM in this environment they are skipped."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from bench.vllm_server import VllmServer, installed, serving
from tests.vllm.watch import Watch
from voiceagent.llm.servers.openai import OpenAiEngine, OpenAiOptions

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not installed():
        for item in items:
            if HERE in item.path.parents:
                item.add_marker(pytest.mark.skip(reason="vLLM is not in this environment; run make test-vllm"))


@pytest.fixture(scope="session")
def vllm_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    with serving(tmp_path_factory.mktemp("vllm") / "vllm.log") as running:
        yield running


@pytest.fixture
async def watch(vllm_server: VllmServer) -> AsyncIterator[Watch]:
    watching = Watch(vllm_server)
    yield watching
    await watching.close()


@pytest.fixture
async def engine(vllm_server: VllmServer) -> AsyncIterator[OpenAiEngine]:
    model = OpenAiEngine(OpenAiOptions(base_url=vllm_server.base_url))
    yield model
    await model.close()
