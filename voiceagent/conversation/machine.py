"""The turn engine: `step(state, event) -> (state, actions)`, a pure function.

Theory of operation. A call is in one `Phase`; `TABLE` says, for every kind of event, in which phases it means something
and what is done then. An event that has no row for the phase is late or stray and changes nothing: that is how every race
is settled. Replies are named by ids: an event of a reply that is not the live one is dropped, so cancelling a reply is
nothing but moving it from `reply` to `dropping`. A dropped reply settles when the leg reports what of it was really sent
(`PlayoutStopped`); only then do its heard words enter the history, and only then may the next reply start, so a prompt
never holds words that the caller did not hear.

While the caller has the floor, `reply` may hold one of two things: a guess, begun in a pause and unknown to everybody until
its turn is committed (`speculation`), or the reply that the caller speaks over, which goes on, softly or not, or is held
(`floor`) until it is known whether that was meant to stop it (`overlap`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from voiceagent.conversation import actions as act
from voiceagent.conversation import answering, caller, compaction, floor, replying, tool_runs
from voiceagent.conversation import events as ev
from voiceagent.conversation.answering import begin
from voiceagent.conversation.replying import CALL_LIMIT, FILLER, FINAL, GO_ON, OVERLAP, REPLY, SILENCE, drop, end
from voiceagent.conversation.state import LIVE, Phase, Rules, State, Want
from voiceagent.conversation.step import Step
from voiceagent.turn_taking.spoken_language import AUTO, FIRST_LANGUAGE, SpokenLanguage


def start(rules: Rules) -> State:
    """The state of a call that has not begun."""
    return State(rules, SpokenLanguage(FIRST_LANGUAGE if rules.language == AUTO else rules.language))


def step(state: State, event: ev.Event) -> tuple[State, tuple[act.Action, ...]]:
    """What the call is after `event`, and what is to be done about it."""
    handler = TABLE.get(type(event), {}).get(state.phase)
    if handler is None:
        return state, ()
    turn = Step(state, event.at_ms)
    handler(turn, event)
    return turn.state, tuple(turn.actions)


def _call_started(step: Step, event: ev.CallStarted) -> None:
    step.set_timer(CALL_LIMIT, step.state.rules.max_call_ms)
    if step.state.rules.greeting:
        replying.make_room(step)
        begin(step, Want("say", step.state.rules.greeting))
    else:
        replying.rest(step)


def _summarised(step: Step, event: ev.Summarised) -> None:
    compaction.take_summary(step, event)
    if step.state.phase is Phase.IDLE:
        replying.make_room(step)


def _hang_up(step: Step, event: ev.HangUp) -> None:
    end(step, event.reason)


def _timer_fired(step: Step, event: ev.TimerFired) -> None:
    if event.name not in step.state.timers:
        return
    step.put(timers=step.state.timers - {event.name})
    if event.name == CALL_LIMIT:
        end(step, "call_limit")
    elif event.name == FINAL and step.state.phase is Phase.FINALISING:
        caller.final_is_late(step)
    elif event.name == OVERLAP:
        caller.overlap_lasts(step)
    elif event.name == GO_ON:
        floor.go_on(step)
    elif event.name == FILLER:
        tool_runs.filler_is_due(step)
    elif event.name == REPLY and step.state.reply is not None:
        _reply_is_late(step)
    elif event.name == SILENCE and step.state.phase is Phase.IDLE:
        _nobody_spoke(step)


def _reply_is_late(step: Step) -> None:
    step.do(act.Failure("reply_timeout", "the language model produced nothing in time"))
    drop(step, "failed")
    if step.state.phase in replying.FLOOR_IS_THE_AGENTS:
        begin(step, Want("say", step.sayings.apology))


def _nobody_spoke(step: Step) -> None:
    sayings = step.sayings
    if step.state.check_ins == 0 and sayings.check_in:
        step.put(check_ins=1)
        begin(step, Want("say", sayings.check_in))
    elif sayings.farewell:
        step.put(ending="silence")
        begin(step, Want("say", sayings.farewell))
    else:
        end(step, "silence")


Handler = Callable[[Step, Any], None]

_REPLYING = (Phase.THINKING, Phase.SPEAKING)
_CALLER = (Phase.HEARING, Phase.FINALISING)
_MADE = (*_REPLYING, *_CALLER)

TABLE: Mapping[type[ev.Event], Mapping[Phase, Handler]] = {
    event: dict.fromkeys(phases, handler)
    for event, phases, handler in (
        # event                 phases in which it means something      what is done
        (ev.CallStarted,        (Phase.NEW,),                           _call_started),
        (ev.HangUp,             (Phase.NEW, *LIVE),                     _hang_up),
        (ev.TimerFired,         LIVE,                                   _timer_fired),
        (ev.SpeechStarted,      LIVE,                                   caller.speech_started),
        (ev.Transcript,         _CALLER,                                caller.transcript),
        (ev.SpeechPaused,       (Phase.HEARING,),                       caller.speech_paused),
        (ev.SpeechResumed,      (Phase.HEARING,),                       caller.speech_resumed),
        (ev.OverlapHeard,       (Phase.HEARING,),                       caller.overlap_heard),
        (ev.TurnJudged,         (Phase.HEARING,),                       caller.turn_judged),
        (ev.SilenceReached,     (Phase.HEARING,),                       caller.silence_reached),
        (ev.Endpoint,           (Phase.HEARING,),                       caller.endpoint),
        (ev.ContextFound,       _CALLER,                                caller.context_found),
        (ev.FinalTranscript,    LIVE,                                   caller.final),
        (ev.TextReceived,       LIVE,                                   caller.text_received),
        (ev.Summarised,         LIVE,                                   _summarised),
        (ev.ReplyRequested,     (Phase.IDLE, *_REPLYING),               caller.reply_requested),
        (ev.ReplyCancelled,     _MADE,                                  caller.reply_cancelled),
        (ev.InstructionsChanged, (Phase.NEW, *LIVE),                    caller.instructions_changed),
        (ev.TextDelta,          _MADE,                                  answering.text_delta),
        (ev.ToolCallRequested,  _MADE,                                  tool_runs.tool_call),
        (ev.GenerationDone,     _MADE,                                  answering.generation_done),
        (ev.GenerationFailed,   _MADE,                                  answering.generation_failed),
        (ev.OutputBlocked,      _MADE,                                  answering.output_blocked),
        (ev.ToolFinished,       _MADE,                                  tool_runs.tool_finished),
        (ev.ToolPredicted,      (Phase.HEARING,),                       caller.tool_predicted),
        (ev.LookedUp,           _MADE,                                  tool_runs.looked_up),
        (ev.ClauseAudio,        _MADE,                                  replying.clause_audio),
        (ev.ClauseFailed,       _MADE,                                  replying.clause_failed),
        (ev.Played,             _MADE,                                  replying.played),
        (ev.PlayoutStopped,     (*LIVE, Phase.ENDED),                   answering.playout_stopped),
    )
}  # fmt: skip
