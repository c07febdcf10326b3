"""The turn engine: `step(state, event) -> (state, actions)`, a pure function.

Theory of operation. A call is in one `Phase`; `TABLE` says, for every kind of event, in which phases it means something
and what is done then. An event that has no row for the phase is late or stray and changes nothing: that is how every race
is settled. Replies are named by ids: an event of a reply that is not the live one is dropped, so cancelling a reply is
nothing but moving it from `reply` to `dropping`. A dropped reply settles when the leg reports what of it was really sent
(`PlayoutStopped`); only then do its heard words enter the history, and only then may the next reply start, so a prompt
never holds words that the caller did not hear."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import Message, ToolCall
from voiceagent.conversation.reply import Reply, Round
from voiceagent.conversation.state import LIVE, Phase, Rules, State, Want
from voiceagent.conversation.step import Step

SILENCE, CALL_LIMIT, FINAL, REPLY = "silence", "call_limit", "final", "reply"


def start(rules: Rules) -> State:
    """The state of a call that has not begun."""
    return State(rules)


def step(state: State, event: ev.Event) -> tuple[State, tuple[act.Action, ...]]:
    """What the call is after `event`, and what is to be done about it."""
    handler = TABLE.get(type(event), {}).get(state.phase)
    if handler is None:
        return state, ()
    turn = Step(state, event.at_ms)
    handler(turn, event)
    return turn.state, tuple(turn.actions)


# --- starting and ending replies ---------------------------------------------------------------------------------------


def _begin(step: Step, want: Want) -> None:
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
        _rest(step)


def _new_reply(step: Step, *, turn: int, answers_user: bool) -> Reply:
    reply = Reply(step.state.next_reply_id, turn, answers_user=answers_user)
    step.put(reply=reply, next_reply_id=reply.reply_id + 1, rest="")
    step.do(act.ReplyStarted(reply.reply_id, turn))
    return reply


def _answer(step: Step) -> None:
    """Let the language model answer what the caller said."""
    said = step.state.unanswered
    if said:
        step.put(history=(*step.state.history, Message("user", said)), unanswered="", turn=step.state.turn + 1)
    reply = _new_reply(step, turn=step.state.turn, answers_user=bool(said))
    _generate(step, reply)


def _say(step: Step, text: str) -> None:
    """Say given text without the language model."""
    reply, pieces = _new_reply(step, turn=0, answers_user=False).with_text(text, final=True)
    step.put(reply=reply)
    _speak(step, reply, pieces)


def _generate(step: Step, reply: Reply) -> None:
    system = (Message("system", step.state.rules.instructions),) if step.state.rules.instructions else ()
    step.put(reply=replace(reply, generating=True))
    step.do(act.Generate(reply.reply_id, (*system, *step.state.history, *reply.messages(as_heard=False))))
    step.set_timer(REPLY, step.state.rules.reply_timeout_ms)


def _speak(step: Step, reply: Reply, pieces: tuple[str, ...]) -> None:
    first = len(reply.clauses) - len(pieces)
    for index, text in enumerate(pieces, start=first):
        step.do(act.Speak(reply.reply_id, index, text), act.ReplyText(reply.reply_id, index, text))


def _drop(step: Step, status: str) -> None:
    """Cancel the live reply, if there is one; it settles with `PlayoutStopped`."""
    reply = step.state.reply
    step.clear_timers([REPLY])
    if reply is not None:
        step.put(reply=None, dropping=replace(reply, status=status, generating=False))
        step.do(act.Drop(reply.reply_id))


def _rest(step: Step) -> None:
    """Nobody speaks: wait for the caller, but not for ever."""
    step.put(phase=Phase.IDLE)
    step.set_timer(SILENCE, step.state.rules.silence_timeout_ms)


def _check_complete(step: Step) -> None:
    """End the live reply when nothing of it is left to do."""
    reply = step.state.reply
    if reply is None or not reply.complete:
        return
    done = replace(reply, status="completed" if reply.status == "live" else reply.status)
    step.clear_timers([REPLY])
    step.put(reply=None, history=step.state.history + done.messages(as_heard=True))
    step.do(act.ReplyEnded(done.reply_id, done.status, done.heard, done.unheard))
    if step.state.ending:
        _end(step, step.state.ending)
    else:
        _rest(step)


def _end(step: Step, reason: str) -> None:
    _drop(step, "cancelled")
    step.clear_timers(step.state.timers)
    step.put(phase=Phase.ENDED, want=None)
    step.do(act.End(reason))


def _fail(step: Step, code: str, message: str) -> None:
    """The live reply failed before it could be heard to its end: say so, once."""
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
    _speak(step, reply, pieces)
    _check_complete(step)


# --- events of the call and the caller ----------------------------------------------------------------------------------


def _call_started(step: Step, event: ev.CallStarted) -> None:
    step.set_timer(CALL_LIMIT, step.state.rules.max_call_ms)
    if step.state.rules.greeting:
        _begin(step, Want("say", step.state.rules.greeting))
    else:
        _rest(step)


def _hang_up(step: Step, event: ev.HangUp) -> None:
    _end(step, event.reason)


def _speech_started(step: Step, event: ev.SpeechStarted) -> None:
    if event.utterance_id <= step.state.utterance_id:
        return
    step.clear_timers([SILENCE])
    _drop(step, "interrupted")
    step.put(phase=Phase.HEARING, utterance_id=event.utterance_id, partial="", want=None, check_ins=0, ending="")
    step.do(act.CallerStarted(event.utterance_id, event.onset_ms))


def _transcript(step: Step, event: ev.Transcript) -> None:
    if event.utterance_id != step.state.utterance_id:
        return
    step.put(partial=" ".join(f"{event.stable} {event.unstable}".split()))
    step.do(act.CallerPartial(event.utterance_id, event.stable, event.unstable))


def _endpoint(step: Step, event: ev.Endpoint) -> None:
    if event.utterance_id != step.state.utterance_id:
        return
    step.put(phase=Phase.FINALISING, awaiting_final=step.state.awaiting_final | {event.utterance_id})
    step.do(act.CallerStopped(event.utterance_id, event.speech_end_ms), act.Transcribe(event.utterance_id))
    step.set_timer(FINAL, step.state.rules.final_timeout_ms)


def _final(step: Step, event: ev.FinalTranscript) -> None:
    if event.utterance_id not in step.state.awaiting_final:
        return
    step.put(
        awaiting_final=step.state.awaiting_final - {event.utterance_id},
        unanswered=" ".join(f"{step.state.unanswered} {event.text}".split()),
    )
    step.do(act.CallerFinal(event.utterance_id, event.text))
    if step.state.phase is not Phase.FINALISING or step.state.awaiting_final:
        return
    step.clear_timers([FINAL])
    _begin(step, Want("answer") if step.state.unanswered else Want("resume"))


def _text_received(step: Step, event: ev.TextReceived) -> None:
    step.put(unanswered=" ".join(f"{step.state.unanswered} {event.text}".split()))


def _reply_requested(step: Step, event: ev.ReplyRequested) -> None:
    if not step.state.unanswered and not step.state.history:
        step.do(act.Failure("nothing_to_answer", "response.create came before the caller said or typed anything"))
        return
    _drop(step, "interrupted")
    _begin(step, Want("answer"))


def _reply_cancelled(step: Step, event: ev.ReplyCancelled) -> None:
    _drop(step, "cancelled")
    step.put(want=None, ending="")
    _rest(step)


def _instructions_changed(step: Step, event: ev.InstructionsChanged) -> None:
    step.put(rules=replace(step.state.rules, instructions=event.instructions))


# --- events of the live reply -------------------------------------------------------------------------------------------


def _text_delta(step: Step, event: ev.TextDelta) -> None:
    reply = step.live(event.reply_id)
    if reply is None or not reply.generating:
        return
    step.clear_timers([REPLY])
    reply, pieces = reply.with_text(event.text, final=False)
    step.put(reply=reply)
    _speak(step, reply, pieces)


def _tool_call(step: Step, event: ev.ToolCallRequested) -> None:
    reply = step.live(event.reply_id)
    if reply is None or not reply.generating:
        return
    step.clear_timers([REPLY])
    reply, pieces = reply.with_text("", final=True)
    reply = reply.with_tool(ToolCall(event.call_id, event.name, event.arguments))
    step.put(reply=reply)
    _speak(step, reply, pieces)
    step.do(
        act.RunTool(reply.reply_id, event.call_id, event.name, event.arguments),
        act.ToolStarted(reply.reply_id, event.call_id, event.name, event.arguments),
    )


def _generation_done(step: Step, event: ev.GenerationDone) -> None:
    reply = step.live(event.reply_id)
    if reply is None or not reply.generating:
        return
    step.clear_timers([REPLY])
    reply, pieces = replace(reply, generating=False).with_text("", final=True)
    step.put(reply=reply)
    _speak(step, reply, pieces)
    if not reply.clauses and not reply.used_tools:
        _fail(step, "empty_reply", "the language model answered with nothing")
    else:
        _next_round(step)


def _generation_failed(step: Step, event: ev.GenerationFailed) -> None:
    reply = step.live(event.reply_id)
    if reply is not None and reply.generating:
        _fail(step, "llm_failed", event.error)


def _tool_finished(step: Step, event: ev.ToolFinished) -> None:
    reply = step.live(event.reply_id)
    if reply is None:
        return
    run = next((run for run in reply.rounds[-1].tools if run.call.call_id == event.call_id and run.output is None), None)
    if run is None:
        return
    step.put(reply=reply.with_tool_output(event.call_id, event.output))
    step.do(act.ToolEnded(reply.reply_id, event.call_id, run.call.name, event.output, event.ok))
    _next_round(step)


def _next_round(step: Step) -> None:
    """Go back to the model once a round's tools are done; otherwise see whether the reply is over."""
    reply = step.state.reply
    if reply is None:
        return
    if reply.generating or reply.tools_pending or not reply.rounds[-1].tools or reply.status == "failed":
        _check_complete(step)
    elif len(reply.rounds) > step.state.rules.max_tool_rounds:
        _fail(step, "too_many_tools", f"the reply asked for tools {len(reply.rounds)} times in a row")
    else:
        _generate(step, replace(reply, rounds=(*reply.rounds, Round())))


