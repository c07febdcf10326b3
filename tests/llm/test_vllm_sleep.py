"""How the engine in this process goes to sleep, wakes and ends, on a vLLM that only does that; the real one is in tests/vllm."""

from __future__ import annotations

import asyncio

import pytest

from voiceagent.llm.servers.vllm import VllmEngine, VllmOptions
from voiceagent.models.registry import resolve
from voiceagent.server.http.run import EXIT_WITHIN_S


class Sleeper:
    """Falls asleep when it is let, or fails to."""

    def __init__(self) -> None:
        self.dozing = asyncio.Event()
        self.may_sleep = asyncio.Event()
        self.error: Exception | None = None
        self.sleeps = False
        self.woken = 0
        self.ends_within_s: float | None = None

    async def sleep(self, level: int) -> None:
        self.dozing.set()
        await self.may_sleep.wait()
        if self.error is not None:
            raise self.error
        self.sleeps = True

    async def wake_up(self) -> None:
        self.sleeps = False
        self.woken += 1

    def shutdown(self, timeout: float | None = None) -> None:
        self.ends_within_s = 5.0 if timeout is None else timeout


@pytest.fixture
async def sleeper(monkeypatch: pytest.MonkeyPatch) -> Sleeper:
    vllm = Sleeper()
    monkeypatch.setattr("voiceagent.llm.servers.vllm._load", lambda folder, options, gauges: vllm)
    return vllm


async def dozing(sleeper: Sleeper) -> VllmEngine:
    folder = resolve("micro-lm")
    assert folder is not None
    engine = VllmEngine(folder, VllmOptions(sleep_after_s=0.0))
    engine._plan_nap()
    await sleeper.dozing.wait()
    return engine


async def test_who_gives_up_waiting_for_it_to_wake_leaves_it_to_the_next(sleeper: Sleeper) -> None:
    engine = await dozing(sleeper)
    interrupted = asyncio.create_task(engine._wake())
    await asyncio.sleep(0)
    interrupted.cancel()
    await asyncio.gather(interrupted, return_exceptions=True)
    sleeper.may_sleep.set()
    await engine._wake()
    assert (sleeper.sleeps, sleeper.woken) == (False, 1)


async def test_a_sleep_that_fails_keeps_nobody_from_asking(sleeper: Sleeper, caplog: pytest.LogCaptureFixture) -> None:
    sleeper.error = RuntimeError("no GPU")
    engine = await dozing(sleeper)
    sleeper.may_sleep.set()
    await engine._wake()
    await engine._wake()
    assert "could not sleep: no GPU" in caplog.text


async def test_it_ends_sooner_than_a_server_has_to(sleeper: Sleeper) -> None:
    await VllmEngine(resolve("micro-lm")).close()
    assert sleeper.ends_within_s is not None
    assert sleeper.ends_within_s < EXIT_WITHIN_S - 1
