"""The turn judges in a call. Judges that go by sound begin with a pause; the others begin once its words are known. Each answer
becomes an event of the turn engine. Running judges are cancelled when speech resumes or the endpoint comes. A turn ends even if
every judge fails."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from voiceagent.call.scope import CallScope
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import Message
from voiceagent.llm.engine import LlmSession, ToolSchema
from voiceagent.turn_judges.judge import JudgedPause, TurnJudge

log = logging.getLogger(__name__)

OWNER = "judging"
TOLD, UNKNOWN, FAILED, TOO_LATE = "told", "unknown", "failed", "too_late"
"""The outcomes of asking a judge."""


class Judging:
    """One per call."""

    def __init__(
        self,
        scope: CallScope,
        judges: Sequence[TurnJudge],
        hear: Callable[[], NDArray[np.int16]],
        language_model: LlmSession,
        tools: Callable[[], Sequence[ToolSchema]],
        count: Callable[[str], None] = lambda outcome: None,
    ) -> None:
        """`hear` gives the end of the open utterance's audio. `tools` are the schemas in the prompt of the `language_model`.
        `count` is called with the outcome of each judgement."""
        self._call_id = scope.call_id
        self._by_sound = [judge for judge in judges if not judge.needs_words]
        self._by_words = [judge for judge in judges if judge.needs_words]
        self._clock = scope.clock
        self._tasks = scope.tasks
        self._post = scope.post
        self._hear = hear
        self._language_model = language_model
        self._tools = tools
        self._count = count
        self._failed: set[tuple[str, type[Exception]]] = set()

    def follow(self, event: ev.Event) -> None:
        """Start the judges when the caller pauses. Cancel them when their estimates are no longer needed."""
        match event:
            case ev.SpeechPaused(utterance_id=utterance_id, pause_id=pause_id):
                self._tasks.cancel(OWNER)
                self._start(self._by_sound, utterance_id, pause_id, ())
            case ev.SpeechStarted() | ev.SpeechResumed() | ev.Endpoint():
                self._tasks.cancel(OWNER)

    def ask(self, action: act.JudgeTurn) -> None:
        """The words up to the pause are known. Start the judges that go by words."""
        self._start(self._by_words, action.utterance_id, action.pause_id, action.messages)

    def _start(self, judges: Sequence[TurnJudge], utterance_id: int, pause_id: int, messages: Sequence[Message]) -> None:
        if not judges:
            return
        words = messages[-1].content if messages else ""
        pause = JudgedPause(self._hear(), words, messages, self._tools() if messages else (), self._language_model)
        for judge in judges:
            self._tasks.start(OWNER, self._judge(judge, utterance_id, pause_id, pause))

    async def _judge(self, judge: TurnJudge, utterance_id: int, pause_id: int, pause: JudgedPause) -> None:
        began_ms = self._clock.now_ms()
        outcome = TOO_LATE
        try:
            chance = await judge.judge(pause)
            outcome = UNKNOWN if chance is None else TOLD
        except Exception as error:  # noqa: BLE001 - a plugin's may raise anything, and the call goes on without it
            outcome, chance = FAILED, None
            self._tell(judge, error)
        finally:
            self._count(outcome)
        now_ms = self._clock.now_ms()
        self._post(ev.TurnJudged(now_ms, utterance_id, pause_id, judge.name, chance, now_ms - began_ms))

    def _tell(self, judge: TurnJudge, error: Exception) -> None:
        """Log an error, once per judge and kind of error."""
        kind = (judge.name, type(error))
        if kind not in self._failed:
            self._failed.add(kind)
            reason = " ".join(str(error).split()) or type(error).__name__
            log.warning("call %s: the turn judge %s failed, turns end without it: %s", self._call_id, judge.name, reason)
