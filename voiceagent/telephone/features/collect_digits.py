"""`collect_digits`: the agent asks for a number to be keyed in and says how it ends. The number comes as the caller's next words,
so the caller may also say it, or something else."""

from __future__ import annotations

from collections.abc import Callable

from voiceagent.json_types import JsonObject
from voiceagent.telephone.keypad import MAX_KEYS, PAUSE_S, TERMINATOR, KeyRule
from voiceagent.tools.arguments import ArgumentSchema
from voiceagent.tools.threads import Threads
from voiceagent.tools.tool import Tool, ToolPolicy
from voiceagent.turn_taking.phone_words import PhoneWords

NAME = "collect_digits"
SHORTEST_S, LONGEST_S = 0.5, 30.0
"""Of the pause that ends a number: nobody keys faster, and nobody waits longer."""
PARAMETERS = {
    "type": "object",
    "properties": {
        "max_digits": {"type": "integer", "minimum": 1, "maximum": MAX_KEYS},
        "terminator": {"type": "string", "enum": ["#", "*", ""]},
        "timeout_between_digits_s": {"type": "number", "minimum": SHORTEST_S, "maximum": LONGEST_S},
    },
}


class CollectDigits(Tool):
    """Of one call on a telephone."""

    def __init__(self, collect: Callable[[KeyRule], None], words: PhoneWords) -> None:
        """`collect` tells the keypad how the next number ends."""
        self.name = NAME
        self.description = words.collect_digits
        self.policy = ToolPolicy("idempotent")
        self._arguments = ArgumentSchema(PARAMETERS)
        self.parameters = self._arguments.parameters
        self._collect = collect
        self._collecting = words.collecting

    def parse(self, arguments: str) -> JsonObject:
        """See Tool."""
        return self._arguments.parse(arguments)

    async def run(self, given: JsonObject, threads: Threads) -> object:
        """Set the keypad."""
        most = given.get("max_digits") or MAX_KEYS
        pause_s = given.get("timeout_between_digits_s") or PAUSE_S
        self._collect(KeyRule(given.get("terminator", TERMINATOR), most, pause_s))
        return {"status": self._collecting}
