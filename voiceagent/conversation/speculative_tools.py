"""Speculative tool calls. A tool without effect may run before its turn is committed, because a speculative reply asks for it or
because the call is predicted. Its result is kept for the turn. Replies of the turn that ask for the same call take the result.
Results that no reply asks for are dropped."""

from __future__ import annotations

import json

from msgspec.structs import replace

from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import ToolCall, read_arguments
from voiceagent.conversation.rules import ToolRule
from voiceagent.conversation.state import SpeculativeToolCall
from voiceagent.conversation.step import Step
from voiceagent.turn_taking.language import bare_words

UNKNOWN = ToolRule()
KEPT_FOR_REPLIES = 1
"""How many of a turn's speculative calls are reserved for replies. Predictions may not use them, because they may be wrong each
time."""
MAX_DIGITS = 64
"""Longer texts are not compared as numbers, because Python limits the digits of an integer."""
REMEMBERED_MESSAGES = 4
"""How many messages back the words of an argument are searched."""


def rule_of(step: Step, name: str) -> ToolRule:
    """The tool's rule; the strictest one for an unknown tool."""
    return step.state.rules.tools.get(name, UNKNOWN)


def normalised(arguments: str) -> str:
    """A JSON object of arguments in one form: sorted keys, folded case, single spaces, no empty values, quoted numbers as
    numbers. Text that is no JSON object stays as it is."""
    given = read_arguments(arguments)
    if given is None:
        return arguments
    return json.dumps({name: _plain(value) for name, value in given.items() if value not in (None, "")}, sort_keys=True)


def _plain(value: object) -> object:
    if isinstance(value, str):
        text = " ".join(value.casefold().split())
        is_number = len(text) <= MAX_DIGITS and text.isascii() and text.isdigit() and not text.startswith("0")
        return int(text) if is_number else text
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return value


def same_call(one: ToolCall, other: ToolCall) -> bool:
    """Whether both calls have the same tool and arguments."""
    return one.name == other.name and normalised(one.arguments) == normalised(other.arguments)


def known(step: Step, name: str, arguments: str) -> SpeculativeToolCall | None:
    """The turn's speculative call of this tool with these arguments, if there is one."""
    wanted = normalised(arguments)
    return next((run for run in step.state.speculation.tool_calls if run.name == name and run.arguments == wanted), None)


def run_predicted(step: Step, name: str, arguments: str) -> None:
    """The words so far make a tool call likely. Run it at once if its arguments were said, though a word may still change. Else
    run it when it is predicted twice in a row."""
    before, now = step.state.speculation.predicted, (name, normalised(arguments))
    step.put_speculation(predicted=now)
    if not may_go_on(arguments, step.state.utterance.partial) and (now == before or _were_said(step, arguments)):
        run_speculatively(step, name, arguments, keep=KEPT_FOR_REPLIES)


def may_predict(step: Step) -> bool:
    """Whether the turn's limit leaves room for another predicted call."""
    return len(step.state.speculation.tool_calls) + KEPT_FOR_REPLIES < step.state.rules.speculation.max_tool_calls


def may_go_on(arguments: str, words: str) -> bool:
    """Whether an argument ends with the number that was heard last, or with the first digits of it. More digits may follow."""
    given = read_arguments(arguments)
    heard = bare_words(words)
    if given is None or not heard or not heard[-1].isdigit():
        return False
    return any(bare and heard[-1].startswith(bare[-1]) for bare in (bare_words(str(value)) for value in given.values()))


def _were_said(step: Step, arguments: str) -> bool:
    """Whether the arguments' words were said in the utterance or shortly before it. The model made up any other words."""
    given = read_arguments(arguments)
    if given is None:
        return False
    before = " ".join(message.content for message in step.state.memory.history[-REMEMBERED_MESSAGES:])
    said = bare_words(f"{before} {step.state.caller_turn.unanswered} {step.state.utterance.partial}")
    return all(word in said for value in given.values() for word in bare_words(str(value)))


def run_speculatively(step: Step, name: str, arguments: str, *, keep: int = 0) -> None:
    """Run the tool now if it has no effect, has not run already and the turn's limit allows it. `keep` calls of that limit stay
    reserved."""
    state = step.state
    if rule_of(step, name).effect != "none" or len(state.speculation.tool_calls) + keep >= state.rules.speculation.max_tool_calls:
        return
    if known(step, name, arguments) is None:
        run = SpeculativeToolCall(state.speculation.next_id, name, normalised(arguments), step.at_ms)
        step.put_speculation(tool_calls=(*state.speculation.tool_calls, run), next_id=run.speculative_id + 1)
        step.do(act.RunSpeculativeTool(run.speculative_id, name, arguments))


def take(step: Step, name: str, arguments: str) -> bool:
    """A committed reply asks for this call. Returns whether it ran already or still runs."""
    run = known(step, name, arguments)
    if run is None:
        return False
    if not run.used:
        _put(step, replace(run, used=True))
        until_ms = step.at_ms if run.output is None else min(step.at_ms, run.finished_ms)
        step.do(act.SpeculativeToolEnded(run.speculative_id, name, True, until_ms - run.started_ms))
    return True


def finish(step: Step, event: ev.SpeculativeToolFinished) -> bool:
    """Note its result. Returns False if the call was dropped."""
    run = next(
        (run for run in step.state.speculation.tool_calls if run.speculative_id == event.speculative_id and run.output is None),
        None,
    )
    if run is None:
        return False
    _put(step, replace(run, output=event.output, ok=event.ok, finished_ms=event.at_ms))
    return True


def end_speculative_calls(step: Step) -> None:
    """The turn is over, or there was none. Cancel the calls that still run, and drop all results."""
    for run in step.state.speculation.tool_calls:
        if run.output is None:
            step.do(act.CancelSpeculativeTool(run.speculative_id))
        if not run.used:
            step.do(act.SpeculativeToolEnded(run.speculative_id, run.name, False, 0.0))
    if step.state.speculation.tool_calls or step.state.speculation.predicted is not None:
        step.put_speculation(tool_calls=(), predicted=None)


def _put(step: Step, run: SpeculativeToolCall) -> None:
    step.put_speculation(
        tool_calls=tuple(
            run if other.speculative_id == run.speculative_id else other for other in step.state.speculation.tool_calls
        )
    )
