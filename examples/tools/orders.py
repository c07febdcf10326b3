"""An MCP server with one tool, made with the official package. The agent starts it, and starts it again when it dies."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

server = MCPServer("Orders")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def order_status(order_number: Annotated[str, Field(description="4 to 6 digits")]) -> dict[str, Any]:
    """Tell where an order is."""
    digits = "".join(character for character in order_number if character.isdigit())
    if not 4 <= len(digits) <= 6:
        raise ToolError("An order number has 4 to 6 digits.")
    made_up = hashlib.sha256(digits.encode()).digest()[0]
    return {"order_number": " ".join(digits), "status": ["delivered", "being packed", "ready for pickup"][made_up % 3]}


if __name__ == "__main__":
    server.run()
