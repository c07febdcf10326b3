"""Making, saying, dropping and ending replies, and the events that a reply's engines and the leg send back."""

from __future__ import annotations

from msgspec.structs import replace

from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import Message, ToolCall
from voiceagent.conversation.lookups import end_lookups, finish, known, look_up, same_call, take
from voiceagent.conversation.reply import Reply, Round, ToolRun
from voiceagent.conversation.state import Phase, Want
from voiceagent.conversation.step import Step

SILENCE, CALL_LIMIT, FINAL, REPLY, OVERLAP = "silence", "call_limit", "final", "reply", "overlap"
FLOOR_IS_THE_AGENTS = (Phase.THINKING, Phase.SPEAKING)


# --- starting replies ---------------------------------------------------------------------------------------------------


def begin(step: Step, want: Want) -> None:
    """Start the wanted reply, or remember it until the dropped one has settled."""
    step.clear_timers([SILENCE])
    step.put(phase=Phase.THINKING, want=want)
    if step.state.dropping is not None:
        return
    step.put(want=None)
    text = step.state.rest if want.kind == "resume" else want.text
    if want.kind == "answer":
        _answer(step)
    elif text:
        _say(step, text)
    elif step.state.unanswered:
        _answer(step)
    else:
        rest(step)


def new_reply(step: Step, reply: Reply) -> Reply:
    """Make it the live one, and forget what an interrupted one left to say."""
    step.put(reply=reply, next_reply_id=reply.reply_id + 1)
    return reply


def _answer(step: Step) -> None:
    """Let the language model answer what the caller said."""
    said = step.state.unanswered
    if said:
        take_turn(step, said)
    reply = new_reply(step, Reply(step.state.next_reply_id, step.state.turn, answers_user=bool(said)))
    announce(step, reply)
    if step.state.refusal is not None:
        _refuse(step, reply, step.state.refusal)
    else:
        generate(step, reply)


def _refuse(step: Step, reply: Reply, refusal: ev.Refusal) -> None:
    """The language model may not read what was said: answer it with the guard's line."""
    reply, pieces = reply.with_text(refusal.line, final=True)
    step.put(reply=reply, refusal=None)
    step.do(act.Withheld(reply.reply_id, "input", refusal.rule))
    speak(step, reply, pieces)
    check_complete(step)


def take_turn(step: Step, said: str) -> None:
    """The caller's words enter the history: a turn began."""
    step.put(history=(*step.state.history, Message("user", said)), unanswered="", turn=step.state.turn + 1)


def announce(step: Step, reply: Reply) -> None:
    """The reply is no guess (any more): tell the client."""
    step.put(rest="", guesses=0, guess_tokens=0)
    step.do(act.ReplyStarted(reply.reply_id, reply.turn))


def _say(step: Step, text: str) -> None:
    """Say given text without the language model."""
    reply = new_reply(step, Reply(step.state.next_reply_id, 0))
    announce(step, reply)
    reply, pieces = reply.with_text(text, final=True)
    step.put(reply=reply)
    speak(step, reply, pieces)


def generate(step: Step, reply: Reply) -> None:
    """Start a round of the language model."""
    asked = (Message("user", reply.guess),) if reply.guess else ()
    step.put(reply=replace(reply, generating=True))
    step.do(act.Generate(reply.reply_id, (*known_history(step), *asked, *reply.messages(as_heard=False))))
    if not reply.guess:
        step.set_timer(REPLY, step.state.rules.reply_timeout_ms)


def known_history(step: Step) -> tuple[Message, ...]:
    """The beginning of every prompt: the instructions and what was said."""
    instructions = step.state.rules.instructions
    return (*((Message("system", instructions),) if instructions else ()), *step.state.history)


def speak(step: Step, reply: Reply, pieces: tuple[str, ...]) -> None:
    """Have new clauses synthesised. Of a guess only the first is, and nobody is told."""
    first = len(reply.clauses) - len(pieces)
    for index, text in enumerate(pieces, start=first):
        if not reply.guess:
            step.do(act.Speak(reply.reply_id, index, text), act.ReplyText(reply.reply_id, index, text))
        elif index == 0:
            step.do(act.Speak(reply.reply_id, index, text))


# --- ending replies -----------------------------------------------------------------------------------------------------


def drop(step: Step, status: str) -> None:
    """Cancel the live reply or the guess, if there is one; it settles with `PlayoutStopped`."""
    reply = step.state.reply
    step.clear_timers([REPLY, OVERLAP])
    if reply is None:
        return
    step.put(reply=None, dropping=replace(reply, status=status, generating=False))
    step.do(act.Drop(reply.reply_id))
    if reply.guess:
        step.put(guess_tokens=step.state.guess_tokens + reply.tokens)
        step.do(act.GuessEnded(reply.reply_id, status, reply.tokens))
    else:
        end_lookups(step)


