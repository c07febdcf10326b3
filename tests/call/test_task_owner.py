"""Owners of tasks, and of those of a call: what they start has ended when they have, and errors that nobody takes are logged."""

from __future__ import annotations

import asyncio
import logging
import re
from pathlib import Path

import pytest

from voiceagent.call.scope import CallTasks
from voiceagent.task_owner import Once, TaskOwner, running

PACKAGE = Path(__file__).resolve().parents[2] / "voiceagent"
BARE = re.compile(r"asyncio\.create_task|ensure_future|loop\(\)\.create_task")


async def for_ever(ended: list[str]) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        ended.append("ended")


async def broken() -> None:
    raise RuntimeError("on purpose")


async def test_what_an_owner_started_has_ended_once_it_is_closed() -> None:
    owner, ended = TaskOwner(), list[str]()
    owner.start(for_ever(ended), "first")
    owner.start_alone(for_ever(ended), "second")
    await asyncio.sleep(0)
    assert len(owner) == 2
    await owner.close()
    assert (ended, len(owner)) == (["ended", "ended"], 0)
    await owner.close()


async def test_an_owner_waits_for_its_tasks_no_longer_than_it_is_told() -> None:
    owner = TaskOwner()
    owner.start_alone(asyncio.sleep(0.01), "short")
    await owner.finished()
    assert not owner
    owner.start_alone(for_ever([]), "long")
    await owner.finished(0.01)
    assert len(owner) == 1
    await owner.close()


async def test_the_error_of_a_task_for_which_nobody_waits_is_logged_and_another_is_its_starters(
    caplog: pytest.LogCaptureFixture,
) -> None:
    owner = TaskOwner()
    owner.start_alone(broken(), "alone")
    await owner.finished()
    (line,) = caplog.records
    assert (line.levelno, line.getMessage()) == (logging.ERROR, "the task alone broke")
    with pytest.raises(RuntimeError, match="on purpose"):
        await owner.start(broken(), "awaited")
    assert len(caplog.records) == 1


async def test_work_beside_a_body_ends_with_it_and_its_error_is_the_bodys() -> None:
    ended = list[str]()
    async with running(for_ever(ended), "beside"):
        await asyncio.sleep(0)
    assert ended == ["ended"]
    with pytest.raises(RuntimeError, match="on purpose"):
        async with running(broken(), "beside") as task:
            await task


async def test_work_that_is_done_once_goes_on_when_one_of_those_who_wait_for_it_gives_up() -> None:
    may_end, runs = asyncio.Event(), list[int]()

    async def work() -> None:
        runs.append(1)
        await may_end.wait()

    once = Once(work, "once")
    first = asyncio.ensure_future(once.run())
    await asyncio.sleep(0)
    first.cancel()
    second = asyncio.ensure_future(once.run())
    await asyncio.sleep(0)
    may_end.set()
    await second
    await once.run()
    assert runs == [1]


def test_no_task_of_the_package_is_without_an_owner() -> None:
    found = [path.name for path in PACKAGE.rglob("*.py") if BARE.search(path.read_text(encoding="utf-8"))]
    assert found == ["task_owner.py"]


async def test_an_owner_is_cancelled_with_its_parts_except_for_those_that_are_spared() -> None:
    async with asyncio.TaskGroup() as group:
        tasks = CallTasks(group)
        owners = ("reply 1", "reply 1/a", "reply 1/b", "reply 11", "reply 11/a")
        started = {owner: tasks.start(owner, asyncio.sleep(60)) for owner in owners}
        tasks.cancel("reply 1", ["reply 1/b"])
        await asyncio.wait([started["reply 1"], started["reply 1/a"]])
        assert [owner for owner, task in started.items() if not task.done()] == ["reply 1/b", "reply 11", "reply 11/a"]
        tasks.cancel("reply 1/b")
        await asyncio.wait([started["reply 1/b"]])
        tasks.cancel_all()
