"""The bundled recogniser and voice, loaded once for all tests of the room, in process and as models of a service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from voiceagent.engines import load_stt, load_tts
from voiceagent.model_server.hosted import HostedModel, HostedRecogniser, HostedVoice
from voiceagent.model_server.run import ListenAddress, serve
from voiceagent.models.registry import profile
from voiceagent.stt import remote as remote_stt
from voiceagent.stt.engine import SttEngine
from voiceagent.stt.remote import RemoteRecogniser
from voiceagent.task_owner import running
from voiceagent.tts import remote as remote_tts
from voiceagent.tts.engine import TtsEngine
from voiceagent.tts.remote import RemoteVoice


@dataclass(frozen=True)
class BundledEngines:
    """The engines in this process."""

    stt: SttEngine
    tts: TtsEngine


class KeptOpen:
    """A hosted model whose engines a service does not close: other tests go on with them."""

    def __init__(self, model: HostedModel) -> None:
        self.name, self.streams = model.name, model.streams
        self.metadata, self.infer = model.metadata, model.infer

    async def close(self) -> None:
        pass


@dataclass(frozen=True)
class RunningService:
    """A service at an address."""

    url: str
    stop: Callable[[], Awaitable[None]]

    async def recogniser(self, **options: object) -> RemoteRecogniser:
        return await asyncio.to_thread(remote_stt.create, None, {"url": self.url, **options})

    async def voice(self, **options: object) -> RemoteVoice:
        return await asyncio.to_thread(remote_tts.create, None, {"url": self.url, **options})


@asynccontextmanager
async def running_service(models: Sequence[HostedModel], address: ListenAddress) -> AsyncIterator[RunningService]:
    """The service, until this is left or it is stopped."""
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    stop = asyncio.Event()
    async with running(serve(models, address, on_ready=ready.set_result, stop=stop), "model service") as task:
        both: set[asyncio.Future[Any]] = {task, ready}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()

        async def end() -> None:
            stop.set()
            await asyncio.wait({task})

        yield RunningService(await ready, end)
        await end()
        task.result()


@pytest.fixture(scope="session")
def engines() -> Iterator[BundledEngines]:
    loaded = BundledEngines(load_stt(profile("embedded").stt), load_tts(profile("embedded").tts))
    yield loaded
    asyncio.run(loaded.stt.close())
    asyncio.run(loaded.tts.close())


@pytest.fixture
def hosted(engines: BundledEngines) -> list[HostedModel]:
    return [KeptOpen(HostedRecogniser("stt", engines.stt, "en")), KeptOpen(HostedVoice("tts", [engines.tts]))]


@pytest.fixture
async def service(hosted: list[HostedModel]) -> AsyncIterator[RunningService]:
    async with running_service(hosted, ListenAddress(port=0)) as running_one:
        yield running_one


@pytest.fixture
async def recogniser(service: RunningService) -> AsyncIterator[RemoteRecogniser]:
    engine = await service.recogniser()
    yield engine
    await engine.close()


@pytest.fixture
async def voice(service: RunningService) -> AsyncIterator[RemoteVoice]:
    engine = await service.voice()
    yield engine
    await engine.close()
