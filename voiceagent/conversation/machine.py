"""The turn engine: `step(state, event) -> (state, actions)`, a pure function.

A call is in one `Phase` at a time. `TABLE` has a row for each kind of event: the phases in which it is handled, its handler, and
the phases in which the handler may leave the call. An event that comes in another phase is late or stray and changes nothing.
This settles every race. Besides the phase, the state holds smaller state machines, which meet only in handlers:

- The reply (`State.reply`). There is at most one. It is speculative (`Reply.assumed_text`) until its turn is committed: it began
  in a pause, and the client does not know of it. It is live until the caller has heard all of it. Then it becomes history. Events
  with the id of another reply are ignored.
- Cancelling (`Replies.cancelling`). A cancelled reply leaves `State.reply` at once. It settles when the leg reports how much of
  it was sent (`PlayoutStopped`). Only then do its heard words enter the history, and the next reply starts
  (`Replies.next_reply`). So a prompt never holds words that the caller did not hear.
- The pause (`Utterance.pause`). It is set while the open utterance is silent. It collects the words and the judges' estimates.
- The voice (`Reply.voice`). While the caller speaks over a reply, it is said in full, softer or not at all (`floor`), until it
  is known whether the caller takes the floor (`overlap`).
- Confirmation (`TurnTools.confirming`). A tool call that needs a yes waits from the question to the caller's next committed
  words.
- Late results (`State.late`). A tool may end after its reply. As soon as a call is idle, a reply begins that tells
  what the caller is owed. It is no answer to an event, so no row of the table has it.
- The agent (`StepProgress.agent`). A step may hand the call off to another one, whose rules then hold (`steps`). It comes when
  nothing is said any more, and has no row either.
- Not understood (`CallerTurn.not_understood`). A turn of which no word is known is answered with a phrase (`caller_turn`).
- Silence (`State.silence`). It is counted from the last words. Sounds without words do not begin it anew (`silence` says which
  do), and it never runs out while the caller speaks.
- The connection (`State.connection`). While it is lost, the conversation's timers stand still, and the live reply is paused.
  A call that another server has left (`handover`) begins with a lost one.
- Ending (`Silence.ending`). It is set while a farewell is said. The call ends after it, unless the caller speaks or
  the client asks for a reply. `Silence.wanted`: the operator or a tool asked for the end, and no answer or farewell has begun."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from msgspec import Struct

from voiceagent.conversation import actions as act
from voiceagent.conversation import (
    caller_turn,
    client_requests,
    collecting,
    connection,
    floor,
    generation,
    handover,
    memory,
    reply_lifecycle,
    steps,
    tool_runs,
)
from voiceagent.conversation import events as ev
from voiceagent.conversation.generation import begin_reply, hand_off
from voiceagent.conversation.reply_lifecycle import (
    BRIDGE,
    CALL_LIMIT,
    FILLER,
    FINAL,
    GO_ON,
    OVERLAP,
    RELEASE,
    REPLY,
    REST,
    THINKING,
    cancel_reply,
    end_call,
)
from voiceagent.conversation.rules import Rules
from voiceagent.conversation.silence import SILENCE, words_heard
from voiceagent.conversation.state import LIVE, NextReply, Phase, State, Step
from voiceagent.conversation.tools import results_are_due
from voiceagent.turn_taking.spoken_language import AUTO, SpokenLanguage


def start(rules: Rules, left: State | None = None) -> State:
    """The state of a call that has not begun. `left`: that in which another server has left it."""
    if left is not None:
        return handover.going_on(rules, left)
    return State(rules, SpokenLanguage(rules.first_language if rules.language == AUTO else rules.language))


def step(state: State, event: ev.Event) -> tuple[State, tuple[act.AnyAction, ...]]:
    """Returns the state after `event`, and the actions to carry out."""
    if not is_in_phase(state, event):
        return state, ()
    row = TABLE[type(event)]
    turn = Step(state, event.at_ms)
    row.handler(turn, event)
    phase = turn.state.phase
    assert phase is state.phase or phase in row.next_phases, f"{type(event).__name__} took the call from {state.phase} to {phase}"
    if steps.handoff_is_due(turn):
        hand_off(turn)
    if steps.answer_is_due(turn):
        begin_reply(turn, NextReply("answer"))
    elif results_are_due(turn):
        begin_reply(turn, NextReply("tell"))
    elif client_requests.wish_is_due(turn):
        client_requests.grant_wish(turn)
    elif floor.goodbye_is_due(turn):
        floor.say_goodbye(turn)
    return turn.state, tuple(turn.actions)


def is_in_phase(state: State, event: ev.Event) -> bool:
    """Returns whether `step` handles the event in the call's phase. An event that comes in another phase changes nothing."""
    return state.phase in TABLE[type(event)].phases


def _call_started(step: Step, event: ev.CallStarted) -> None:
    step.set_timer(CALL_LIMIT, step.state.rules.limits.max_call_ms)
    collecting.begin(step, event.today)
    steps.begin(step)
    words_heard(step)
    if step.state.connection.lost_ms is not None:
        connection.await_caller(step)
    elif step.state.rules.phrases.greeting:
        memory.make_room(step)
        greeting = collecting.greeting(step, step.state.rules.phrases.greeting)
        begin_reply(step, NextReply("say", greeting, protected=step.is_protected("greeting")))
    else:
        reply_lifecycle.go_idle(step)


