"""The tasks of a call, by owner. An owner may have parts: "reply 3/call 1" is a part of "reply 3". The tasks of a
reply end with the reply. All tasks end with the call."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine


class CallTasks:
    """Starts tasks in the call's task group. The tasks of one owner can be cancelled together."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        self._owned: dict[str, set[asyncio.Task[None]]] = {}

    def start(self, owner: str, work: Coroutine[object, None, None]) -> asyncio.Task[None]:
        """Run `work` until it ends, its owner is cancelled, or the call ends."""
        task = self._group.create_task(work, name=owner)
        self._owned.setdefault(owner, set()).add(task)
        task.add_done_callback(lambda done: self._forget(owner, done))
        return task

    def _forget(self, owner: str, task: asyncio.Task[None]) -> None:
        tasks = self._owned.get(owner)
        if tasks is not None:
            tasks.discard(task)
            if not tasks:
                del self._owned[owner]

    def cancel(self, owner: str, spared: Collection[str] = ()) -> None:
        """Cancel the running tasks of the owner and its parts, except for the spared parts."""
        for name in self._owned.keys() - spared:
            if name == owner or name.startswith(f"{owner}/"):
                for task in tuple(self._owned[name]):
                    task.cancel()

    def cancel_all(self) -> None:
        """Cancel all tasks."""
        for owner in tuple(self._owned):
            self.cancel(owner)