def _clause_audio(step: Step, event: ev.ClauseAudio) -> None:
    reply = step.live(event.reply_id)
    if reply is None or not 0 <= event.clause < len(reply.clauses):
        return
    clause = replace(reply.clauses[event.clause], ready=event.complete, duration_ms=event.duration_ms, words=event.words)
    step.put(reply=reply.with_clause(event.clause, clause))
    _check_complete(step)


def _clause_failed(step: Step, event: ev.ClauseFailed) -> None:
    reply = step.live(event.reply_id)
    if reply is None or not 0 <= event.clause < len(reply.clauses):
        return
    step.put(reply=reply.with_clause(event.clause, replace(reply.clauses[event.clause], failed=True)))
    step.do(act.Failure("tts_failed", event.error))
    _check_complete(step)


def _played(step: Step, event: ev.Played) -> None:
    reply = step.live(event.reply_id)
    if reply is None:
        return
    after = reply.with_played(event.clause, event.played_ms)
    step.put(reply=after, phase=Phase.SPEAKING)
    if after.heard != reply.heard:
        step.do(act.ReplyHeard(after.reply_id, after.heard))
    _check_complete(step)


def _playout_stopped(step: Step, event: ev.PlayoutStopped) -> None:
    dropped = step.state.dropping
    if dropped is None or dropped.reply_id != event.reply_id:
        return
    dropped = dropped.with_played(event.clause, event.played_ms)
    step.put(dropping=None)
    history = step.state.history
    interrupted = dropped.status == "interrupted"
    if interrupted and dropped.answers_user and not dropped.heard and not dropped.used_tools:
        step.put(history=history[:-1], unanswered=" ".join(f"{history[-1].content} {step.state.unanswered}".split()))
    else:
        step.put(history=history + dropped.messages(as_heard=True), rest=dropped.unheard if interrupted else "")
    step.do(act.ReplyEnded(dropped.reply_id, dropped.status, dropped.heard, dropped.unheard))
    if step.state.want is not None:
        _begin(step, step.state.want)


