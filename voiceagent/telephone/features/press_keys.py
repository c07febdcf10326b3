"""`press_keys`: the agent presses keys of the telephone, for a menu of somebody whom it called."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from voiceagent.errors import MediaError
from voiceagent.json_types import JsonObject
from voiceagent.tools.arguments import ArgumentSchema
from voiceagent.tools.threads import Threads
from voiceagent.tools.tool import Tool, ToolError, ToolPolicy

NAME = "press_keys"
PATTERN = "^[0-9*#w]{1,32}$"

Press = Callable[[str], Awaitable[None]]
"""Raises ValueError for what is no key, MediaError or ConnectionError where nothing goes out."""


class PressKeys(Tool):
    """Of one call on a telephone."""

    def __init__(self, press: Press, description: str) -> None:
        self.name = NAME
        self.description = description
        self.policy = ToolPolicy("external")
        keys = {"type": "string", "pattern": PATTERN}
        self._arguments = ArgumentSchema({"type": "object", "properties": {"keys": keys}, "required": ["keys"]})
        self.parameters = self._arguments.parameters
        self._press = press

    def parse(self, arguments: str) -> JsonObject:
        """See Tool."""
        return self._arguments.parse(arguments)

    async def run(self, given: JsonObject, threads: Threads) -> object:
        """Press them."""
        try:
            await self._press(str(given["keys"]))
        except (ValueError, MediaError, ConnectionError, TimeoutError) as error:
            raise ToolError(f"The keys were not pressed: {error or 'the call is gone'}.") from error
        return {"status": "pressed"}
