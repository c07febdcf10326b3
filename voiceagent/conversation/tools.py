"""The turn engine's knowledge of tools: their rules, which calls are the same, which ran before their turn was committed, which
wait for a yes, which the caller did not ask for, and which results the caller is owed. This file writes `State.tools` and
`State.late`. `tool_runs` runs the tools of a reply.

A tool without effect may run speculatively, because a speculative reply asks for it or because the call is predicted. Its result
is kept for the turn. Replies of the turn that ask for the same call take the result. Results that no reply asks for are dropped.

A tool may have a question that the caller must agree to. The turn engine asks it, not the model. Only a plain yes to this
question runs the tool, with exactly these arguments. A turn that is nothing but "stop", "okay" or the like asks for nothing, so
it runs no tool with an effect, whatever the model calls. The same holds until the caller's next turn.

A tool with an effect runs to its end, also where its reply was cancelled before. A tool without effect, a lookup, runs on only
where the caller interrupted its reply. The caller is owed the result. It is told in a reply of its own as soon as the floor is
free. Until then the language model reads that the tool still runs, so no other reply tells the result. While such a tool runs,
nobody asks whether the caller is still there. The result of a tool with an effect is told whatever was said since. A lookup is
dropped, with its result, once a committed reply to the caller calls a tool, because that is a new request, or once the caller
says "stop", "never mind" or the like."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from string import Formatter

from msgspec.structs import replace

from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import Message, ToolCall, read_arguments
from voiceagent.conversation.memory import remember, rewrite_history
from voiceagent.conversation.reply import Reply, Round, ToolRun
from voiceagent.conversation.rules import ToolRule
from voiceagent.conversation.state import Phase, RunsOn, SpeculativeToolCall, Step
from voiceagent.turn_taking.language import bare_words, has_phrase
from voiceagent.turn_taking.overlap import Overlap
from voiceagent.turn_taking.request import agrees, asks_nothing, only_halts

GIST_SHARE = 0.7
"""The share of the question's words that the caller must have heard before a yes counts."""
TOLD_SHARE = 0.5
"""The share of a reply's words behind a result that the caller must have heard to have been told it."""
LATE = "_late"
"""Ends the id of a call whose result is told late. The call stands in the history once more, with its result."""
UNKNOWN = ToolRule()
KEPT_FOR_REPLIES = 1
"""Number of a turn's speculative calls that are reserved for replies. Predictions may not use them, because they may be wrong
each time."""
MAX_DIGITS = 64
"""Longer texts are not compared as numbers, because Python limits the digits of an integer."""
REMEMBERED_MESSAGES = 4
"""Number of messages back in which the words of an argument are searched."""


def rule_of(step: Step, name: str) -> ToolRule:
    """The tool's rule; the strictest one for an unknown tool."""
    return step.state.rules.tools.get(name, UNKNOWN)


def left_effects(step: Step, reply: Reply) -> bool:
    """Returns whether the reply asked for a tool that has an effect."""
    return any(rule_of(step, run.call.name).effect != "none" for part in reply.rounds for run in part.tools)


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
    """Returns whether both calls have the same tool and arguments."""
    return one.name == other.name and normalised(one.arguments) == normalised(other.arguments)


def next_filler(step: Step, lines: tuple[str, ...]) -> str:
    """The line whose turn it is to bridge a wait."""
    said = step.state.tools.fillers_said
    step.change("tools", fillers_said=said + 1)
    return lines[said % len(lines)]


# --- speculative calls ------------------------------------------------------------------------------------------------


def speculative_call(step: Step, name: str, arguments: str) -> SpeculativeToolCall | None:
    """The turn's speculative call of this tool with these arguments, if there is one."""
    wanted = normalised(arguments)
    return next((run for run in step.state.tools.speculative if run.name == name and run.arguments == wanted), None)


def run_predicted(step: Step, name: str, arguments: str) -> None:
    """The words so far make a tool call likely. Run it at once if its arguments were said, though a word may still change. Else
    run it when it is predicted twice in a row."""
    before, now = step.state.tools.predicted, (name, normalised(arguments))
    step.change("tools", predicted=now)
    if not may_go_on(arguments, step.state.utterance.partial) and (now == before or _were_said(step, arguments)):
        run_speculatively(step, name, arguments, keep=KEPT_FOR_REPLIES)


def may_predict(step: Step) -> bool:
    """Returns whether the turn's limit leaves room for another predicted call."""
    return len(step.state.tools.speculative) + KEPT_FOR_REPLIES < step.state.rules.speculation.max_tool_calls


def may_go_on(arguments: str, words: str) -> bool:
    """Returns whether an argument ends with the number that was heard last, or with the first digits of it. More digits may
    follow."""
    given = read_arguments(arguments)
    heard = bare_words(words)
    if given is None or not heard or not heard[-1].isdigit():
        return False
    return any(bare and heard[-1].startswith(bare[-1]) for bare in (bare_words(str(value)) for value in given.values()))


def _were_said(step: Step, arguments: str) -> bool:
    """Returns whether the arguments' words were said in the utterance or shortly before it. The model made up any other words."""
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
    rule = rule_of(step, name)
    if rule.effect != "none" or rule.collect or len(state.tools.speculative) + keep >= state.rules.speculation.max_tool_calls:
        return
    if speculative_call(step, name, arguments) is None:
        run = SpeculativeToolCall(state.tools.next_speculative_id, name, normalised(arguments), step.at_ms)
        step.change("tools", speculative=(*state.tools.speculative, run), next_speculative_id=run.speculative_id + 1)
        step.do(act.RunSpeculativeTool(run.speculative_id, name, arguments))


