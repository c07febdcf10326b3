"""One call: where a leg, the engines and a conversation are wired together."""

from voiceagent.call.call import Call

__all__ = ["Call"]
