"""The language model's knowledge of the call: the history, and the summary of what is no longer in it. This file writes
`State.memory`.

A long conversation is shortened between two turns. Its older half is replaced by a summary, or left out, in one big step, because
a prefix cache must then be filled again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import Message, estimated_tokens, turn_border
from voiceagent.conversation.state import Step

HANDED_ON = 7
"""The most messages of what was said that an agent without a summary takes over: three turns and the caller's last words."""


def known_history(step: Step, own: str | None = None) -> tuple[Message, ...]:
    """The beginning of every prompt: the instructions, the summary and the history. `own` are a reply's own instructions."""
    memory = step.state.memory
    earlier = f"{step.prompts.summary} {memory.summary}" if memory.summary else ""
    told = step.state.rules.instructions if own is None else own
    added = (message.content for message in memory.history if message.role == "system")
    instructions = "\n\n".join(part for part in (told, *_of_step(step), *added, earlier) if part)
    said = (message for message in memory.history if message.role != "system")
    return (*((Message("system", instructions),) if instructions else ()), *said)


def _of_step(step: Step) -> tuple[str, ...]:
    """The instructions of the agent's step, and the values that were known when it began."""
    flow = step.state.flow
    rule = step.state.rules.steps.get(flow.step)
    known = f"{step.prompts.known_values} {flow.known}" if flow.known else ""
    if rule is None:
        return ("", "", known)
    collected = f"{step.prompts.collected_values} {', '.join(rule.collect)}." if rule.collect else ""
    return rule.instructions, collected, known


def remember(step: Step, messages: Iterable[Message], keys: tuple[str, ...] = ()) -> None:
    """Add messages to the history. `keys` are the client's names for what they hold."""
    _put_in(step, len(step.state.memory.history), tuple(messages), keys)


def remember_turn(step: Step, asked: Message, keys: tuple[str, ...]) -> None:
    """A turn of the caller begins with this message."""
    remember(step, (asked,), keys)
    step.change("memory", turns=step.state.memory.turns + 1)


def take_back(step: Step) -> tuple[Message, tuple[str, ...]]:
    """Remove the last message from the history. Returns it and its keys."""
    memory = step.state.memory
    step.change("memory", history=memory.history[:-1], keys=memory.keys[:-1])
    return memory.history[-1], memory.keys[-1]


def insert(step: Step, message: Message, key: str, behind: str) -> None:
    """Put a client's message behind the one that holds something of this name. Empty, or forgotten: at the beginning."""
    places = [place for place, keys in enumerate(step.state.memory.keys, 1) if behind in keys]
    _put_in(step, places[-1] if places and behind else 0, (message,), (key,))


def remove(step: Step, key: str, text: str) -> None:
    """Take out what has this name. A message that holds other things, too, loses only the words of it."""
    memory = step.state.memory
    kept: list[tuple[Message, tuple[str, ...]]] = []
    for message, keys in zip(memory.history, memory.keys, strict=True):
        if key not in keys:
            kept.append((message, keys))
            continue
        others = tuple(one for one in keys if one != key)
        if others:
            kept.append((replace(message, content=" ".join(message.content.replace(text, "", 1).split())), others))
    _rewrite(step, kept)


def remove_tool_call(step: Step, key: str, call_id: str) -> None:
    """Take a tool call and its result out of the reply of this name. What the tool did stays done."""
    kept: list[tuple[Message, tuple[str, ...]]] = []
    for message, keys in zip(step.state.memory.history, step.state.memory.keys, strict=True):
        if key not in keys or not (message.tool_call_id == call_id or any(one.call_id == call_id for one in message.tool_calls)):
            kept.append((message, keys))
            continue
        left = replace(message, tool_calls=tuple(one for one in message.tool_calls if one.call_id != call_id))
        if message.role != "tool" and (left.tool_calls or left.content):
            kept.append((left, keys))
    _rewrite(step, kept)


def replace_reply(step: Step, key: str, messages: Iterable[Message]) -> None:
    """Put these messages in place of those that hold the reply of this name."""
    memory = step.state.memory
    place = next((place for place, keys in enumerate(memory.keys) if key in keys), None)
    if place is None:
        return
    _rewrite(step, [pair for pair in zip(memory.history, memory.keys, strict=True) if key not in pair[1]])
    _put_in(step, place, tuple(messages), (key,))


