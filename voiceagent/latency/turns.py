"""Measures turns: watches the events and actions of a call go by and says, when a reply has ended, where its turn's time
went. Pure: it reads the times inside the events, so a recorded call measures the same again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.latency.spans import Span, Stage, TurnReport

MAX_SPANS = 200
"""A turn keeps this many spans at most; a caller who speaks for minutes makes many partials."""


@dataclass(slots=True)
class _Turn:
    """A turn that is being measured: the utterance it began with, and its reply."""

    spans: list[Span] = field(default_factory=list)
    speech_end_ms: float | None = None
    endpoint_ms: float = 0.0
    reply_id: int = -1
    number: int = 0
    generate_ms: float | None = None
    pieces: list[float] = field(default_factory=list)
    tools_ms: dict[str, float] = field(default_factory=dict)
    speak_ms: float | None = None
    first_audio_ms: float | None = None
    first_played_ms: float | None = None
    last_played_ms: float | None = None
    barge_in_stop_ms: float | None = None

    def add(self, stage: Stage, start_ms: float, end_ms: float) -> None:
        if len(self.spans) < MAX_SPANS:
            self.spans.append(Span(stage, start_ms, max(0.0, end_ms - start_ms)))


class TurnMeter:
    """One per call. Greetings, apologies and other replies that no turn asked for are not measured."""

    def __init__(self, call_id: str, profile: str) -> None:
        self._call_id = call_id
        self._profile = profile
        self._hearing = _Turn()
        self._replying: _Turn | None = None
        self._onset_ms: float | None = None

    def observe(self, event: ev.Event, actions: Iterable[act.Action], at: float) -> TurnReport | None:
        """Take an event and the actions it led to; `at` is the wall clock in Unix seconds. The report of the turn that the
        event ended, if it ended one."""
        self._caller(event)
        if self._replying is not None:
            self._reply_event(self._replying, event)
        report = None
        for action in actions:
            report = self._action(action, event.at_ms, at) or report
        return report

    def _caller(self, event: ev.Event) -> None:
        turn = self._hearing
        match event:
            case ev.SpeechStarted():
                self._onset_ms = event.onset_ms
            case ev.Transcript():
                turn.add(Stage.STT_PARTIAL, event.at_ms - event.decode_ms, event.at_ms)
            case ev.Endpoint():
                end = turn.speech_end_ms = event.speech_end_ms
                turn.endpoint_ms = event.at_ms
                turn.add(Stage.UPLINK, end, end + event.uplink_ms)
                turn.add(Stage.VAD, end + event.uplink_ms, end + event.uplink_ms + event.vad_ms)
                turn.add(Stage.ENDPOINT, end, event.at_ms)
            case ev.FinalTranscript() if turn.speech_end_ms is not None:
                turn.add(Stage.STT_FINAL, turn.endpoint_ms, event.at_ms)

    def _reply_event(self, turn: _Turn, event: ev.Event) -> None:
        match event:
            case ev.TextDelta() | ev.ToolCallRequested() if event.reply_id == turn.reply_id and turn.generate_ms is not None:
                if not turn.pieces:
                    turn.add(Stage.LLM_TTFT, turn.generate_ms, event.at_ms)
                turn.pieces.append(event.at_ms)
            case ev.GenerationDone() | ev.GenerationFailed() if event.reply_id == turn.reply_id:
                self._close_generation(turn)
            case ev.ToolFinished() if event.call_id in turn.tools_ms:
                turn.add(Stage.TOOL, turn.tools_ms.pop(event.call_id), event.at_ms)
            case ev.ClauseAudio() if event.reply_id == turn.reply_id and turn.first_audio_ms is None:
                turn.first_audio_ms = event.at_ms
                turn.add(Stage.TTS_FIRST_AUDIO, turn.speak_ms or event.at_ms, event.at_ms)
            case ev.Played() if event.reply_id == turn.reply_id:
                if turn.first_played_ms is None:
                    turn.first_played_ms = event.at_ms
                    if turn.first_audio_ms is not None:
                        turn.add(Stage.PLAYOUT, turn.first_audio_ms, event.at_ms)
                turn.last_played_ms = event.at_ms

    def _close_generation(self, turn: _Turn) -> None:
        if len(turn.pieces) > 1:
            mean = (turn.pieces[-1] - turn.pieces[0]) / (len(turn.pieces) - 1)
            turn.add(Stage.LLM_INTER_TOKEN, turn.pieces[0], turn.pieces[0] + mean)
        turn.pieces = []
        turn.generate_ms = None

    def _action(self, action: act.Action, at_ms: float, at: float) -> TurnReport | None:
        turn = self._replying
        match action:
            case act.ReplyStarted() if action.turn > 0:
                turn = self._replying = self._hearing
                turn.reply_id, turn.number = action.reply_id, action.turn
                self._hearing = _Turn()
            case act.Generate() if turn is not None and action.reply_id == turn.reply_id:
                turn.generate_ms = at_ms
            case act.RunTool() if turn is not None and action.reply_id == turn.reply_id:
                turn.tools_ms[action.call_id] = at_ms
            case act.Speak() if turn is not None and action.reply_id == turn.reply_id and turn.speak_ms is None:
                turn.speak_ms = at_ms
            case act.Drop() if turn is not None and action.reply_id == turn.reply_id:
                if turn.last_played_ms is not None and self._onset_ms is not None:
                    turn.barge_in_stop_ms = max(0.0, turn.last_played_ms - self._onset_ms)
            case act.ReplyEnded() if turn is not None and action.reply_id == turn.reply_id:
                self._replying = None
                return self._report(turn, action.status, at)
        return None

    def _report(self, turn: _Turn, status: str, at: float) -> TurnReport:
        whole = None
        if turn.first_played_ms is not None and turn.speech_end_ms is not None:
            whole = turn.first_played_ms - turn.speech_end_ms
        stop = turn.barge_in_stop_ms if status == "interrupted" else None
        spans = tuple(sorted(turn.spans, key=lambda span: span.start_ms))
        return TurnReport(self._call_id, turn.number, at, self._profile, spans, whole, stop)