# --- timers -------------------------------------------------------------------------------------------------------------


def _timer_fired(step: Step, event: ev.TimerFired) -> None:
    if event.name not in step.state.timers:
        return
    step.put(timers=step.state.timers - {event.name})
    if event.name == CALL_LIMIT:
        _end(step, "call_limit")
    elif event.name == FINAL and step.state.phase is Phase.FINALISING:
        latest = step.state.utterance_id
        text = step.state.partial if latest in step.state.awaiting_final else ""
        step.put(awaiting_final=frozenset({latest}))
        _final(step, ev.FinalTranscript(event.at_ms, latest, text))
    elif event.name == REPLY and step.state.reply is not None:
        step.do(act.Failure("reply_timeout", "the language model produced nothing in time"))
        _drop(step, "failed")
        _begin(step, Want("say", step.state.rules.apology))
    elif event.name == SILENCE and step.state.phase is Phase.IDLE:
        _nobody_spoke(step)


def _nobody_spoke(step: Step) -> None:
    rules = step.state.rules
    if step.state.check_ins == 0 and rules.check_in:
        step.put(check_ins=1)
        _begin(step, Want("say", rules.check_in))
    elif rules.farewell:
        step.put(ending="silence")
        _begin(step, Want("say", rules.farewell))
    else:
        _end(step, "silence")


