"""The tool of a survey. What it keeps belongs to the call, and stands in the call's result as `state`."""

from __future__ import annotations

from dataclasses import dataclass, field

from voiceagent.tools import CallContext, ToolError, tool

MOST = 5


@dataclass
class Remarks:
    """What the person has added."""

    remarks: list[str] = field(default_factory=list)


@tool(effect="idempotent")
def keep_remark(remark: str, call: CallContext[Remarks]) -> str:
    """Keep what they want to add, in their words."""
    if len(call.state.remarks) == MOST:
        raise ToolError("No more can be added.")
    if remark not in call.state.remarks:
        call.state.remarks.append(remark)
    return "It is kept."
