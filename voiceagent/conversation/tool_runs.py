"""The tools of a reply. The model asks for them, the caller confirms them where needed, each runs once, and the model reads the
results. A wait that can be noticed, for a tool or for the model, is bridged: the model begins with the results that are known, or
a filler is said."""

from __future__ import annotations

from msgspec.structs import replace

from voiceagent.conversation import actions as act
from voiceagent.conversation import collecting, silence, steps
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import ToolCall, read_arguments
from voiceagent.conversation.reply import Reply, Round, ToolRun
from voiceagent.conversation.reply_lifecycle import (
    BRIDGE,
    FILLER,
    FLOOR_IS_THE_AGENTS,
    RELEASE,
    REPLY,
    THINKING,
    add_text,
    end_if_complete,
    fail_reply,
    generate,
    revise,
    speak_clauses,
)
from voiceagent.conversation.state import Step
from voiceagent.conversation.tools import (
    ask_to_confirm,
    confirmation_question,
    drop_lookups,
    is_withheld,
    late_speculative_call_ended,
    late_tool_ended,
    next_filler,
    owe_after_failure,
    rule_of,
    run_speculatively,
    same_call,
    speculative_call,
    speculative_call_ended,
    use_speculative_call,
)

AGAIN_MS = 8000.0
"""The wait from the first filler to the second. Each further one takes twice as long."""
LOOK_AGAIN_MS = 1000.0
"""The wait after a filler was due while somebody spoke."""


def tool_call(step: Step, event: ev.ToolCallRequested) -> None:
    """The language model asks for a tool. The text before it is complete and is spoken."""
    reply = step.live(event.reply_id)
    if reply is None or not reply.generating:
        return
    step.clear_timers([REPLY, THINKING, RELEASE])
    if not reply.fillers:  # the tool's own filler bridges its run
        step.clear_timers([BRIDGE])
    call = collecting.with_values(step, ToolCall(event.call_id, event.name, event.arguments))
    reply = add_text(step, replace(reply, tokens=reply.tokens + 1), "", final=True)
    reply = revise(step, reply.with_tool(call))
    if reply.assumed_text:
        run_speculatively(step, call.name, call.arguments)
    else:
        run_tool(step, reply, call)
    give_known_results(step)


def run_tool(step: Step, reply: Reply, call: ToolCall, *, is_asked_for: bool = False) -> None:
    """The turn is committed. Run the tool, unless the caller asked for nothing, must tell its values or must confirm it first.
    `is_asked_for`: the caller asked for it before."""
    withheld, question = not is_asked_for and is_withheld(step, call), confirmation_question(step, call)
    if rule_of(step, call.name).ends_call and not withheld:
        step.do(act.ToolStarted(reply.reply_id, call.call_id, call.name, call.arguments))
        silence.end_by_agent(step, str((read_arguments(call.arguments) or {}).get("reason") or ""))
        _tool_ended(step, call, step.prompts.call_ends, ok=True)
        return
    if not withheld and not reply.tells:
        drop_lookups(step)
    needs_values = not withheld and collecting.needs_values(step, call)
    stays = not withheld and call.name == steps.GO_TO and step.state.rules.steps and not steps.may_go(step)
    if not withheld and not question and not needs_values and not stays:
        start_tool(step, reply, call)
        return
    step.do(act.ToolStarted(reply.reply_id, call.call_id, call.name, call.arguments))
    if withheld:
        _tool_ended(step, call, step.prompts.tool_not_asked_for, ok=False)
    elif stays:
        _tool_ended(step, call, steps.place(step), ok=True, has_run=False)
    elif needs_values:
        collecting.hold(step, call)
        _tool_ended(step, call, step.prompts.tool_lacks_values, ok=True, has_run=False)
    elif step.state.tools.confirming is None:
        ask_to_confirm(step, call)
        _tool_ended(step, call, step.prompts.tool_not_confirmed, ok=True, has_run=False)
    else:
        _tool_ended(step, call, step.prompts.tool_other_unconfirmed, ok=False)


