"""Turns the answer of an MCP server into what the model is told."""

from __future__ import annotations

import json

from mcp_types import CallToolResult, TextContent

from voiceagent.tools.tool import ToolError

MAX_PROBLEM_CHARACTERS = 300


def read_result(tool: str, result: CallToolResult) -> object:
    """The structured result if there is one; else the text, read as JSON where it is JSON. Pictures and sounds cannot be said and
    are left out. Raises ToolError when the server says that the tool failed."""
    text = "\n".join(block.text for block in result.content if isinstance(block, TextContent)).strip()
    if result.is_error:
        why = text.removeprefix(f"Error executing tool {tool}: ")
        raise ToolError(why[:MAX_PROBLEM_CHARACTERS] or f"The tool {tool} failed.")
    if result.structured_content is not None:
        return result.structured_content
    if result.content and not text:
        raise ToolError(f"The tool {tool} answered with what cannot be said.")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
