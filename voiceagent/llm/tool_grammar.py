"""Hermes-style tool calls as a structural tag of XGrammar: text stays free, and from `<tool_call>` on only a tool that there is,
with arguments of its schema, can be written. See xgrammar.mlc.ai, "Structural Tag"."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from voiceagent.llm.engine import ToolSchema
from voiceagent.llm.hermes import CLOSE, OPEN


def structural_tag(tools: Sequence[ToolSchema]) -> str:
    """The tag as JSON, for one or more tools."""
    tags = [_tag(tool["function"], line) for tool in tools for line in ("\n", "")]
    return json.dumps(
        {"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": [OPEN], "tags": tags}}, ensure_ascii=False
    )


def _tag(function: dict[str, Any], line: str) -> dict[str, Any]:
    """One tool's call; `line` is what stands between the tags and the JSON."""
    schema = function.get("parameters") or {"type": "object", "properties": {}}
    return {
        "type": "tag",
        "begin": f'{OPEN}{line}{{"name": {json.dumps(function["name"])}, "arguments": ',
        "content": {"type": "json_schema", "json_schema": schema},
        "end": f"}}{line}{CLOSE}",
    }
