"""When a conversation has become long: its older half makes room for a summary, or for nothing, between two turns. In one big
step, because whatever keeps what it has read of the prompt must read it anew then."""

from __future__ import annotations

from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import Message, estimated_tokens, turn_border
from voiceagent.conversation.step import Step


def compact(step: Step) -> None:
    """Nobody speaks: put in the summary that was waited for, or see whether the history is too long."""
    state = step.state
    if state.summarised is not None:
        _replace(step, state.summarised)
        return
    most = state.rules.long_history_tokens
    if state.summarising or not most or estimated_tokens(state.history) <= most:
        return
    border = turn_border(state.history, 0.5)
    if not border:
        return
    step.put(summarising=border)
    if not state.rules.summarise:
        _replace(step, "")
        return
    told = (Message("system", state.summary),) if state.summary else ()
    step.do(act.Summarise((*told, *state.history[:border], Message("user", step.prompts.sum_up))))


def take_summary(step: Step, event: ev.Summarised) -> None:
    """It is put in between turns, and between turns only."""
    if step.state.summarising:
        step.put(summarised=event.text)


def _replace(step: Step, summary: str) -> None:
    border = step.state.summarising
    step.put(history=step.state.history[border:], summary=summary, summarising=0, summarised=None)
