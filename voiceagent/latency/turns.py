"""Measures turns: watches the events and actions of a call and reports, when a reply has ended, where its turn's time went. Pure:
it reads the times inside the events, so a recorded call gives the same measurement again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.latency.spans import LegKind, Span, Stage, TurnReport

SAME_INTERRUPTION_MS = 1000.0
"""Speech over a reply that begins this soon after other speech over it belongs to the same interruption."""
MAX_SPANS = 200
"""The most spans of a turn: a caller who speaks for minutes makes many partials."""


@dataclass(slots=True)
class _Spans:
    spans: list[Span] = field(default_factory=list)

    def add(self, stage: Stage, start_ms: float, end_ms: float) -> None:
        if len(self.spans) < MAX_SPANS:
            self.spans.append(Span(stage, start_ms, max(0.0, end_ms - start_ms)))


@dataclass(slots=True)
class _Hearing(_Spans):
    """What the caller said since the last reply to it was begun."""

    speech_end_ms: float | None = None
    decided_ms: float = 0.0
    """When the silence was long enough; from then on the turn waits for the words."""


@dataclass(slots=True)
class _Pause:
    """The caller's latest silence."""

    began_ms: float | None = None
    """When it was noticed; None if there was none."""
    speech_end_ms: float = 0.0
    endpointing_delay_ms: float = 0.0
    """How long it had to last."""
    final_ms: float | None = None
    """When its words were known."""


@dataclass(slots=True)
class _Replying(_Spans):
    """A reply and, from its commit on, the turn that it answers."""

    reply_id: int = -1
    number: int = 0
    speech_end_ms: float | None = None
    commit_ms: float = 0.0
    generate_ms: float | None = None
    pieces: int = 0
    first_piece_ms: float = 0.0
    last_piece_ms: float = 0.0
    tools_ms: dict[str, float] = field(default_factory=dict)
    speak_ms: float | None = None
    first_audio_ms: float | None = None
    first_played_ms: float | None = None
    last_played_ms: float | None = None
    barge_in_stop_ms: float | None = None


