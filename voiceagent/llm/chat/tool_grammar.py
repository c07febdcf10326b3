"""Tool calls as a structural tag of XGrammar. Text stays free. Where a call begins, only a known tool with arguments of its
schema can be written. For forms with JSON between marks of plain text. See xgrammar.mlc.ai, "Structural Tag"."""

from __future__ import annotations

import json
from collections.abc import Sequence

from voiceagent.llm.chat.tool_formats import HERMES, ToolFormat
from voiceagent.llm.engine import ToolSchema

_WRAPPED = {
    "hermes": ("<tool_call>", [(f"<tool_call>{line}", f"{line}</tool_call>") for line in ("\n", "")], "arguments"),
    "llama": ('{"name": ', [("", "")], "parameters"),
}
"""By form: what begins a call, the marks around its JSON, and the name of the arguments' field."""


MOST_SPACES = 1
"""Most spaces in a row. A small model may fill a call with white space if the grammar allows it."""


def structural_tag(tools: Sequence[ToolSchema], form: ToolFormat | None = HERMES) -> str | None:
    """The tag as JSON, for one or more tools. None for a form that is not constrained."""
    if form is None or form.name not in _WRAPPED:
        return None
    trigger, around, arguments = _WRAPPED[form.name]
    tags = [_tag(tool["function"], opener, closer, arguments) for tool in tools for opener, closer in around]
    return json.dumps(
        {"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": [trigger], "tags": tags}}, ensure_ascii=False
    )


def _tag(function: dict[str, object], opener: str, closer: str, arguments: str) -> dict[str, object]:
    """One tool's call between its marks."""
    schema = function.get("parameters") or {"type": "object", "properties": {}}
    return {
        "type": "tag",
        "begin": f'{opener}{{"name": {json.dumps(function["name"])}, "{arguments}": ',
        "content": {"type": "json_schema", "json_schema": schema, "max_whitespace_cnt": MOST_SPACES},
        "end": f"}}{closer}",
    }
