"""The language model's knowledge of the call: the history, and the summary of what is no longer in it. This file writes
`State.memory`.

A long conversation is shortened between two turns. Its older half is replaced by a summary, or left out, in one big step, because
a prefix cache must then be filled again."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import Message, estimated_tokens, turn_border
from voiceagent.conversation.state import Step


def known_history(step: Step) -> tuple[Message, ...]:
    """The beginning of every prompt: the instructions, the summary and the history."""
    memory = step.state.memory
    earlier = f"{step.prompts.summary} {memory.summary}" if memory.summary else ""
    instructions = "\n\n".join(part for part in (step.state.rules.instructions, earlier) if part)
    return (*((Message("system", instructions),) if instructions else ()), *memory.history)


def remember(step: Step, messages: Iterable[Message]) -> None:
    """Add messages to the history."""
    step.change("memory", history=(*step.state.memory.history, *messages))


def remember_turn(step: Step, asked: Message) -> None:
    """A turn of the caller begins with this message."""
    remember(step, (asked,))
    step.change("memory", turns=step.state.memory.turns + 1)


def take_back(step: Step) -> Message:
    """Remove the last message from the history."""
    *history, last = step.state.memory.history
    step.change("memory", history=tuple(history))
    return last


def rewrite_history(step: Step, rewritten: Callable[[Message], Message]) -> None:
    """Replace each message of the history by what `rewritten` makes of it."""
    step.change("memory", history=tuple(map(rewritten, step.state.memory.history)))


def make_room(step: Step) -> None:
    """While no turn waits, shorten a long history and prefill the known part of the next prompt. This also wakes a language model
    that sleeps."""
    compact(step)
    read_ahead(step)


def read_ahead(step: Step) -> None:
    """Prefill the known part of the next prompt."""
    known = known_history(step)
    if known and step.state.rules.speculation.max_replies:
        step.do(act.Prefill(known))


def compact(step: Step) -> bool:
    """The agent does not speak. Put in a finished summary, or check whether the history is too long. Returns whether messages
    left it."""
    state = step.state
    if state.memory.summarised is not None:
        _forget_summarised(step, state.memory.summarised)
        return True
    most = state.rules.memory.long_history_tokens
    if state.memory.summarising or not most or estimated_tokens(state.memory.history) <= most:
        return False
    border = turn_border(state.memory.history, 0.5)
    if not border:
        return False
    step.change("memory", summarising=border)
    if not state.rules.memory.summarise:
        _forget_summarised(step, "")
        return True
    told = (Message("system", state.memory.summary),) if state.memory.summary else ()
    step.do(act.Summarise((*told, *state.memory.history[:border], Message("user", step.prompts.sum_up))))
    return False


def take_summary(step: Step, event: ev.Summarised) -> None:
    """Keep the summary. It is put in between two turns."""
    if step.state.memory.summarising:
        step.change("memory", summarised=event.text)


def _forget_summarised(step: Step, summary: str) -> None:
    left = step.state.memory.history[step.state.memory.summarising :]
    step.change("memory", history=left, summary=summary, summarising=0, summarised=None)
