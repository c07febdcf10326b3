"""The tasks of a call and their owners."""

from __future__ import annotations

import asyncio

from voiceagent.call.scope import CallTasks


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
