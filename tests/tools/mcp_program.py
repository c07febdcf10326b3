"""A real MCP server, made with the official package: over standard input and output, or with a port by streamable HTTP."""

from __future__ import annotations

import os
import sys

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

server = MCPServer("Kitchen")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool(annotations=ToolAnnotations(idempotent_hint=True))
def note(text: str) -> str:
    """Write a note."""
    return f"noted: {text}"


@server.tool()
def cook(dish: str) -> dict[str, str]:
    """Cook a dish."""
    if dish == "stone":
        raise ToolError("Stones are not cooked here.")
    return {"dish": dish, "secret": os.environ.get("KITCHEN_KEY", "")}


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def flood() -> str:
    """Say far too much."""
    return "x" * 100_000


@server.tool()
def leave() -> None:
    """End the server in the middle of a call."""
    os._exit(1)


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def learn(context: Context) -> str:
    """Have one tool more."""

    def bake(cake: str) -> str:
        return f"baked {cake}"

    server.add_tool(bake, description="Bake a cake.")
    await context.notify_tools_changed()
    await context.session.send_tool_list_changed()
    return "learnt"


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def whose(context: Context) -> str:
    """Say whose call it is."""
    call = (context.request_context.meta or {}).get("voiceagent/call")
    return str(call["caller"]) if isinstance(call, dict) else "nobody known"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run()
