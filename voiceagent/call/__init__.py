"""One call: it connects a leg, the engines and the turn engine."""

from voiceagent.call.call import Call

__all__ = ["Call"]