def rest(step: Step) -> None:
    """Nobody speaks: wait for the caller, but not for ever."""
    end_lookups(step)
    step.put(phase=Phase.IDLE)
    step.set_timer(SILENCE, step.state.rules.silence_timeout_ms)


def check_complete(step: Step) -> None:
    """End the live reply when nothing of it is left to do."""
    reply = step.spoken()
    if reply is None or not reply.complete:
        return
    done = replace(reply, status="completed" if reply.status == "live" else reply.status)
    step.clear_timers([REPLY, OVERLAP])
    step.put(reply=None, history=step.state.history + done.messages(as_heard=True))
    end_lookups(step)
    step.do(act.ReplyEnded(done.reply_id, done.status, done.heard, done.unheard))
    if step.state.ending:
        end(step, step.state.ending)
    elif step.state.phase in FLOOR_IS_THE_AGENTS:
        rest(step)


def end(step: Step, reason: str) -> None:
    """End the call."""
    drop(step, "ended" if step.guess() else "cancelled")
    end_lookups(step)
    step.clear_timers(step.state.timers)
    step.put(phase=Phase.ENDED, want=None)
    step.do(act.End(reason))


def _fail(step: Step, code: str, message: str) -> None:
    """The live reply failed before it could be heard to its end: say so, once. A guess that fails is nothing to speak of."""
    if step.guess():
        drop(step, "failed")
        return
    step.do(act.Failure(code, message))
    reply = step.state.reply
    if reply is None:
        return
    reply = replace(reply, status="failed", generating=False, buffer="")
    pieces: tuple[str, ...] = ()
    if not reply.clauses:
        reply, pieces = reply.with_text(step.state.rules.apology, final=True)
    step.clear_timers([REPLY])
    step.put(reply=reply)
    speak(step, reply, pieces)
    check_complete(step)


# --- events of the live reply -------------------------------------------------------------------------------------------


def text_delta(step: Step, event: ev.TextDelta) -> None:
    """The language model said more."""
    reply = step.live(event.reply_id)
    if reply is None or not reply.generating:
        return
    step.clear_timers([REPLY])
    reply, pieces = replace(reply, tokens=reply.tokens + event.tokens).with_text(event.text, final=False)
    step.put(reply=reply)
    speak(step, reply, pieces)


def tool_call(step: Step, event: ev.ToolCallRequested) -> None:
    """The language model wants a tool. What it said before is all it says before the result."""
    reply = step.live(event.reply_id)
    if reply is None or not reply.generating:
        return
    step.clear_timers([REPLY])
    reply, pieces = replace(reply, tokens=reply.tokens + 1).with_text("", final=True)
    call = ToolCall(event.call_id, event.name, event.arguments)
    reply = reply.with_tool(call)
    step.put(reply=reply)
    speak(step, reply, pieces)
    if reply.guess:
        look_up(step, call.name, call.arguments)
    else:
        run_tool(step, reply, call)
    fill_in(step)


def run_tool(step: Step, reply: Reply, call: ToolCall) -> None:
    """The turn is committed: run it, unless it runs or ran already. Nothing runs twice for a reply."""
    step.do(act.ToolStarted(reply.reply_id, call.call_id, call.name, call.arguments))
    if take(step, call.name, call.arguments):
        return
    before = _asked_before(step, call)
    if before is None:
        step.do(act.RunTool(reply.reply_id, call.call_id, call.name, call.arguments))
    elif before.output is not None:
        _tool_ended(step, call, before.output, before.ok)


def _asked_before(step: Step, call: ToolCall) -> ToolRun | None:
    """The live reply's earlier run of just that."""
    reply = step.state.reply
    runs = [run for part in reply.rounds for run in part.tools] if reply is not None else []
    same = (run for run in runs if same_call(run.call, call))
    return next((run for run in same if run.call.call_id != call.call_id), None)


def looked_up(step: Step, event: ev.LookedUp) -> None:
    """A tool that ran ahead has a result: give it to whoever waits."""
    if finish(step, event):
        fill_in(step)


def fill_in(step: Step) -> None:
    """Give the live reply, a guess or not, the results that are there already, and go on when it waits for none."""
    reply = step.state.reply
    if reply is None:
        return
    for run in reply.rounds[-1].tools:
        result = known(step, run.call.name, run.call.arguments)
        if run.output is None and result is not None and result.output is not None:
            _tool_ended(step, run.call, result.output, result.ok)
    next_round(step)


def _tool_ended(step: Step, call: ToolCall, output: str, ok: bool) -> None:
    """Note what a tool gave, for every call of the live reply that asked for just that."""
    reply = step.state.reply
    assert reply is not None
    for run in reply.rounds[-1].tools:
        if run.output is None and same_call(run.call, call):
            reply = reply.with_tool_output(run.call.call_id, output, ok)
            if not reply.guess:
                step.do(act.ToolEnded(reply.reply_id, run.call.call_id, run.call.name, output, ok))
    step.put(reply=reply)


