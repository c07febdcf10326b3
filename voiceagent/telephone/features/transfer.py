"""`transfer`: the agent puts the caller through to somebody of the settings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from voiceagent.json_types import JsonObject
from voiceagent.tools.arguments import ArgumentSchema
from voiceagent.tools.threads import Threads
from voiceagent.tools.tool import Tool, ToolPolicy

NAME = "transfer"


class Transfer(Tool):
    """Of one call on a telephone."""

    def __init__(
        self,
        names: Sequence[str],
        description: str,
        put_through: Callable[[str], Awaitable[str]],
        connecting: str = "",
        timeout_s: float | None = None,
    ) -> None:
        """`names` are those whom the caller may be put through to. `put_through` gives what the language model is told of it, or
        raises ToolError; `connecting` is said meanwhile, for at most `timeout_s`."""
        self.name = NAME
        self.description = description
        self.policy = ToolPolicy("external", (connecting,) if connecting else (), timeout_s=timeout_s)
        to = {"type": "string", "enum": list(names)}
        self._arguments = ArgumentSchema({"type": "object", "properties": {"to": to}, "required": ["to"]})
        self.parameters = self._arguments.parameters
        self._put_through = put_through

    def parse(self, arguments: str) -> JsonObject:
        """See Tool."""
        return self._arguments.parse(arguments)

    async def run(self, given: JsonObject, threads: Threads) -> object:
        """See Tool."""
        return {"status": await self._put_through(str(given["to"]))}
