"""Shortening a long conversation. Its older half is replaced by a summary, or left out, between two turns. This happens in one
big step, because a prefix cache must then be filled again."""

from __future__ import annotations

from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import Message, estimated_tokens, turn_border
from voiceagent.conversation.step import Step


def compact(step: Step) -> bool:
    """The agent does not speak. Put in a finished summary, or check whether the history is too long. Returns whether messages
    left it."""
    state = step.state
    if state.memory.summarised is not None:
        _replace(step, state.memory.summarised)
        return True
    most = state.rules.memory.long_history_tokens
    if state.memory.summarising or not most or estimated_tokens(state.memory.history) <= most:
        return False
    border = turn_border(state.memory.history, 0.5)
    if not border:
        return False
    step.put_memory(summarising=border)
    if not state.rules.memory.summarise:
        _replace(step, "")
        return True
    told = (Message("system", state.memory.summary),) if state.memory.summary else ()
    step.do(act.Summarise((*told, *state.memory.history[:border], Message("user", step.prompts.sum_up))))
    return False


def take_summary(step: Step, event: ev.Summarised) -> None:
    """Keep the summary. It is put in between two turns."""
    if step.state.memory.summarising:
        step.put_memory(summarised=event.text)


def _replace(step: Step, summary: str) -> None:
    border = step.state.memory.summarising
    step.put_memory(history=step.state.memory.history[border:], summary=summary, summarising=0, summarised=None)
