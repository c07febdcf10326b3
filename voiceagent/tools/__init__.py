"""Tools that the model may call: Python functions by decorator, MCP servers, webhooks and the client's own. They run off the
critical path and have a time limit."""

from voiceagent.tools.call_context import CallContext
from voiceagent.tools.decorator import Digits, Email, Phone, Spelled, tool
from voiceagent.tools.tool import ToolError

__all__ = ["CallContext", "Digits", "Email", "Phone", "Spelled", "ToolError", "tool"]
