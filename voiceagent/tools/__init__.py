"""Tools the model may call: Python functions by decorator, run off the critical path and bounded in time."""

from voiceagent.tools.decorator import ToolError, tool

__all__ = ["ToolError", "tool"]
