"""The agent's tool `transfer`. A warm transfer takes as long as a telephone rings and a summary lasts, so where there is one the
tool belongs to the leg, with a time limit and words of its own; the result says what came of it."""

from __future__ import annotations

import json

from voiceagent.json_types import JsonObject
from voiceagent.media.gateway_leg import RunTool
from voiceagent.server.warm_transfer import LONGEST_S
from voiceagent.telephony.sip_settings import SipSettings
from voiceagent.tools.arguments import ArgumentSchema
from voiceagent.tools.policy import ToolPolicy
from voiceagent.tools.threads import Threads
from voiceagent.tools.tool import Tool, ToolError

NAME = "transfer"


def described(settings: SipSettings) -> JsonObject:
    """The tool as the language model is told of it."""
    to = {"type": "string", "enum": list(settings.transfers), "description": "To whom."}
    parameters = {"type": "object", "properties": {"to": to}, "required": ["to"]}
    return {
        "name": NAME,
        "description": "Transfer the caller to somebody else; this call ends then.",
        "parameters": parameters,
    }


class WarmTransfer(Tool):
    """Of one call, where `settings` have a warm transfer."""

    def __init__(self, settings: SipSettings, run: RunTool, connecting: str) -> None:
        """`connecting` is said to the caller meanwhile."""
        told = described(settings)
        self.name = NAME
        self.description = str(told["description"])
        self._arguments = ArgumentSchema(told["parameters"])
        self.parameters = self._arguments.parameters
        fillers = (connecting,) if connecting else ()
        self.policy = ToolPolicy("external", fillers, timeout_s=settings.longest_ring_s + LONGEST_S)
        self._run = run

    def parse(self, arguments: str) -> JsonObject:
        """See Tool."""
        return self._arguments.parse(arguments)

    async def run(self, given: JsonObject, threads: Threads) -> object:
        """See Tool."""
        outcome = await self._run(NAME, json.dumps(given))
        if "error" in outcome:
            raise ToolError(str(outcome["error"]))
        return outcome
