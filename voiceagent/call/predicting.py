"""Which tool a caller will want, by how earlier callers put it: a partial transcript may become a `ToolPredicted`, and each tool
call teaches the agent's predictor."""

from __future__ import annotations

from voiceagent.call.scope import CallScope
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.tools.toolset import ToolSet


class Predicting:
    """One per call."""

    def __init__(self, scope: CallScope, tools: ToolSet) -> None:
        self._scope = scope
        self._tools = tools

    def hear(self, event: ev.Transcript) -> None:
        """The open utterance has more words."""
        predicted = self._tools.predictor.predict(f"{event.stable} {event.unstable}")
        if predicted is not None:
            self._scope.post(ev.ToolPredicted(event.at_ms, event.utterance_id, *predicted))

    def learn(self, started: act.ToolStarted, said: str) -> None:
        """The caller's words led to that tool call."""
        self._tools.learn(said, started.name, started.arguments)