def use_speculative_call(step: Step, name: str, arguments: str) -> bool:
    """A committed reply asks for this call. Returns whether it ran already or still runs."""
    run = speculative_call(step, name, arguments)
    if run is None:
        return False
    if not run.used:
        _put_call(step, replace(run, used=True))
        until_ms = step.at_ms if run.output is None else min(step.at_ms, run.finished_ms)
        step.do(act.SpeculativeToolEnded(run.speculative_id, name, True, until_ms - run.started_ms))
    return True


def speculative_call_ended(step: Step, event: ev.SpeculativeToolFinished) -> bool:
    """Note its result. Returns False if the call was dropped."""
    run = next(
        (run for run in step.state.tools.speculative if run.speculative_id == event.speculative_id and run.output is None),
        None,
    )
    if run is None:
        return False
    _put_call(step, replace(run, output=event.output, ok=event.ok, finished_ms=event.at_ms))
    return True


def end_speculative_calls(step: Step) -> None:
    """The turn is over, or there was none. Cancel the calls that still run, and drop all results."""
    for run in step.state.tools.speculative:
        if run.output is None:
            step.do(act.CancelSpeculativeTool(run.speculative_id))
        if not run.used:
            step.do(act.SpeculativeToolEnded(run.speculative_id, run.name, False, 0.0))
    if step.state.tools.speculative or step.state.tools.predicted is not None:
        step.change("tools", speculative=(), predicted=None)


def take_speculative_call(step: Step, name: str, arguments: str) -> int | None:
    """Take this call out of the turn's, so that it outlives the turn. Returns its id; None without such a call."""
    run = speculative_call(step, name, arguments)
    if run is None:
        return None
    step.change("tools", speculative=tuple(other for other in step.state.tools.speculative if other is not run))
    return run.speculative_id


def _put_call(step: Step, run: SpeculativeToolCall) -> None:
    calls = step.state.tools.speculative
    step.change("tools", speculative=tuple(run if one.speculative_id == run.speculative_id else one for one in calls))


# --- calls that the caller must agree to ------------------------------------------------------------------------------


def confirmation_question(step: Step, call: ToolCall) -> str:
    """The question that the caller must agree to. Empty if the tool needs none. Arguments that are missing or unreadable are left
    out of the question; it is asked all the same."""
    arguments = defaultdict(str, read_arguments(call.arguments) or {})
    return " ".join(Formatter().vformat(rule_of(step, call.name).confirm, (), arguments).split())


def gist_heard(reply: Reply) -> bool:
    """Returns whether the caller heard enough of the question, the reply's last round, to answer it."""
    question = [clause for clause in reply.clauses if clause.round == len(reply.rounds) - 1]
    heard = sum(len(clause.heard.split()) for clause in question)
    return heard >= GIST_SHARE * sum(len(clause.text.split()) for clause in question) > 0


def ask_to_confirm(step: Step, call: ToolCall) -> None:
    """The caller will be asked to agree to this call."""
    step.change("tools", confirming=call)


def confirmation_over(step: Step) -> ToolCall | None:
    """No yes runs a tool any more. Returns the call that the caller was asked to confirm."""
    asked = step.state.tools.confirming
    step.change("tools", confirming=None)
    return asked


# --- calls that the caller did not ask for ----------------------------------------------------------------------------


def judge_request(step: Step, said: str) -> None:
    """The caller's turn is committed, and is not in the history yet. Note whether it asks for anything."""
    asked, last = step.state.tools.confirming, step.state.caller_turn.last_words
    turn = Overlap(said, 0.0, True, step.last_said, step.state.replies.unheard_text)
    nothing = any(asks_nothing(turn, last, language) for language in step.possible_languages)
    confirms = asked is not None and agrees(said, step.language)
    step.change("tools", asked_nothing=nothing and not confirms)


def is_dismissal(step: Step, said: str) -> bool:
    """Returns whether a turn that asks for nothing tells the agent to let the matter be. "Okay" and "wait" do not."""
    words = bare_words(said)
    return any(has_phrase(words, language.dismissals) for language in step.possible_languages)


def is_withheld(step: Step, call: ToolCall) -> bool:
    """Returns whether the tool must not run because the caller's last turn asked for nothing."""
    return step.state.tools.asked_nothing and rule_of(step, call.name).effect != "none"


def only_tells_to_stop(step: Step, said: str) -> bool:
    """Returns whether these words only tell the agent to stop or to wait, and a phrase answers them. The language model answers a
    caller who is owed a result, or whom the engine asked a question. A result that was cut off is not owed any more."""
    state = step.state
    is_owed = bool(state.late.running) or not all(run.cut_off for run in state.late.owed)
    was_asked = state.tools.confirming is not None or state.replies.offers_person
    if is_owed or was_asked or not step.sayings.stopped:
        return False
    return any(only_halts(said, language) for language in step.possible_languages)


# --- results that the caller is owed ----------------------------------------------------------------------------------


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
    """Returns whether the floor is free to tell results. The rest of a reply comes first for a caller who was away."""
    if step.state.connection.lost_ms is not None and step.state.replies.unheard_text:
        return False
    return step.state.phase is Phase.IDLE and bool(step.state.late.owed) and not step.state.replies.transferring


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
