"""The state that a call would leave for another server if it stopped at this very moment. It is kept while the call goes on, in
case its server is killed (`call/journal.py`). The call itself is not changed."""

from __future__ import annotations

from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.machine import step
from voiceagent.conversation.reply import Reply
from voiceagent.conversation.state import LIVE, Phase, State


def left_at(state: State, at_ms: float) -> tuple[State, tuple[act.AnyAction, ...]] | None:
    """The state that is left, and the actions that tell the client of the end of what is said and done. Words of the caller that
    are known are left as if they had finished; others are lost. None: the call is not to go on."""
    if state.phase not in LIVE or state.silence.ending:
        return None
    actions: list[act.AnyAction] = []

    def feed(event: ev.Event) -> None:
        nonlocal state
        state, done = step(state, event)
        actions.extend(done)

    utterance = state.utterance
    if state.phase is Phase.HEARING and utterance.pause is not None and utterance.pause.text:
        feed(ev.Endpoint(at_ms, utterance.utterance_id, utterance.pause.speech_end_ms))
    feed(ev.HandedOver(at_ms, asks_again=True))
    while (cancelled := state.replies.cancelling) is not None:
        feed(ev.PlayoutStopped(at_ms, cancelled.reply_id, *_place(cancelled)))
    return state, tuple(actions)


def _place(reply: Reply) -> tuple[int, float]:
    """The place up to which the caller has heard a reply: its last clause, and the ms of that."""
    started = [(index, clause.played_ms) for index, clause in enumerate(reply.clauses) if clause.played_ms > 0]
    return started[-1] if started else (-1, 0.0)
