"""The controller over workers that a script plays. Time is the test's; Ray takes no part: tests/cluster/on_ray.py has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec
import pytest

from voiceagent.cluster.autoscale import ScaleSettings
from voiceagent.cluster.controller import Controller, WorkerGoneError, WorkerOrder, WorkerReport
from voiceagent.errors import UnknownNameError
from voiceagent.gateway.messages import WorkerStatus

READY = WorkerStatus("ready", "", places=4)
RUNS = WorkerReport("box", 17)


@dataclass
class PlayedWorker:
    order: WorkerOrder
    said: WorkerReport | Exception = RUNS
    drained: int = 0
    is_ended: bool = False

    async def report(self) -> WorkerReport:
        if isinstance(self.said, Exception):
            raise self.said
        return self.said

    async def drain(self) -> None:
        self.drained += 1

    async def end(self) -> None:
        self.is_ended = True


@dataclass
class PlayedPlaces:
    before: dict[int, tuple[WorkerOrder, PlayedWorker]] = field(default_factory=dict)
    started: dict[int, PlayedWorker] = field(default_factory=dict)

    def start(self, order: WorkerOrder) -> PlayedWorker:
        self.started[order.number] = PlayedWorker(order)
        return self.started[order.number]

    def running(self) -> Mapping[int, tuple[WorkerOrder, PlayedWorker]]:
        return self.before


@dataclass
class Clock:
    now_s: float = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def places() -> PlayedPlaces:
    return PlayedPlaces()


@pytest.fixture
def clock() -> Clock:
    return Clock()


def made(places: PlayedPlaces, clock: Clock, *regions: str, least: int = 2, most: int = 3) -> Controller:
    return Controller(places, ScaleSettings(least, most), regions or ("",), clock)


async def step(controller: Controller, **calls: int) -> list[int]:
    """A step after a gateway has told that every worker is ready, with these calls. Returns the workers' numbers."""
    states = controller.states()
    controller.told(
        {state.order.number: msgspec.structs.replace(READY, calls=calls.get(f"of_{state.order.number}", 0)) for state in states}
    )
    await controller.step()
    return [state.order.number for state in controller.states()]


async def test_it_starts_the_workers_that_are_missing_and_gives_each_a_number_and_ports_of_its_own(
    places: PlayedPlaces, clock: Clock
) -> None:
    controller = made(places, clock)
    await controller.step()
    assert [state.order for state in controller.states()] == [WorkerOrder(1, "", 0, 6), WorkerOrder(2, "", 1, 6)]
    assert not controller.states()[0].is_ready
    assert await step(controller) == [1, 2]
    assert [(state.is_ready, state.report.machine) for state in controller.states()] == [(True, "box")] * 2
    assert controller.reasons() == {"": "0 of at least 2 workers are there"}


async def test_calls_start_another_worker_and_their_end_drains_it(places: PlayedPlaces, clock: Clock) -> None:
    controller = made(places, clock, least=1)
    await controller.step()
    assert await step(controller, of_1=3) == [1, 2]
    for clock.now_s in range(1, 123):
        await step(controller)
    assert [(state.order.number, state.is_draining) for state in controller.states()] == [(1, False), (2, True)]
    assert places.started[2].drained


async def test_each_region_has_workers_of_its_own(places: PlayedPlaces, clock: Clock) -> None:
    await made(places, clock, "eu", "us").step()
    assert [worker.order.region for worker in places.started.values()] == ["eu", "eu", "us", "us"]


async def test_while_no_gateway_tells_of_the_workers_none_is_started_beyond_the_least(places: PlayedPlaces, clock: Clock) -> None:
    controller = made(places, clock)
    await controller.step()
    for clock.now_s in (1.0, 100.0, 1000.0):
        await controller.step()
    assert len(places.started) == 2


async def test_a_drained_worker_is_replaced_at_once_and_forgotten_when_its_last_call_has_ended(
    places: PlayedPlaces, clock: Clock
) -> None:
    controller = made(places, clock)
    await controller.step()
    await controller.drain(1)
    assert await step(controller) == [1, 2, 3]
    assert places.started[3].order.slot == 2
    places.started[1].said = WorkerReport("box", 17, is_over=True)
    assert await step(controller) == [2, 3]
    assert places.started[1].is_ended


async def test_a_worker_that_was_started_again_is_told_again_to_drain(places: PlayedPlaces, clock: Clock) -> None:
    controller = made(places, clock)
    await controller.step()
    await controller.drain(1)
    await step(controller)
    assert places.started[1].drained == 2


async def test_a_worker_that_does_not_answer_gets_no_calls_and_one_that_is_gone_is_replaced(
    places: PlayedPlaces, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    controller = made(places, clock)
    await controller.step()
    await step(controller)
    places.started[1].said = ConnectionError("refused")
    places.started[2].said = WorkerGoneError("killed")
    assert await step(controller) == [1, 3]
    assert [state.is_ready for state in controller.states()] == [False, False]
    assert [record.getMessage() for record in caplog.records] == ["worker 1 does not answer: refused", "worker 2 is gone: killed"]


async def test_a_controller_that_was_started_anew_finds_its_workers(places: PlayedPlaces, clock: Clock) -> None:
    order = WorkerOrder(7, "", 3, 6)
    places.before[7] = order, PlayedWorker(order)
    controller = made(places, clock, least=1)
    assert await step(controller) == [7]
    assert controller.states()[0].is_ready
    await controller.drain(7)
    assert await step(controller) == [7, 8]


async def test_it_names_the_workers_that_there_are_to_who_drains_another(places: PlayedPlaces, clock: Clock) -> None:
    controller = made(places, clock)
    await controller.step()
    with pytest.raises(UnknownNameError, match="there is no worker 9; there are: 1, 2"):
        await controller.drain(9)


async def test_its_end_ends_all_workers_and_starts_no_other(places: PlayedPlaces, clock: Clock) -> None:
    controller = made(places, clock)
    await controller.step()
    await controller.end()
    await controller.run()
    assert controller.is_over
    assert all(worker.is_ended for worker in places.started.values())
    assert len(places.started) == 2
