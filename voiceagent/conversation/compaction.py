"""When a conversation has become long: its older half makes room for a summary, or for nothing, between two turns. In one big
step, because whatever keeps what it has read of the prompt must read it anew then."""

from __future__ import annotations

from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import Message
from voiceagent.conversation.step import Step

CHARACTERS_PER_TOKEN = 4
"""About so many in English; the true tokens are the language model's."""


def compact(step: Step) -> bool:
    """Nobody speaks: put in the summary that was waited for, or see whether the history is too long. Whether it changed."""
    state = step.state
    if state.summarised is not None:
        return _replace(step, state.summarised)
    if state.summarising or not state.rules.long_history_tokens or _tokens(state.history) <= state.rules.long_history_tokens:
        return False
    border = _half(state.history)
    if not border:
        return False
    step.put(summarising=border)
    if not state.rules.summarise:
        return _replace(step, "")
    told = (Message("system", state.summary),) if state.summary else ()
    step.do(act.Summarise((*told, *state.history[:border])))
    return False


def take_summary(step: Step, event: ev.Summarised) -> None:
    """It is put in between turns, and between turns only."""
    if step.state.summarising:
        step.put(summarised=event.text)


def _replace(step: Step, summary: str) -> bool:
    border = step.state.summarising
    step.put(history=step.state.history[border:], summary=summary, summarising=0, summarised=None)
    return True


def _half(history: tuple[Message, ...]) -> int:
    """The turn's border that comes first after half of the history; 0 where there is none."""
    half, seen = _tokens(history) / 2, 0.0
    for index, message in enumerate(history):
        if index and message.role == "user" and seen >= half:
            return index
        seen += _tokens((message,))
    return 0


def _tokens(messages: tuple[Message, ...]) -> float:
    """An estimate."""
    characters = sum(len(message.prompted) + sum(len(call.arguments) for call in message.tool_calls) for message in messages)
    return characters / CHARACTERS_PER_TOKEN