def _summarised(step: Step, event: ev.Summarised) -> None:
    if event.handoff:
        steps.take_summary(step, event.handoff, event.text)
        return
    memory.take_summary(step, event)
    if step.state.phase is Phase.IDLE:
        memory.make_room(step)


def _state_kept(step: Step, event: ev.CallStateKept) -> None:
    step.put(kept=event.state)


def _degradation_changed(step: Step, event: ev.DegradationChanged) -> None:
    if event.degradations != step.state.degraded:
        step.put(degraded=event.degradations)
        step.do(act.Degraded(event.degradations))


def _hang_up(step: Step, event: ev.HangUp) -> None:
    end_call(step, event.reason)


def _timer_fired(step: Step, event: ev.TimerFired) -> None:
    if not step.timer_ran_out(event.name) or connection.stands_still(step, event.name):
        return
    if event.name == CALL_LIMIT:
        end_call(step, "call_limit")
    elif event.name == connection.AWAY:
        end_call(step, "not_resumed")
    elif event.name == FINAL and step.state.phase is Phase.FINALISING:
        caller_turn.final_is_late(step)
    elif event.name == OVERLAP:
        floor.overlap_lasts(step)
    elif event.name == GO_ON:
        floor.go_on_speaking(step)
    elif event.name == FILLER:
        tool_runs.filler_is_due(step)
    elif event.name == BRIDGE:
        tool_runs.bridge_is_due(step)
    elif event.name == RELEASE:
        generation.text_pauses(step)
    elif event.name == REPLY and step.state.reply is not None:
        _reply_is_late(step, "the language model produced nothing in time")
    elif event.name == THINKING and step.state.reply is not None:
        _reply_is_late(step, "the language model thought for too long")
    elif event.name == REST and step.state.phase is Phase.IDLE and step.state.replies.unheard_text:
        begin_reply(step, NextReply("resume"))
    elif event.name == SILENCE and step.state.phase is Phase.IDLE:
        floor.silence_is_long(step)


def _reply_is_late(step: Step, why: str) -> None:
    step.do(act.Failure("reply_timeout", why))
    cancel_reply(step, "failed")
    if step.state.phase in reply_lifecycle.FLOOR_IS_THE_AGENTS:
        begin_reply(step, NextReply("say", step.sayings.apology))


AnEvent = TypeVar("AnEvent", bound=ev.Event)


class Row(Struct, frozen=True):
    """The handling of one kind of event."""

    phases: frozenset[Phase]
    """The phases in which it is handled."""
    handler: Callable[[Step, Any], None]  # each takes its own event; `_row` sees to it that a row is for no other
    next_phases: frozenset[Phase]
    """The phases in which it may leave the call. It may also leave the phase as it was."""


def _row(
    event: type[AnEvent], phases: Iterable[Phase], handler: Callable[[Step, AnEvent], None], next_phases: Iterable[Phase] = ()
) -> tuple[type[ev.Event], Row]:
    return event, Row(frozenset(phases), handler, frozenset(next_phases))


_NEW, _IDLE, _HEARING, _FINALISING, _THINKING, _SPEAKING, _ENDED = Phase
_REPLYING = (_THINKING, _SPEAKING)
_CALLER = (_HEARING, _FINALISING)
_MADE = (*_REPLYING, *_CALLER)
_NOT_ENDED = (_NEW, *LIVE)
_OVER = (_IDLE, _ENDED)
"""The reply is over. The call ends with it if it was the farewell."""
_KEPT = (_THINKING, _SPEAKING)
"""The agent keeps the floor."""
_BEGUN = (_THINKING, _IDLE, _ENDED)
"""A reply begins, or there is nothing to say; then the call ends if the farewell was said."""
_ANSWERED = (*_BEGUN, *_KEPT)
"""The caller's words are known: a reply begins, or the agent keeps the floor."""