def make_move(step: Step, reply: Reply, move: collecting.NextMove) -> None:
    """Carry out what follows from the caller's words about a value."""
    if move.noted is not None:
        call, output = move.noted
        reply = reply.with_tool(call).with_tool_output(call.call_id, output, ok=True)
    if move.transfers:
        reply = replace(reply, transfers=True)
    line = step.sayings.transfer if move.transfers else move.line
    if reply.rounds[-1].tools and (line or move.call is None):
        reply = replace(reply, rounds=(*reply.rounds, Round()))
    if move.call is not None:
        run_tool(step, revise(step, reply.with_tool(move.call)), move.call, is_asked_for=True)
        next_round(step)
    elif line or move.transfers:
        reply = add_text(step, reply, line, final=True)
        if reply.text_only or not line:
            end_if_complete(step)
    elif step.is_leaving:
        _say_handoff(step, revise(step, reply))
    else:
        generate(step, reply)


def start_tool(step: Step, reply: Reply, call: ToolCall) -> None:
    """Run the tool, unless the same call runs or ran already. No call runs twice for one reply."""
    step.do(act.ToolStarted(reply.reply_id, call.call_id, call.name, call.arguments))
    if step.state.reply is not None and rule_of(step, call.name).effect != "none":
        revise(step, step.state.reply.with_started(call.call_id))
    if FILLER not in step.state.timers:
        step.set_timer(FILLER, _bridge_after_ms(step, reply, call))
    if use_speculative_call(step, call.name, call.arguments):
        return
    before = _asked_before(step, call)
    if before is None:
        step.do(act.RunTool(reply.reply_id, call.call_id, call.name, call.arguments))
    elif before.output is not None:
        _tool_ended(step, call, before.output, before.ok)


def _bridge_after_ms(step: Step, reply: Reply, call: ToolCall) -> float:
    """Returns how long from now the wait for a tool may last without a filler. If earlier runs show that the wait will be long,
    the time that the caller has waited already is subtracted."""
    after_ms = step.filler_after(step.state.rules.limits.filler_after_ms)
    run = speculative_call(step, call.name, call.arguments)
    left_ms = rule_of(step, call.name).typical_ms - (step.at_ms - run.started_ms if run is not None else 0.0)
    if not after_ms or left_ms < after_ms or reply.clauses:
        return after_ms
    return max(1.0, after_ms - (step.at_ms - step.state.caller_turn.ended_ms))


def _asked_before(step: Step, call: ToolCall) -> ToolRun | None:
    """An earlier run of the same call for the live reply."""
    reply = step.state.reply
    runs = [run for part in reply.rounds for run in part.tools] if reply is not None else []
    same = (run for run in runs if same_call(run.call, call))
    return next((run for run in same if run.call.call_id != call.call_id), None)


def speculative_tool_finished(step: Step, event: ev.SpeculativeToolFinished) -> None:
    """A speculative tool call has a result. Give it to the live reply, if that asked for it. A call that ran on
    after its reply is told late."""
    if speculative_call_ended(step, event):
        give_known_results(step)
    else:
        late_speculative_call_ended(step, event)


def give_known_results(step: Step) -> None:
    """Give the live reply, speculative or not, the results that are known. Go on if no tool is pending."""
    reply = step.state.reply
    if reply is None:
        return
    for run in reply.rounds[-1].tools:
        result = speculative_call(step, run.call.name, run.call.arguments)
        if run.output is None and result is not None and result.output is not None:
            _tool_ended(step, run.call, result.output, result.ok)
    next_round(step)


