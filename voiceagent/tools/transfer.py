"""`transfer`: the agent puts the caller through to somebody of the settings. It does not wait: the agent says so, and the caller
is put through when the reply is over."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from voiceagent.json_types import JsonObject
from voiceagent.tools.arguments import ArgumentSchema
from voiceagent.tools.policy import ToolPolicy
from voiceagent.tools.threads import Threads
from voiceagent.tools.tool import Tool
from voiceagent.turn_taking.phone_words import PhoneWords

NAME = "transfer"


class Transfer(Tool):
    """Of one call on a telephone."""

    def __init__(self, names: Sequence[str], after_reply: Callable[[str], None], words: PhoneWords) -> None:
        """`names` are those whom the caller may be put through to; `after_reply` has that done."""
        self.name = NAME
        self.description = words.transfer
        self.policy = ToolPolicy("external")
        to = {"type": "string", "enum": list(names)}
        self._arguments = ArgumentSchema({"type": "object", "properties": {"to": to}, "required": ["to"]})
        self.parameters = self._arguments.parameters
        self._after_reply = after_reply
        self._transferring = words.transferring

    def parse(self, arguments: str) -> JsonObject:
        """See Tool."""
        return self._arguments.parse(arguments)

    async def run(self, given: JsonObject, threads: Threads) -> object:
        """Have the caller put through after the reply."""
        self._after_reply(str(given["to"]))
        return {"status": self._transferring}