# --- the table ----------------------------------------------------------------------------------------------------------

Handler = Callable[[Step, Any], None]

_REPLYING = (Phase.THINKING, Phase.SPEAKING)
_CALLER = (Phase.HEARING, Phase.FINALISING)

TABLE: Mapping[type[ev.Event], Mapping[Phase, Handler]] = {
    event: dict.fromkeys(phases, handler)
    for event, phases, handler in (
        # event                 phases in which it means something      what is done
        (ev.CallStarted,        (Phase.NEW,),                           _call_started),
        (ev.HangUp,             (Phase.NEW, *LIVE),                     _hang_up),
        (ev.SpeechStarted,      LIVE,                                   _speech_started),
        (ev.Transcript,         _CALLER,                                _transcript),
        (ev.Endpoint,           (Phase.HEARING,),                       _endpoint),
        (ev.FinalTranscript,    LIVE,                                   _final),
        (ev.TextReceived,       LIVE,                                   _text_received),
        (ev.ReplyRequested,     (Phase.IDLE, *_REPLYING),               _reply_requested),
        (ev.ReplyCancelled,     _REPLYING,                              _reply_cancelled),
        (ev.InstructionsChanged, (Phase.NEW, *LIVE),                    _instructions_changed),
        (ev.TextDelta,          _REPLYING,                              _text_delta),
        (ev.ToolCallRequested,  _REPLYING,                              _tool_call),
        (ev.GenerationDone,     _REPLYING,                              _generation_done),
        (ev.GenerationFailed,   _REPLYING,                              _generation_failed),
        (ev.ToolFinished,       _REPLYING,                              _tool_finished),
        (ev.ClauseAudio,        _REPLYING,                              _clause_audio),
        (ev.ClauseFailed,       _REPLYING,                              _clause_failed),
        (ev.Played,             _REPLYING,                              _played),
        (ev.PlayoutStopped,     (*LIVE, Phase.ENDED),                   _playout_stopped),
        (ev.TimerFired,         LIVE,                                   _timer_fired),
    )
}  # fmt: skip
