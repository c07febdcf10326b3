"""The tool with which the language model ends the call. The turn engine runs it: it knows whether the goodbye was heard, and
whether the caller objects to it."""

from __future__ import annotations

from typing_extensions import override

from voiceagent.tools.arguments import ArgumentSchema, SchemaTool
from voiceagent.tools.tool import RunScope, ToolPolicy

NAME = "end_call"


class EndCallTool(SchemaTool):
    """`end_call`. Its policy is that of a tool with an effect, so it never runs for words that ask for nothing."""

    def __init__(self, description: str, reason: str) -> None:
        """`reason` describes its argument to the language model."""
        schema = {"type": "object", "properties": {"reason": {"type": "string", "maxLength": 300, "description": reason}}}
        super().__init__(NAME, description, ToolPolicy("external"), ArgumentSchema(schema))

    @override
    async def run(self, given: dict[str, object], scope: RunScope) -> object:
        scope.call.end(str(given.get("reason") or ""))
        return {"status": "ending"}