def _put_in(step: Step, place: int, messages: tuple[Message, ...], keys: tuple[str, ...]) -> None:
    memory = step.state.memory
    step.change(
        "memory",
        history=(*memory.history[:place], *messages, *memory.history[place:]),
        keys=(*memory.keys[:place], *(keys for _ in messages), *memory.keys[place:]),
        summarising=memory.summarising + (len(messages) if place < memory.summarising else 0),
    )


def _rewrite(step: Step, kept: Sequence[tuple[Message, tuple[str, ...]]]) -> None:
    gone = len(step.state.memory.history) - len(kept)
    summarising = max(0, step.state.memory.summarising - gone)
    history, keys = tuple(message for message, _ in kept), tuple(one for _, one in kept)
    step.change("memory", history=history, keys=keys, summarising=summarising)


def rewrite_history(step: Step, rewritten: Callable[[Message], Message]) -> None:
    """Replace each message of the history by what `rewritten` makes of it."""
    step.change("memory", history=tuple(map(rewritten, step.state.memory.history)))


def told(step: Step, asked: str) -> tuple[Message, ...]:
    """The conversation so far, behind the summary of what is no longer in it, with a request about it for the language model."""
    memory = step.state.memory
    earlier = (Message("system", memory.summary),) if memory.summary else ()
    return (*earlier, *memory.history, Message("user", asked))


def hand_on(step: Step, summary: str, *, forgets: bool) -> None:
    """Another agent takes over. It reads the caller's last words behind the summary. Without one, it reads the last messages up
    to them, and an earlier summary unless it `forgets` that. It reads neither tools nor documents of the agent before."""
    memory = step.state.memory
    said = [
        (replace(message, tool_calls=(), context=(), context_head=""), keys)
        for message, keys in zip(memory.history, memory.keys, strict=True)
        if message.role != "tool" and message.content
    ]
    kept = [one for one in said if one[0].role == "system"]
    spoken = [one for one in said if one[0].role != "system"]
    while spoken and spoken[-1][0].role != "user":
        spoken.pop()
    _rewrite(step, [*kept, *spoken[-1 if summary else -HANDED_ON :]])
    step.change("memory", summary=summary or ("" if forgets else memory.summary), summarising=0, summarised=None)


def begin_anew(step: Step) -> None:
    """The caller starts over. The language model reads nothing that was said before their last words."""
    said = list(zip(step.state.memory.history, step.state.memory.keys, strict=True))
    last = max((at for at, (message, _) in enumerate(said) if message.role == "user"), default=len(said))
    _rewrite(step, [one for at, one in enumerate(said) if at >= last or one[0].role == "system"])
    step.change("memory", summary="", summarising=0, summarised=None)


def make_room(step: Step) -> None:
    """While no turn waits, shorten a long history and prefill the known part of the next prompt. This also wakes a language model
    that sleeps."""
    compact(step)
    read_ahead(step)


def read_ahead(step: Step) -> None:
    """Prefill the known part of the next prompt."""
    known = known_history(step)
    if step.is_leaving:
        return
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
    border = turn_border(state.memory.history, 1.0 - state.rules.memory.kept_share)
    if not border:
        return False
    step.change("memory", summarising=border)
    if not state.rules.memory.summarise:
        _forget_summarised(step, "")
        return True
    earlier = (Message("system", state.memory.summary),) if state.memory.summary else ()
    step.do(act.Summarise((*earlier, *state.memory.history[:border], Message("user", step.prompts.sum_up))))
    return False


def take_summary(step: Step, event: ev.Summarised) -> None:
    """Keep the summary. It is put in between two turns."""
    if step.state.memory.summarising:
        step.change("memory", summarised=event.text)


def _forget_summarised(step: Step, summary: str) -> None:
    border = step.state.memory.summarising
    left, keys = step.state.memory.history[border:], step.state.memory.keys[border:]
    step.change("memory", history=left, keys=keys, summary=summary, summarising=0, summarised=None)