def _tool_ended(step: Step, call: ToolCall, output: str, ok: bool, *, has_run: bool = True) -> None:
    """Note a tool's result for every call of the live reply that is the same. `has_run` is False for a stand-in."""
    reply = step.state.reply
    assert reply is not None
    for run in reply.rounds[-1].tools:
        if run.output is None and same_call(run.call, call):
            reply = reply.with_tool_output(run.call.call_id, output, ok)
            if not reply.assumed_text:
                step.do(act.ToolEnded(reply.reply_id, run.call.call_id, run.call.name, output, ok))
    revise(step, reply)
    if not reply.assumed_text and has_run:
        steps.tool_ended(step, call.name, output, ok)
        collecting.tool_ended(step, call.name, ok)


def tool_finished(step: Step, event: ev.ToolFinished) -> None:
    """A tool has a result."""
    reply = step.live(event.reply_id)
    if reply is None or reply.assumed_text:
        late_tool_ended(step, event)
        return
    run = next((run for run in reply.rounds[-1].tools if run.call.call_id == event.call_id and run.output is None), None)
    if run is None:
        return
    if reply.status == "failed" and run.is_owed:
        revise(step, owe_after_failure(step, reply, event))
    else:
        _tool_ended(step, run.call, event.output, event.ok)
    next_round(step)


def next_round(step: Step) -> None:
    """Go back to the model once the round's tools have ended. Else bridge the wait, or check whether the reply is complete."""
    reply = step.state.reply
    if reply is None:
        return
    if reply.generating or not reply.rounds[-1].tools or reply.status != "live":
        _ask_behind(step, reply)
        end_if_complete(step)
    elif reply.tools_pending:
        if FILLER not in step.state.timers:
            bridge_wait(step, reply)
    elif step.state.tools.confirming is not None and not reply.assumed_text:
        _ask(step, reply, step.state.tools.confirming)
    elif silence.is_ended_by_agent(step) and all(rule_of(step, run.call.name).ends_call for run in reply.rounds[-1].tools):
        _take_leave(step, reply)
    elif step.is_leaving and not reply.assumed_text:
        _say_handoff(step, reply)
    elif (move := _collects(step, reply)) is not None:
        make_move(step, reply, move)
    elif sum(not part.early for part in reply.rounds) > step.state.rules.limits.max_tool_rounds:
        fail_reply(step, "too_many_tools", f"the reply asked for tools {len(reply.rounds)} times in a row")
    else:
        generate(step, replace(reply, rounds=(*reply.rounds, Round())))


def _collects(step: Step, reply: Reply) -> collecting.NextMove | None:
    """The engine's move about a value, in place of the language model's."""
    if reply.assumed_text or reply.tells or reply.is_detached:
        return None
    return collecting.next_question(step, {run.call.name for run in reply.rounds[-1].tools})


def _ask_behind(step: Step, reply: Reply) -> None:
    """The language model has answered what was not about the value that is being collected. Ask for it again."""
    is_answer = not (reply.generating or reply.assumed_text or reply.is_detached) and reply.status == "live" and reply.turn > 0
    if is_answer and (question := collecting.question_behind(step, reply)):
        add_text(step, reply, question, final=True)


def _ask(step: Step, reply: Reply, call: ToolCall) -> None:
    """Ask the caller to confirm the tool call."""
    question = confirmation_question(step, call)
    silence.end_after_reply(step, "")  # the caller's answer is awaited
    add_text(step, replace(reply, rounds=(*reply.rounds, Round())), question, final=True)
    if reply.text_only:
        end_if_complete(step)


def _say_handoff(step: Step, reply: Reply) -> None:
    """Another agent goes on after the reply, which ends with the line for that."""
    if line := step.state.rules.phrases.handoff:
        protected = reply.protected or step.is_protected("handoff")
        rounds = (*reply.rounds, Round()) if reply.rounds[-1].tools else reply.rounds
        add_text(step, replace(reply, rounds=rounds, protected=protected), line, final=True)
    end_if_complete(step)


