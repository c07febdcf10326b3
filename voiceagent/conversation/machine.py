"""The turn engine: `step(state, event) -> (state, actions)`, a pure function.

Theory of operation. A call is in one `Phase`; `TABLE` says, for every kind of event, in which phases it means something
and what is done then. An event that has no row for the phase is late or stray and changes nothing: that is how every race
is settled. Replies are named by ids: an event of a reply that is not the live one is ignored, so cancelling a reply is
nothing but moving it from `reply` to `cancelling`. A cancelled reply settles when the leg reports what of it was really sent
(`PlayoutStopped`); only then do its heard words enter the history, and only then may the next reply start, so a prompt
never holds words that the caller did not hear.

While the caller has the floor, `reply` may hold one of two things: a speculative reply, begun in a pause and unknown to
everybody until its turn is committed (`speculation`), or the reply that the caller speaks over, which goes on, softly or not,
or is paused (`floor`) until it is known whether that was meant to stop it (`overlap`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from voiceagent.conversation import actions as act
from voiceagent.conversation import caller_turn, compaction, floor, generation, reply_lifecycle, tool_runs
from voiceagent.conversation import events as ev
from voiceagent.conversation.generation import begin
from voiceagent.conversation.reply_lifecycle import CALL_LIMIT, FILLER, FINAL, GO_ON, OVERLAP, REPLY, SILENCE, cancel, end
from voiceagent.conversation.state import LIVE, NextReply, Phase, Rules, State
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
        reply_lifecycle.make_room(step)
        begin(step, NextReply("say", step.state.rules.greeting))
    else:
        reply_lifecycle.go_idle(step)


def _summarised(step: Step, event: ev.Summarised) -> None:
    compaction.take_summary(step, event)
    if step.state.phase is Phase.IDLE:
        reply_lifecycle.make_room(step)


def _hang_up(step: Step, event: ev.HangUp) -> None:
    end(step, event.reason)


def _timer_fired(step: Step, event: ev.TimerFired) -> None:
    if event.name not in step.state.timers:
        return
    step.put(timers=step.state.timers - {event.name})
    if event.name == CALL_LIMIT:
        end(step, "call_limit")
    elif event.name == FINAL and step.state.phase is Phase.FINALISING:
        caller_turn.final_is_late(step)
    elif event.name == OVERLAP:
        caller_turn.overlap_lasts(step)
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
    cancel(step, "failed")
    if step.state.phase in reply_lifecycle.FLOOR_IS_THE_AGENTS:
        begin(step, NextReply("say", step.sayings.apology))


def _nobody_spoke(step: Step) -> None:
    sayings = step.sayings
    if step.state.check_ins == 0 and sayings.check_in:
        step.put(check_ins=1)
        begin(step, NextReply("say", sayings.check_in))
    elif sayings.farewell:
        step.put(ending="silence")
        begin(step, NextReply("say", sayings.farewell))
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
        (ev.SpeechStarted,      LIVE,                                   caller_turn.speech_started),
        (ev.Transcript,         _CALLER,                                caller_turn.transcript),
        (ev.SpeechPaused,       (Phase.HEARING,),                       caller_turn.speech_paused),
        (ev.SpeechResumed,      (Phase.HEARING,),                       caller_turn.speech_resumed),
        (ev.OverlapHeard,       (Phase.HEARING,),                       caller_turn.overlap_heard),
        (ev.TurnJudged,         (Phase.HEARING,),                       caller_turn.turn_judged),
        (ev.SilenceReached,     (Phase.HEARING,),                       caller_turn.silence_reached),
        (ev.Endpoint,           (Phase.HEARING,),                       caller_turn.endpoint),
        (ev.ContextFound,       _CALLER,                                caller_turn.context_found),
        (ev.FinalTranscript,    LIVE,                                   caller_turn.final),
        (ev.TextReceived,       LIVE,                                   caller_turn.text_received),
        (ev.Summarised,         LIVE,                                   _summarised),
        (ev.ReplyRequested,     (Phase.IDLE, *_REPLYING),               caller_turn.reply_requested),
        (ev.ReplyCancelled,     _MADE,                                  caller_turn.reply_cancelled),
        (ev.InstructionsChanged, (Phase.NEW, *LIVE),                    caller_turn.instructions_changed),
        (ev.TextDelta,          _MADE,                                  generation.text_delta),
        (ev.ToolCallRequested,  _MADE,                                  tool_runs.tool_call),
        (ev.GenerationDone,     _MADE,                                  generation.generation_done),
        (ev.GenerationFailed,   _MADE,                                  generation.generation_failed),
        (ev.OutputBlocked,      _MADE,                                  generation.output_blocked),
        (ev.ToolFinished,       _MADE,                                  tool_runs.tool_finished),
        (ev.ToolPredicted,      (Phase.HEARING,),                       caller_turn.tool_predicted),
        (ev.SpeculativeToolFinished,           _MADE,                                  tool_runs.speculative_tool_finished),
        (ev.ClauseAudio,        _MADE,                                  reply_lifecycle.clause_audio),
        (ev.ClauseFailed,       _MADE,                                  reply_lifecycle.clause_failed),
        (ev.Played,             _MADE,                                  reply_lifecycle.played),
        (ev.PlayoutStopped,     (*LIVE, Phase.ENDED),                   generation.playout_stopped),
    )
}  # fmt: skip