class TurnMeter:
    """One per call. Greetings, apologies and other replies that no turn asked for are not measured."""

    def __init__(self, call_id: str, profile: str, leg: LegKind = LegKind.WEBRTC) -> None:
        self._call_id = call_id
        self._leg = leg
        self._profile = profile
        self._hearing = _Hearing()
        self._replying = _Replying()
        self._speculative_ms: dict[int, float] = {}
        """Speculative tool calls that run, with their start times."""
        self._pause = _Pause()
        self._onset_ms: float | None = None
        """The onset of the caller's speech over the reply, or else of the latest speech."""
        self._overlap_ended_ms = -SAME_INTERRUPTION_MS
        """When the last speech over the live reply ended."""

    def observe(self, event: ev.Event, actions: Iterable[act.Action], at: float) -> TurnReport | None:
        """Take an event and the actions that it caused; `at` is the wall clock in Unix seconds. Returns the report of the turn
        that the event ended, if it ended one."""
        self._caller(self._hearing, event)
        self._reply(self._replying, event)
        report = None
        for action in actions:
            report = self._action(action, event.at_ms, at) or report
        return report

    def _caller(self, hearing: _Hearing, event: ev.Event) -> None:
        match event:
            case ev.SpeechStarted():
                self._pause = _Pause()
                if event.onset_ms - self._overlap_ended_ms >= SAME_INTERRUPTION_MS:
                    self._onset_ms = event.onset_ms
            case ev.SpeechPaused():
                self._pause = _Pause(event.at_ms, event.speech_end_ms)
                if self._replying.first_played_ms is not None:
                    self._overlap_ended_ms = event.speech_end_ms
            case ev.Transcript():
                hearing.add(Stage.STT_PARTIAL, event.at_ms - event.decode_ms, event.at_ms)
            case ev.TurnJudged():
                hearing.add(Stage.TURN_JUDGE, event.at_ms - event.took_ms, event.at_ms)
            case ev.FinalTranscript():
                self._guarded(hearing, event.at_ms, event.guard_ms)
                self._pause.final_ms = event.at_ms
            case ev.Endpoint():
                end = hearing.speech_end_ms = event.speech_end_ms
                hearing.add(Stage.UPLINK, end, end + event.uplink_ms)
                hearing.add(Stage.VAD, end + event.uplink_ms, end + event.uplink_ms + event.vad_ms)
                hearing.decided_ms = self._decided(event)
                hearing.add(Stage.ENDPOINT, end, hearing.decided_ms)

    def _decided(self, endpoint: ev.Endpoint) -> float:
        """When the silence that ended the turn would have been long enough if the words had been known."""
        pause = self._pause
        if pause.final_ms is None or pause.speech_end_ms != endpoint.speech_end_ms:
            return endpoint.at_ms
        long_enough_ms = pause.speech_end_ms + pause.endpointing_delay_ms
        return min(endpoint.at_ms, long_enough_ms) if pause.final_ms > long_enough_ms else endpoint.at_ms

    def _reply(self, reply: _Replying, event: ev.Event) -> None:
        match event:
            case ev.TextDelta() if event.reply_id == reply.reply_id:
                self._guarded(reply, event.at_ms, event.guard_ms)
                self._piece(reply, event.at_ms - event.held_ms, event.at_ms - event.guard_ms, event.tokens)
            case ev.ToolCallRequested() if event.reply_id == reply.reply_id:
                self._piece(reply, event.at_ms, event.at_ms)
            case ev.GenerationDone() | ev.GenerationFailed() if event.reply_id == reply.reply_id:
                self._close_generation(reply)
            case ev.SpeculativeToolFinished() if event.speculative_id in self._speculative_ms:
                reply.add(Stage.TOOL, self._speculative_ms.pop(event.speculative_id), event.at_ms)
            case ev.OutputBlocked() if event.reply_id == reply.reply_id:
                self._guarded(reply, event.at_ms, event.guard_ms)
                self._close_generation(reply)
            case ev.ToolFinished() if event.call_id in reply.tools_ms:
                reply.add(Stage.TOOL, reply.tools_ms.pop(event.call_id), event.at_ms)
            case ev.ClauseAudio(duration_ms=ms) if ms and event.reply_id == reply.reply_id and reply.first_audio_ms is None:
                reply.first_audio_ms = event.at_ms
                reply.add(Stage.TTS_FIRST_AUDIO, reply.speak_ms or event.at_ms, event.at_ms)
            case ev.Played() if event.reply_id == reply.reply_id:
                if reply.first_played_ms is None:
                    self._overlap_ended_ms = -SAME_INTERRUPTION_MS
                    reply.first_played_ms = event.at_ms
                    if reply.first_audio_ms is not None:
                        reply.add(Stage.PLAYOUT, max(reply.first_audio_ms, reply.commit_ms), event.at_ms)
                    reply.add(Stage.ANSWER, reply.commit_ms, event.at_ms)
                reply.last_played_ms = event.at_ms

    def _guarded(self, spans: _Spans, at_ms: float, guard_ms: float) -> None:
        if guard_ms:
            spans.add(Stage.GUARD, at_ms - guard_ms, at_ms)

    def _piece(self, reply: _Replying, first_ms: float, last_ms: float, count: int = 1) -> None:
        """`count` pieces of the language model's output came between those times."""
        if reply.generate_ms is None:
            return
        if not reply.pieces:
            reply.first_piece_ms = max(reply.generate_ms, first_ms)
            reply.add(Stage.LLM_TTFT, reply.generate_ms, reply.first_piece_ms)
        reply.pieces += count
        reply.last_piece_ms = max(reply.first_piece_ms, last_ms)

    def _close_generation(self, reply: _Replying) -> None:
        if reply.pieces > 1:
            mean = (reply.last_piece_ms - reply.first_piece_ms) / (reply.pieces - 1)
            reply.add(Stage.LLM_INTER_TOKEN, reply.first_piece_ms, reply.first_piece_ms + mean)
        reply.pieces = 0
        reply.generate_ms = None

    def _of(self, reply_id: int) -> _Replying:
        """The measurements of a reply; those of a new reply begin now."""
        if self._replying.reply_id != reply_id:
            self._replying = _Replying(reply_id=reply_id)
        return self._replying

    def _action(self, action: act.Action, at_ms: float, at: float) -> TurnReport | None:
        match action:
            case act.CallerFinal() if self._hearing.speech_end_ms is not None:
                self._understood(self._hearing, at_ms)
            case act.SetEndpointing():
                self._pause.endpointing_delay_ms = action.endpoint_ms
            case act.ReplyStarted() if action.turn > 0:
                self._commit(self._of(action.reply_id), action.turn, at_ms)
            case act.Generate():
                self._of(action.reply_id).generate_ms = at_ms
            case act.RunTool():
                self._of(action.reply_id).tools_ms[action.call_id] = at_ms
            case act.RunSpeculativeTool():
                self._speculative_ms[action.speculative_id] = at_ms
            case act.SpeculativeToolEnded():
                if not action.used:
                    self._speculative_ms.pop(action.speculative_id, None)
            case act.Speak() if self._of(action.reply_id).speak_ms is None:
                self._replying.speak_ms = at_ms
            case act.CancelReply() if action.reply_id == self._replying.reply_id:
                if self._replying.last_played_ms is not None and self._onset_ms is not None:
                    self._replying.barge_in_stop_ms = max(0.0, self._replying.last_played_ms - self._onset_ms)
            case act.ReplyEnded() if action.reply_id == self._replying.reply_id:
                reply, self._replying = self._replying, _Replying()
                return self._report(reply, action.status, at) if reply.number else None
        return None

    def _understood(self, hearing: _Hearing, at_ms: float) -> None:
        """The words of an endpointed utterance are committed."""
        pause = self._pause
        final_ms = at_ms if pause.final_ms is None else pause.final_ms
        hearing.add(Stage.STT_FINAL, hearing.decided_ms if pause.began_ms is None else pause.began_ms, final_ms)
        hearing.add(Stage.STT_WAIT, hearing.decided_ms, max(hearing.decided_ms, final_ms))

    def _commit(self, reply: _Replying, turn: int, at_ms: float) -> None:
        reply.number, reply.commit_ms = turn, at_ms
        reply.speech_end_ms = self._hearing.speech_end_ms
        reply.spans = self._hearing.spans + reply.spans
        self._hearing = _Hearing()

    def _report(self, reply: _Replying, status: str, at: float) -> TurnReport:
        whole = None
        if reply.first_played_ms is not None and reply.speech_end_ms is not None:
            whole = reply.first_played_ms - reply.speech_end_ms
        stop = reply.barge_in_stop_ms if status == "interrupted" else None
        spans = tuple(sorted(reply.spans, key=lambda span: span.start_ms))
        return TurnReport(self._call_id, reply.number, at, self._profile, spans, whole, stop, self._leg)