def _take_leave(step: Step, reply: Reply) -> None:
    """The reply ends the call. If it says nothing, it says goodbye."""
    if all(clause.filler for clause in reply.clauses):
        add_text(step, replace(reply, rounds=(*reply.rounds, Round())), step.sayings.farewell, final=True)
    end_if_complete(step)


# --- bridging a wait --------------------------------------------------------------------------------------------------


def filler_is_due(step: Step) -> None:
    """A tool has run for long enough to need a filler."""
    reply = step.spoken()
    if reply is not None and reply.tools_pending:
        bridge_wait(step, reply)


def bridge_wait(step: Step, reply: Reply) -> None:
    """The wait is long enough to be noticed. Let the model begin with the results that are known, if there are any. Else say a
    filler. Each happens at most once per wait."""
    last = reply.rounds[-1]
    known_by_now = any(run.output is not None and run.ok for run in last.tools)
    if reply.assumed_text or not step.state.rules.limits.filler_after_ms:
        return
    if known_by_now and not reply.generating and not last.early and step.state.tools.confirming is None:
        _begin_with_known(step, reply, last)
    elif not (reply.generating and last.early) and not reply.said_meanwhile and all(clause.over for clause in reply.clauses):
        _fill(step, reply)


def _begin_with_known(step: Step, reply: Reply, last: Round) -> None:
    """Some tools have ended, and the model answers from their results. The other tools move into a round of their own, which
    takes the model's text."""
    ended = tuple(run for run in last.tools if run.output is not None)
    running = tuple(run for run in last.tools if run.output is None)
    rounds = (*reply.rounds[:-1], replace(last, tools=ended), Round(running, early=True))
    generate(step, replace(reply, rounds=rounds))


def _fill(step: Step, reply: Reply) -> None:
    waiting = [run.call.name for run in reply.rounds[-1].tools if run.output is None]
    say_filler(step, reply, next(filter(None, (rule_of(step, name).fillers for name in waiting)), step.sayings.fillers))


def progress_made(step: Step, event: ev.ProgressMade) -> None:
    """A tool that the live reply waits for has something to say. It is said like a filler."""
    reply = step.spoken()
    if reply is None or all(run.output is not None or not _is_of(step, reply, run, event) for run in reply.rounds[-1].tools):
        return
    say_filler(step, reply, (event.text,))


def _is_of(step: Step, reply: Reply, run: ToolRun, event: ev.ProgressMade) -> bool:
    if event.speculative_id < 0:
        return (reply.reply_id, run.call.call_id) == (event.reply_id, event.call_id)
    early = speculative_call(step, run.call.name, run.call.arguments)
    return early is not None and early.speculative_id == event.speculative_id


def bridge_is_due(step: Step) -> None:
    """The caller has waited long for text. Say a filler, unless somebody speaks, and look again later. Text of which no clause is
    complete does not count: the caller hears nothing of it."""
    reply = step.spoken()
    if reply is None or not (reply.generating or reply.tools_pending):
        return
    after_ms = step.filler_after(step.state.rules.limits.reply_filler_after_ms)
    is_said = bool(reply.clauses) and not reply.clauses[-1].filler
    if is_said and (left_ms := reply.text_ms + after_ms - step.at_ms) > 0:
        step.set_timer(BRIDGE, left_ms)
    elif step.state.phase not in FLOOR_IS_THE_AGENTS or not all(clause.over for clause in reply.clauses):
        step.set_timer(BRIDGE, LOOK_AGAIN_MS)
    elif say_filler(step, reply, step.sayings.fillers):
        step.set_timer(BRIDGE, AGAIN_MS * 2**reply.fillers)


def say_filler(step: Step, reply: Reply, lines: tuple[str, ...]) -> bool:
    """Say the next of the lines. Returns False if there is none."""
    if not lines or reply.text_only:
        return False
    text = next_filler(step, lines)
    speak_clauses(step, reply.with_filler(text), (text,))
    return True
