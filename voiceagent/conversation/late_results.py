"""Results that the caller is owed. A tool with an effect runs to its end, also where its reply was cancelled before. A tool
without effect, a lookup, runs on only where the caller interrupted its reply. The result is told in a reply of its own as soon as
the floor is free. Until then the language model reads that the tool still runs, so no other reply tells the result. While such a
tool runs, nobody asks whether the caller is still there.

The result of a tool with an effect is told whatever was said since. A lookup is dropped, with its result, once a committed reply
to the caller calls a tool, because that is a new request, or once the caller says "stop", "never mind" or the like.

This file writes `State.late`."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import Message, ToolCall
from voiceagent.conversation.memory import remember, rewrite_history
from voiceagent.conversation.reply import Reply, Round, ToolRun
from voiceagent.conversation.state import Phase, RunsOn
from voiceagent.conversation.step import Step
from voiceagent.conversation.tools import rule_of, same_call, take_speculative_call

TOLD_SHARE = 0.5
"""The share of a reply's words behind a result that the caller must have heard to have been told it."""
LATE = "_late"
"""Ends the id of a call whose result is told late. The call stands in the history once more, with its result."""


def let_tools_run_on(step: Step, cancelled: Reply, status: str) -> tuple[Reply, tuple[str, ...]]:
    """The reply is cancelled and gets this status. Note which of its tools run on. A stand-in takes the place of their results.
    Returns the reply, and the ids of those calls that would end with it otherwise."""
    lookups_too = status == "interrupted" and cancelled.status == "live"
    calls = [run.call for run in cancelled.rounds[-1].tools if run.output is None and (run.is_owed or lookups_too)]
    keeps: list[str] = []
    for number, call in enumerate(calls):
        cancelled = cancelled.with_stand_in(call.call_id, step.prompts.tool_running)
        if not any(same_call(call, before) for before in calls[:number]):
            same = tuple(one for one in calls if same_call(one, call))
            runs = RunsOn(cancelled.reply_id, same, take_speculative_call(step, call.name, call.arguments))
            step.change("late", running=(*step.state.late.running, runs))
            if _is_lookup(step, call) and runs.speculative_id is None:
                keeps.append(call.call_id)
    return cancelled, tuple(keeps)


def _is_lookup(step: Step, call: ToolCall) -> bool:
    return rule_of(step, call.name).effect == "none"


def late_tool_ended(step: Step, event: ev.ToolFinished) -> None:
    """A tool that ran on has ended. The caller is owed its result."""
    for one in step.state.late.running:
        if one.speculative_id is None and one.reply_id == event.reply_id and event.call_id in one.call_ids:
            _ended(step, one, event.output, event.ok)


def late_speculative_call_ended(step: Step, event: ev.SpeculativeToolFinished) -> None:
    """A tool that began before its turn was committed, and ran on, has ended. The caller is owed its result."""
    for one in step.state.late.running:
        if one.speculative_id == event.speculative_id:
            _ended(step, one, event.output, event.ok)


def _ended(step: Step, ended: RunsOn, output: str, ok: bool) -> None:
    for call in ended.calls:
        step.do(act.ToolEnded(ended.reply_id, call.call_id, call.name, output, ok))
    step.change("late", running=tuple(one for one in step.state.late.running if one is not ended))
    owe_results(step, (ToolRun(ended.calls[0], output, ok, is_owed=True),))


def drop_lookups(step: Step) -> None:
    """Nobody waits for the lookups any more. Cancel those that run. Results that were not told yet are known to the model."""
    late = step.state.late
    lookups = [one for one in late.running if _is_lookup(step, one.calls[0])]
    untold = [run for run in late.owed if _is_lookup(step, run.call)]
    for one in lookups:
        if one.speculative_id is None:
            step.do(act.CancelTool(one.reply_id, one.calls[0].call_id))
        else:
            step.do(act.CancelSpeculativeTool(one.speculative_id))
    step.change(
        "late",
        running=tuple(one for one in late.running if one not in lookups),
        owed=tuple(run for run in late.owed if run not in untold),
    )
    outputs = [(one.calls[0], step.prompts.tool_interrupted) for one in lookups]
    _note(step, outputs + [(run.call, run.output or "") for run in untold])


