"""The monitor finds what holds the event loop, whatever kind of thing it is."""

from __future__ import annotations

import asyncio
import asyncio.events
import functools
import logging
import time

import pytest

from voiceagent.server.monitoring.loop_monitor import LoopMonitor
from voiceagent.server.monitoring.metrics import Metrics

HERE = "server.test_loop_monitor:"


def busy(duration_ms: float) -> None:
    end_s = time.perf_counter() + duration_ms / 1000
    while time.perf_counter() < end_s:
        pass


async def slow_inside() -> None:
    busy(8)


async def slow_task() -> None:
    await asyncio.sleep(0)
    await slow_inside()
    await asyncio.sleep(0)


def slow_callback() -> None:
    busy(8)


async def test_a_slow_step_of_a_task_is_counted_under_its_coroutine() -> None:
    metrics = Metrics()
    with LoopMonitor(metrics):
        await asyncio.create_task(slow_task())
    assert metrics.blocked[HERE + "slow_task"] == 1


async def test_a_slow_callback_is_counted_under_its_function() -> None:
    metrics = Metrics()
    with LoopMonitor(metrics):
        loop = asyncio.get_running_loop()
        loop.call_soon(slow_callback)
        loop.call_later(0.001, functools.partial(slow_callback))
        done = asyncio.Event()
        loop.call_later(0.002, done.set)
        await done.wait()
    assert metrics.blocked[HERE + "slow_callback"] == 2


async def test_what_is_quick_is_not_counted() -> None:
    metrics = Metrics()
    with LoopMonitor(metrics, limit_ms=10_000):
        await asyncio.create_task(slow_task())
    assert not metrics.blocked


async def test_the_line_of_what_lasts_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    metrics = Metrics()

    def lasting() -> None:
        busy(150)

    with caplog.at_level(logging.WARNING), LoopMonitor(metrics):
        loop = asyncio.get_running_loop()
        loop.call_soon(lasting)
        loop.call_soon(lasting)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    lines = [record.getMessage() for record in caplog.records if "lasting" in record.getMessage()]
    assert len(lines) == 1
    assert "seen at test_loop_monitor.py:" in lines[0]
    assert sum(metrics.blocked.values()) == 2


async def test_the_lag_of_the_loop_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = Metrics()
    measured = asyncio.Event()
    count = metrics.loop_lag

    def counted(lag_ms: float) -> None:
        count(lag_ms)
        measured.set()

    monkeypatch.setattr(metrics, "loop_lag", counted)
    with LoopMonitor(metrics):
        await asyncio.wait_for(measured.wait(), 5)
    text = metrics.render()
    assert 'voiceagent_loop_lag_ms_bucket{le="+Inf"} 1' in text
    assert "voiceagent_loop_lag_ms_count 1" in text


async def test_it_leaves_the_event_loop_as_it_was() -> None:
    before = asyncio.events.Handle._run
    with LoopMonitor(Metrics()):
        assert asyncio.events.Handle._run is not before
    assert asyncio.events.Handle._run is before


async def test_of_two_monitors_the_first_is_at_work() -> None:
    first, second = Metrics(), Metrics()
    with LoopMonitor(first), LoopMonitor(second):
        await asyncio.create_task(slow_task())
    assert (sum(first.blocked.values()), sum(second.blocked.values())) == (1, 0)


async def test_an_error_in_a_callback_still_reaches_the_loop() -> None:
    caught: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: caught.append(str(context["exception"])))

    def broken() -> None:
        raise ValueError("broken on purpose")

    with LoopMonitor(Metrics()):
        loop.call_soon(broken)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    assert caught == ["broken on purpose"]


def test_names_in_the_metrics_are_bounded() -> None:
    metrics = Metrics()
    for number in range(200):
        metrics.blocked.add(f"module:function{number}")
    assert len(metrics.blocked) <= 65
    assert 'voiceagent_loop_blocked_total{where="other"}' in metrics.render()