TABLE: Mapping[type[ev.Event], Row] = dict(
    (
        #    event                      phases                   what is done                          next phases
        _row(ev.CallStarted,            (_NEW,),                 _call_started,                        _BEGUN),
        _row(ev.HandedOver,             LIVE,                    handover.hand_over,                   (_ENDED,)),
        _row(ev.HangUp,                 _NOT_ENDED,              _hang_up,                             (_ENDED,)),
        _row(ev.ConnectionLost,         LIVE,                    connection.connection_lost,           (_ENDED,)),
        _row(ev.CallerReturns,          LIVE,                    connection.caller_returns),
        _row(ev.ConnectionResumed,      LIVE,                    connection.connection_resumed,         _BEGUN),
        _row(ev.LastWords,              LIVE,                    floor.say_last_words,                 _BEGUN),
        _row(ev.Announce,               LIVE,                    floor.say_announcement,               _BEGUN),
        _row(ev.PersonRequested,        LIVE,                    floor.person_requested,               _BEGUN),
        _row(ev.TransferFailed,         LIVE,                    floor.transfer_failed,                _BEGUN),
        _row(ev.TransferRequested,      LIVE,                    floor.transfer_requested,             _BEGUN),
        _row(ev.EndRequested,           LIVE,                    floor.end_requested,                  _BEGUN),
        _row(ev.CallStateKept,          _NOT_ENDED,              _state_kept),
        _row(ev.DegradationChanged,     _NOT_ENDED,              _degradation_changed),
        _row(ev.TimerFired,             LIVE,                    _timer_fired,                         (*_ANSWERED, _ENDED)),
        _row(ev.SpeechStarted,          LIVE,                    caller_turn.speech_started,           (_HEARING,)),
        _row(ev.Transcript,             _CALLER,                 caller_turn.transcript,               _KEPT),
        _row(ev.SpeechPaused,           (_HEARING,),             caller_turn.speech_paused,            _BEGUN),
        _row(ev.SpeechResumed,          (_HEARING,),             caller_turn.speech_resumed),
        _row(ev.OverlapHeard,           (_HEARING,),             floor.overlap_heard),
        _row(ev.TurnJudged,             (_HEARING,),             caller_turn.turn_judged),
        _row(ev.SilenceReached,         (_HEARING,),             caller_turn.silence_reached),
        _row(ev.Endpoint,               (_HEARING,),             caller_turn.endpoint,                 (_FINALISING, *_ANSWERED)),
        _row(ev.ContextFound,           _CALLER,                 caller_turn.context_found),
        _row(ev.FinalTranscript,        LIVE,                    caller_turn.final,                    _ANSWERED),
        _row(ev.TextReceived,           LIVE,                    client_requests.text_received),
        _row(ev.Summarised,             LIVE,                    _summarised),
        _row(ev.UtteranceCommitted,     LIVE,                    client_requests.utterance_committed,  (_FINALISING, *_ANSWERED)),
        _row(ev.UtteranceCleared,       LIVE,                    client_requests.utterance_cleared,    (_FINALISING, *_ANSWERED)),
        _row(ev.HistoryAdded,           LIVE,                    client_requests.history_added),
        _row(ev.HistoryRemoved,         LIVE,                    client_requests.history_removed),
        _row(ev.ReplyTruncated,         LIVE,                    client_requests.reply_truncated,      (_IDLE,)),
        _row(ev.ReplyRequested,         LIVE,                    client_requests.reply_requested,      (_FINALISING, *_BEGUN)),
        _row(ev.ReplyCancelled,         _MADE,                   client_requests.reply_cancelled,      (_IDLE,)),
        _row(ev.InstructionsChanged,    _NOT_ENDED,              client_requests.instructions_changed),
        _row(ev.SettingsChanged,        _NOT_ENDED,              client_requests.settings_changed),
        _row(ev.TextDelta,              _MADE,                   generation.text_delta),
        _row(ev.ThoughtGenerated,       _MADE,                   generation.thought_generated),
        _row(ev.ToolCallBegun,          _MADE,                   generation.tool_call_begun),
        _row(ev.ToolCallRequested,      _MADE,                   caller_turn.tool_call,                _OVER),
        _row(ev.GenerationDone,         _MADE,                   generation.generation_done,           _OVER),
        _row(ev.GenerationFailed,       _MADE,                   generation.generation_failed,         _OVER),
        _row(ev.OutputBlocked,          _MADE,                   generation.output_blocked,            _OVER),
        _row(ev.ProgressMade,           LIVE,                    tool_runs.progress_made),
        _row(ev.ToolFinished,           LIVE,                    tool_runs.tool_finished,              _OVER),
        _row(ev.ToolPredicted,          (_HEARING,),             caller_turn.tool_predicted),
        _row(ev.SpeculativeToolFinished, LIVE,                   tool_runs.speculative_tool_finished,  _OVER),
        _row(ev.ClauseAudio,            _MADE,                   reply_lifecycle.clause_audio,         _OVER),
        _row(ev.ClauseFailed,           _MADE,                   reply_lifecycle.clause_failed,        _OVER),
        _row(ev.Played,                 _MADE,                   reply_lifecycle.played,               (_SPEAKING, *_OVER)),
        _row(ev.PlayoutStopped,         (*LIVE, _ENDED),         generation.playout_stopped,           _BEGUN),
    )
)  # fmt: skip


# --- replaying a recorded call ----------------------------------------------------------------------------------------


class Replayed(Struct, frozen=True):
    """One step: the recorded decisions and the replayed ones."""

    event: ev.Event
    phase: Phase
    """The phase after the step."""
    then: tuple[act.Action, ...]
    now: tuple[act.Action, ...]

    @property
    def same(self) -> bool:
        """True when the decisions are identical."""
        return self.then == self.now


def replay(
    rules: Rules, steps: Iterable[tuple[ev.Event, tuple[act.Action, ...]]], left: State | None = None
) -> Iterator[Replayed]:
    """Replay each step of a recorded call. `left`: see `start`."""
    state = start(rules, left)
    for event, then in steps:
        state, now = step(state, event)
        yield Replayed(event, state.phase, then, now)