def generation_done(step: Step, event: ev.GenerationDone) -> None:
    """The language model has finished its round."""
    reply = step.live(event.reply_id)
    if reply is None or not reply.generating:
        return
    step.clear_timers([REPLY])
    reply, pieces = replace(reply, generating=False).with_text("", final=True)
    step.put(reply=reply)
    speak(step, reply, pieces)
    if not reply.clauses and not reply.used_tools:
        _fail(step, "empty_reply", "the language model answered with nothing")
    else:
        next_round(step)


def generation_failed(step: Step, event: ev.GenerationFailed) -> None:
    """The language model broke."""
    reply = step.live(event.reply_id)
    if reply is not None and reply.generating:
        _fail(step, "llm_failed", event.error)


def output_blocked(step: Step, event: ev.OutputBlocked) -> None:
    """The output guard stopped the language model: what was held back is forgotten, the line ends the reply."""
    reply = step.live(event.reply_id)
    if reply is None or not reply.generating:
        return
    step.clear_timers([REPLY])
    reply, pieces = replace(reply, generating=False, status="completed", buffer="").with_text(event.line, final=True)
    step.put(reply=reply)
    step.do(act.Withheld(reply.reply_id, "output", event.rule))
    speak(step, reply, pieces)
    check_complete(step)


def tool_finished(step: Step, event: ev.ToolFinished) -> None:
    """A tool has a result."""
    reply = step.live(event.reply_id)
    if reply is None or reply.guess:
        return
    run = next((run for run in reply.rounds[-1].tools if run.call.call_id == event.call_id and run.output is None), None)
    if run is not None:
        _tool_ended(step, run.call, event.output, event.ok)
        next_round(step)


def next_round(step: Step) -> None:
    """Go back to the model once a round's tools are done; otherwise see whether the reply is over."""
    reply = step.state.reply
    if reply is None:
        return
    if reply.generating or reply.tools_pending or not reply.rounds[-1].tools or reply.status != "live":
        check_complete(step)
    elif len(reply.rounds) > step.state.rules.max_tool_rounds:
        _fail(step, "too_many_tools", f"the reply asked for tools {len(reply.rounds)} times in a row")
    else:
        generate(step, replace(reply, rounds=(*reply.rounds, Round())))


def clause_audio(step: Step, event: ev.ClauseAudio) -> None:
    """A clause was synthesised, or a part of it."""
    reply = step.live(event.reply_id)
    if reply is None or not 0 <= event.clause < len(reply.clauses):
        return
    clause = replace(reply.clauses[event.clause], ready=event.complete, duration_ms=event.duration_ms, words=event.words)
    step.put(reply=reply.with_clause(event.clause, clause))
    check_complete(step)


def clause_failed(step: Step, event: ev.ClauseFailed) -> None:
    """A clause could not be synthesised."""
    reply = step.live(event.reply_id)
    if reply is None or not 0 <= event.clause < len(reply.clauses):
        return
    if reply.guess:
        _fail(step, "tts_failed", event.error)
        return
    step.put(reply=reply.with_clause(event.clause, replace(reply.clauses[event.clause], failed=True)))
    step.do(act.Failure("tts_failed", event.error))
    check_complete(step)


def played(step: Step, event: ev.Played) -> None:
    """The caller heard more of it."""
    reply = step.live(event.reply_id)
    if reply is None or reply.guess:
        return
    after = reply.with_played(event.clause, event.played_ms)
    step.put(reply=after)
    if step.state.phase in FLOOR_IS_THE_AGENTS:
        step.put(phase=Phase.SPEAKING)
    if after.heard_differs(reply):
        step.do(act.ReplyHeard(after.reply_id, after.heard))
    check_complete(step)


def playout_stopped(step: Step, event: ev.PlayoutStopped) -> None:
    """The dropped reply has settled: what was heard of it is known."""
    dropped = step.state.dropping
    if dropped is None or dropped.reply_id != event.reply_id:
        return
    step.put(dropping=None)
    if not dropped.guess:
        _settle(step, dropped.with_played(event.clause, event.played_ms))
    if step.state.want is not None:
        begin(step, step.state.want)


def _settle(step: Step, dropped: Reply) -> None:
    history = step.state.history
    interrupted = dropped.status == "interrupted"
    if interrupted and dropped.answers_user and not dropped.heard and not dropped.used_tools:
        step.put(history=history[:-1], unanswered=" ".join(f"{history[-1].content} {step.state.unanswered}".split()))
    else:
        step.put(history=history + dropped.messages(as_heard=True), rest=dropped.unheard if interrupted else "")
    step.do(act.ReplyEnded(dropped.reply_id, dropped.status, dropped.heard, dropped.unheard))
