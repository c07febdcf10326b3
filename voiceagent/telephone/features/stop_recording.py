"""`stop_recording`: the caller does not want to be recorded and has said so. What there is of the recording is deleted."""

from __future__ import annotations

from collections.abc import Callable

from voiceagent.json_types import JsonObject
from voiceagent.tools.arguments import ArgumentSchema
from voiceagent.tools.threads import Threads
from voiceagent.tools.tool import Tool, ToolPolicy

NAME = "stop_recording"


class StopRecording(Tool):
    """Of one call on a telephone."""

    def __init__(self, refuse: Callable[[], None], description: str, deleted: str) -> None:
        """`refuse` ends the recording and deletes it; `deleted` is what the language model is told then."""
        self.name = NAME
        self.description = description
        self.policy = ToolPolicy("idempotent")
        self._arguments = ArgumentSchema({"type": "object", "properties": {}})
        self.parameters = self._arguments.parameters
        self._refuse = refuse
        self._deleted = deleted

    def parse(self, arguments: str) -> JsonObject:
        """See Tool."""
        return self._arguments.parse(arguments)

    async def run(self, given: JsonObject, threads: Threads) -> object:
        """Refuse the recording."""
        self._refuse()
        return {"status": self._deleted}