def _note(step: Step, outputs: Sequence[tuple[ToolCall, str]]) -> None:
    """Put these outputs into the history where it says that the calls still run."""
    running = step.prompts.tool_running
    calls = [call for message in step.state.memory.history for call in message.tool_calls]
    known_now = {call.call_id: output for call in calls for ended, output in outputs if same_call(call, ended)}

    def noted(message: Message) -> Message:
        if message.role != "tool" or message.content != running:
            return message
        return replace(message, content=known_now.get(message.tool_call_id, running))

    if known_now:
        rewrite_history(step, noted)


def owe_results(step: Step, runs: Sequence[ToolRun]) -> None:
    """The caller is owed these results."""
    step.change("late", owed=(*step.state.late.owed, *runs))


def owe_after_failure(step: Step, reply: Reply, event: ev.ToolFinished) -> Reply:
    """A tool has ended whose reply failed before. The language model is not asked again in that reply, so the caller is owed the
    result."""
    ended = next(run for run in reply.rounds[-1].tools if run.call.call_id == event.call_id)
    for run in reply.rounds[-1].tools:
        if run.output is None and same_call(run.call, ended.call):
            step.do(act.ToolEnded(event.reply_id, run.call.call_id, run.call.name, event.output, event.ok))
            reply = reply.with_stand_in(run.call.call_id, step.prompts.tool_running)
    owe_results(step, (replace(ended, output=event.output, ok=event.ok),))
    return reply


def keep_untold(step: Step, cancelled: Reply) -> Reply:
    """The reply was cut off. The caller is still owed the results of which they heard too little. Nothing in the history tells
    them yet."""
    if cancelled.status != "interrupted" and not (cancelled.tells and cancelled.status == "cancelled"):
        return cancelled
    untold: list[ToolRun] = []
    for number, part in enumerate(cancelled.rounds):
        heard, words = cancelled.heard_behind(number)
        runs = [run for run in part.tools if run.is_owed and run.output is not None and not run.runs_on]
        for run in runs if heard < max(1.0, TOLD_SHARE * words) else ():
            if not any(same_call(run.call, other.call) for other in untold):
                untold.append(replace(run, cut_off=heard > 0))
            cancelled = cancelled.with_stand_in(run.call.call_id, step.prompts.tool_running)
    owe_results(step, untold)
    return cancelled.without_first_tools() if cancelled.tells and cancelled.rounds[0].tools[0].runs_on else cancelled


def results_are_due(step: Step) -> bool:
    """Returns whether the floor is free to tell results."""
    return step.state.phase is Phase.IDLE and bool(step.state.late.owed) and not step.state.replies.putting_through


def reply_that_tells(step: Step) -> Reply:
    """A reply that tells all the results that are owed."""
    owed = tuple(replace(run, call=_once_more(run.call), cut_off=False) for run in step.state.late.owed)
    step.change("late", owed=())
    return Reply(step.state.replies.next_reply_id, 0, rounds=(Round(owed), Round()), tells=True)


def let_results_be(step: Step) -> None:
    """The caller cut the telling off with words that ask for nothing, such as "stop". The model knows the results; they are not
    told again."""
    owed = step.state.late.owed
    known = tuple(replace(run, call=_once_more(run.call)) for run in owed if run.cut_off)
    if known:
        step.change("late", owed=tuple(run for run in owed if not run.cut_off))
        remember(step, Reply(0, 0, rounds=(Round(known),)).messages(step.prompts, as_heard=True))


def _once_more(call: ToolCall) -> ToolCall:
    return call if call.call_id.endswith(LATE) else replace(call, call_id=f"{call.call_id}{LATE}")
