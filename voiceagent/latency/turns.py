"""Measures turns: watches the events and actions of a call and reports, when a reply has ended, where its turn's time went. The
caller's wait begins with the end of the speech that a reply answers, or with the request for a reply to what was typed. An
interruption begins with the onset of the speech over the reply. Pure: it reads the times inside the events, so a recorded call
gives the same measurement again."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field

from voiceagent import __version__
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.silence import SILENCE
from voiceagent.latency.spans import CUT_OFF_MS, LegKind, Span, Stage, TurnFacts, TurnReport, Wait, WaitCause, WaitInterval, split

_BEGIN_BY_SPEECH = (ev.Endpoint, ev.Transcript, ev.FinalTranscript, ev.TimerFired, ev.PlayoutStopped)
"""The events at which a reply to speech begins: its words are known, they are late, or the reply before it has settled."""
_BEGIN_BY_REQUEST = (ev.ReplyRequested, ev.PlayoutStopped)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that a reply answers."""

    at_ms: float
    typed: bool = False


class Asking:
    """Finds since when a caller waits for an answer. Speech that gets none (a cough, an "mm-hm") leaves nothing behind for a
    later reply to be timed from."""

    def __init__(self) -> None:
        self.pending: Asked | None = None
        """The request that waits for an answer that has not begun."""
        self._live: int | None = None
        """The reply that is being said or prepared for a committed turn."""

    def observe(self, event: ev.Event, actions: Sequence[act.Action]) -> Asked | None:
        """Returns what the reply answers that began with this event; None if none began, or if nobody asked for it."""
        match event:
            case ev.Endpoint():
                self.pending = Asked(event.speech_end_ms)
            case ev.ReplyRequested() if actions:
                self.pending = Asked(event.at_ms, typed=True)
        if self._carried_on(actions):
            self.pending = None
        answered = None
        for action in actions:
            match action:
                case act.ReplyStarted():
                    if action.turn > 0 and isinstance(event, self._beginnings()):
                        answered = self.pending
                    self.pending, self._live = None, action.reply_id
                case act.CancelReply() | act.ReplyEnded() if action.reply_id == self._live:
                    self._live = None
                case act.SetTimer() if action.name == SILENCE:  # the agent waits for the caller again
                    self.pending = None
        return answered

    def _beginnings(self) -> tuple[type[ev.Event], ...]:
        return _BEGIN_BY_REQUEST if self.pending is not None and self.pending.typed else _BEGIN_BY_SPEECH

    def _carried_on(self, actions: Sequence[act.Action]) -> bool:
        """True when these actions show that the agent kept the floor: an utterance is over, and the reply goes on."""
        over = any(isinstance(action, act.CallerFinal) for action in actions)
        return over and self._live is not None and not any(isinstance(action, act.CancelReply) for action in actions)


# --- the onset of an interruption -------------------------------------------------------------------------------------

SAME_INTERRUPTION_MS = 1000.0
"""Speech over a reply that begins this soon after other speech over it belongs to the same interruption."""
MAX_UTTERANCES = 8
"""The onsets that are kept: an utterance may be committed after later ones have begun."""


@dataclass(slots=True)
class _Overlap:
    """The first speech over the live reply of what may become an interruption."""

    utterance_id: int
    onset_ms: float
    end_ms: float


class InterruptingSpeech:
    """Finds the onset of the speech that interrupted a reply. A typed message, a key or the client's request to stop does not
    pass the voice detector, so it does not measure how fast the agent falls silent."""

    def __init__(self) -> None:
        self._onsets_ms: dict[int, float] = {}
        self._overlap: _Overlap | None = None

    def observe(self, event: ev.Event, *, over_reply: bool) -> None:
        """Take an event; `over_reply` says whether a reply is being heard."""
        match event:
            case ev.SpeechStarted():
                self._started(event)
            case ev.SpeechPaused() if over_reply:
                if self._overlap is None:
                    onset_ms = self._onsets_ms.get(event.utterance_id, event.speech_end_ms)
                    self._overlap = _Overlap(event.utterance_id, onset_ms, event.speech_end_ms)
                elif self._overlap.utterance_id == event.utterance_id:
                    self._overlap.end_ms = event.speech_end_ms

    def _started(self, event: ev.SpeechStarted) -> None:
        overlap = self._overlap
        if overlap is not None and event.onset_ms - overlap.end_ms >= SAME_INTERRUPTION_MS:
            overlap = self._overlap = None
        self._onsets_ms[event.utterance_id] = event.onset_ms if overlap is None else overlap.onset_ms
        while len(self._onsets_ms) > MAX_UTTERANCES:
            del self._onsets_ms[next(iter(self._onsets_ms))]

    def reply_is_heard(self) -> None:
        """The first frame of a reply was sent. Earlier speech was not over it."""
        self._overlap = None

    def onset_ms(self, event: ev.Event) -> float | None:
        """The onset of the interruption that made `event` cancel a reply; None if no speech did."""
        match event:
            case ev.Transcript() | ev.FinalTranscript() | ev.Endpoint() | ev.OverlapHeard() | ev.SpeechPaused():
                return self._onsets_ms.get(event.utterance_id)
            case ev.SpeechStarted() | ev.TimerFired():  # the timers of speech over a reply, and of words that are late
                return next(reversed(self._onsets_ms.values()), None)
        return None


# --- counts -----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Counts:
    """The counts of everything since the last turn was reported."""

    prompt_tokens: int = 0
    tokens: int = 0
    tools: int = 0
    tools_failed: int = 0
    kept: int = 0
    discarded: int = 0
    wasted_tokens: int = 0

    def add(self, action: act.Action) -> None:
        match action:
            case act.ReplyCounted():
                self.prompt_tokens += action.prompt_tokens
                self.tokens += action.tokens
            case act.ToolEnded():
                self.tools += 1
                self.tools_failed += not action.ok
            case act.SpeculationEnded(outcome="kept"):
                self.kept += 1
            case act.SpeculationEnded():
                self.discarded += 1
                self.wasted_tokens += action.tokens


# --- turns ------------------------------------------------------------------------------------------------------------

MAX_SPANS = 200
"""The most spans of the caller's speech, and of a reply."""
MAX_PARTIALS = 100
"""The most of them that are partial transcripts: a caller who speaks for minutes makes many."""
MAX_WORK = 400
"""The latest work that is kept, of this turn and earlier ones."""


@dataclass(slots=True)
class _Spans:
    spans: list[Span] = field(default_factory=list)

    def add(self, stage: Stage, start_ms: float, end_ms: float) -> None:
        most = MAX_PARTIALS if stage is Stage.STT_PARTIAL else MAX_SPANS
        if len(self.spans) < most:
            self.spans.append(Span(stage, start_ms, max(0.0, end_ms - start_ms)))


@dataclass(slots=True)
class _Hearing(_Spans):
    """The caller's speech since the last reply to it was begun."""

    endpointed: bool = False
    decided_ms: float = 0.0
    """The time at which the silence was long enough; from then on the turn waits for the words."""


@dataclass(slots=True)
class _Pause:
    """The caller's latest silence."""

    began_ms: float | None = None
    """The time at which it was noticed; None if there was none."""
    speech_end_ms: float = 0.0
    endpointing_delay_ms: float = 0.0
    """The length that it had to reach."""
    final_ms: float | None = None
    """The time at which its words were known."""


@dataclass(slots=True)
class _Replying(_Spans):
    """A reply and, from its commit on, the turn that it answers."""

    reply_id: int = -1
    number: int = 0
    asked: Asked | None = None
    commit_ms: float = 0.0
    generate_ms: float | None = None
    pieces: int = 0
    first_piece_ms: float = 0.0
    last_piece_ms: float = 0.0
    tools_ms: dict[str, float] = field(default_factory=dict)
    speaks_ms: dict[int, float] = field(default_factory=dict)
    """The clauses that were handed to the synthesiser before any audio came, with the times."""
    first_audio_ms: float | None = None
    held_ms: float | None = None
    """Since when the caller's speech holds the reply back."""
    first_played_ms: float | None = None
    last_played_ms: float | None = None
    wait: Wait | None = None
    barge_in_stop_ms: float | None = None
    interrupted_ms: float | None = None
    """The onset of the speech that cancelled it."""
    step: str = ""
    """The agent's step in which it was committed."""
    degraded: tuple[str, ...] = ()


class TurnMeter:
    """One per call. Greetings, apologies and other replies that no turn asked for are not measured."""

    def __init__(self, call_id: str, profile: str, leg: LegKind = LegKind.WEBRTC) -> None:
        self._call_id = call_id
        self._leg = leg
        self._profile = profile
        self._hearing = _Hearing()
        self._replying = _Replying()
        self._asking = Asking()
        self._speech = InterruptingSpeech()
        self._speculative_ms: dict[int, float] = {}
        """Speculative tool calls that run, with their start times."""
        self._work: deque[WaitInterval] = deque(maxlen=MAX_WORK)
        self._pause = _Pause()
        self._counts = _Counts()
        self._away = False
        self._step = ""
        self._degraded: tuple[str, ...] = ()

    def observe(self, event: ev.Event, actions: Iterable[act.Action], at: float) -> TurnReport | None:
        """Take an event and the actions that it caused; `at` is the wall clock in Unix seconds. Returns the report of the turn
        that the event ended, if it ended one."""
        actions = tuple(actions)
        if not actions and isinstance(event, ev.FRAMES):
            self._played(self._replying, event)
            return None
        if isinstance(event, ev.ConnectionLost | ev.ConnectionResumed):
            self._cut(away=isinstance(event, ev.ConnectionLost))
        self._speech.observe(event, over_reply=self._replying.first_played_ms is not None)
        self._caller(self._hearing, event)
        self._reply(self._replying, event)
        self._played(self._replying, event)
        asked = self._asking.observe(event, actions)
        report = None
        for action in actions:
            report = self._action(action, event, asked, at) or report
        if self._asking.pending is None and any(isinstance(action, act.CallerFinal) for action in actions):
            self._hearing = _Hearing()  # it gets no answer
        return report

    def _cut(self, *, away: bool) -> None:
        """A turn in which the caller was away is not measured."""
        self._away, self._hearing, self._replying.number, self._asking.pending = away, _Hearing(), 0, None

    def _caller(self, hearing: _Hearing, event: ev.Event) -> None:
        match event:
            case ev.SpeechStarted():
                self._pause = _Pause()
            case ev.SpeechPaused():
                self._pause = _Pause(event.at_ms, event.speech_end_ms)
            case ev.Transcript():
                hearing.add(Stage.STT_PARTIAL, event.at_ms - event.decode_ms, event.at_ms)
            case ev.TurnJudged() if event.chance is not None:
                hearing.add(Stage.TURN_JUDGE, event.at_ms - event.took_ms, event.at_ms)
            case ev.FinalTranscript():
                self._guarded(hearing, event.at_ms, event.guard_ms)
                self._pause.final_ms = event.at_ms
            case ev.Endpoint():
                self._endpointed(hearing, event)

    def _endpointed(self, hearing: _Hearing, event: ev.Endpoint) -> None:
        end, decoded_ms = event.speech_end_ms, event.speech_end_ms + event.uplink_ms
        hearing.endpointed = True
        hearing.decided_ms = self._decided(event)
        for stage, part, start_ms, end_ms in (
            (Stage.UPLINK, WaitCause.UPLINK, end, decoded_ms),
            (Stage.VAD, WaitCause.VAD, decoded_ms, decoded_ms + event.vad_ms),
            (Stage.ENDPOINT, WaitCause.ENDPOINT, end, hearing.decided_ms),
        ):
            hearing.add(stage, start_ms, end_ms)
            self._worked(part, start_ms, end_ms)

    def _decided(self, endpoint: ev.Endpoint) -> float:
        """The time at which the silence that ended the turn would have been long enough if the words had been known."""
        pause = self._pause
        if pause.final_ms is None or pause.speech_end_ms != endpoint.speech_end_ms:
            return endpoint.at_ms
        long_enough_ms = pause.speech_end_ms + pause.endpointing_delay_ms
        return min(endpoint.at_ms, long_enough_ms) if pause.final_ms > long_enough_ms else endpoint.at_ms

    def _reply(self, reply: _Replying, event: ev.Event) -> None:
        match event:
            case ev.TextDelta() if event.reply_id == reply.reply_id:
                self._guarded(reply, event.at_ms, event.guard_ms)
                self._worked(WaitCause.GUARD, event.at_ms - event.guard_ms, event.at_ms)
                self._piece(reply, event.at_ms - event.held_ms, event.at_ms - event.guard_ms, event.tokens)
            case ev.ToolCallRequested() if event.reply_id == reply.reply_id:
                self._piece(reply, event.at_ms, event.at_ms)
            case ev.GenerationDone() | ev.GenerationFailed() if event.reply_id == reply.reply_id:
                self._close_generation(reply, event.at_ms)
            case ev.SpeculativeToolFinished() if event.speculative_id in self._speculative_ms:
                self._tool_ended(reply, self._speculative_ms.pop(event.speculative_id), event.at_ms)
            case ev.OutputBlocked() if event.reply_id == reply.reply_id:
                self._guarded(reply, event.at_ms, event.guard_ms)
                self._worked(WaitCause.GUARD, event.at_ms - event.guard_ms, event.at_ms)
                self._close_generation(reply, event.at_ms)
            case ev.ToolFinished() if event.call_id in reply.tools_ms:
                self._tool_ended(reply, reply.tools_ms.pop(event.call_id), event.at_ms)
            case ev.ClauseAudio(duration_ms=ms) if ms and event.reply_id == reply.reply_id and reply.first_audio_ms is None:
                reply.first_audio_ms = event.at_ms
                speak_ms = reply.speaks_ms.pop(event.clause, event.at_ms)
                reply.add(Stage.TTS_FIRST_AUDIO, speak_ms, event.at_ms)
                self._worked(WaitCause.TTS_FIRST_AUDIO, speak_ms, event.at_ms)
            case ev.ClauseFailed() if event.reply_id == reply.reply_id and event.clause in reply.speaks_ms:
                self._worked(WaitCause.TTS_FIRST_AUDIO, reply.speaks_ms.pop(event.clause), event.at_ms)

    def _played(self, reply: _Replying, event: ev.Event) -> None:
        if isinstance(event, ev.Played) and event.reply_id == reply.reply_id:
            if reply.first_played_ms is None:
                self._first_played(reply, event.at_ms)
            reply.last_played_ms = event.at_ms

    def _first_played(self, reply: _Replying, at_ms: float) -> None:
        self._speech.reply_is_heard()
        reply.first_played_ms = at_ms
        if reply.first_audio_ms is not None:
            reply.add(Stage.PLAYOUT, max(reply.first_audio_ms, reply.commit_ms), at_ms)
        reply.add(Stage.ANSWER, reply.commit_ms, at_ms)
        if reply.asked is not None:
            work = [*self._work, *self._unfinished(reply, at_ms)]
            reply.wait = Wait(reply.asked.at_ms, split(reply.asked.at_ms, at_ms, work), reply.asked.typed)

    def _unfinished(self, reply: _Replying, at_ms: float) -> Iterable[WaitInterval]:
        """The reply's work that goes on at `at_ms`, and the playout of its first audio."""
        if reply.first_audio_ms is not None:
            yield WaitInterval(WaitCause.PLAYOUT, max(reply.first_audio_ms, reply.commit_ms), at_ms)
        if reply.generate_ms is not None:
            first_ms = reply.first_piece_ms if reply.pieces else at_ms
            yield WaitInterval(WaitCause.LLM_TTFT, reply.generate_ms, first_ms)
            yield WaitInterval(WaitCause.LLM_WRITING, first_ms, at_ms)
        for start_ms in (*reply.tools_ms.values(), *self._speculative_ms.values()):
            yield WaitInterval(WaitCause.TOOL, start_ms, at_ms)

    def _worked(self, part: WaitCause, start_ms: float, end_ms: float) -> None:
        if end_ms > start_ms:
            self._work.append(WaitInterval(part, start_ms, end_ms))

    def _guarded(self, spans: _Spans, at_ms: float, guard_ms: float) -> None:
        if guard_ms:
            spans.add(Stage.GUARD, at_ms - guard_ms, at_ms)

    def _tool_ended(self, reply: _Replying, start_ms: float, at_ms: float) -> None:
        reply.add(Stage.TOOL, start_ms, at_ms)
        self._worked(WaitCause.TOOL, start_ms, at_ms)

    def _piece(self, reply: _Replying, first_ms: float, last_ms: float, count: int = 1) -> None:
        """`count` pieces of the language model's output came between those times."""
        if reply.generate_ms is None:
            return
        if not reply.pieces:
            reply.first_piece_ms = max(reply.generate_ms, first_ms)
            reply.add(Stage.LLM_TTFT, reply.generate_ms, reply.first_piece_ms)
        reply.pieces += count
        reply.last_piece_ms = max(reply.first_piece_ms, last_ms)

    def _close_generation(self, reply: _Replying, at_ms: float) -> None:
        if reply.pieces > 1:
            mean = (reply.last_piece_ms - reply.first_piece_ms) / (reply.pieces - 1)
            reply.add(Stage.LLM_INTER_TOKEN, reply.first_piece_ms, reply.first_piece_ms + mean)
        if reply.generate_ms is not None:
            first_ms = reply.first_piece_ms if reply.pieces else at_ms
            self._worked(WaitCause.LLM_TTFT, reply.generate_ms, first_ms)
            self._worked(WaitCause.LLM_WRITING, first_ms, at_ms)
        reply.pieces = 0
        reply.generate_ms = None

    def _of(self, reply_id: int) -> _Replying:
        """The measurements of a reply; those of a new reply begin now."""
        if self._replying.reply_id != reply_id:
            self._replying = _Replying(reply_id=reply_id)
        return self._replying

    def _action(self, action: act.Action, event: ev.Event, asked: Asked | None, at: float) -> TurnReport | None:
        at_ms = event.at_ms
        self._counts.add(action)
        match action:
            case act.StepChanged():
                self._step = action.step
            case act.Degraded():
                self._degraded = action.degradations
            case act.CallerFinal() if self._hearing.endpointed:
                self._understood(self._hearing, at_ms)
            case act.SetEndpointing():
                self._pause.endpointing_delay_ms = action.endpoint_ms
            case act.ReplyStarted() if action.turn > 0 and not self._away:
                self._commit(self._of(action.reply_id), action.turn, at_ms, asked)
            case act.Generate():
                self._of(action.reply_id).generate_ms = at_ms
            case act.RunTool():
                self._of(action.reply_id).tools_ms[action.call_id] = at_ms
            case act.RunSpeculativeTool():
                self._speculative_ms[action.speculative_id] = at_ms
            case act.SpeculativeToolEnded():
                if not action.used:
                    self._speculative_ms.pop(action.speculative_id, None)
            case act.Speak() if self._of(action.reply_id).first_audio_ms is None:
                self._replying.speaks_ms[action.clause] = at_ms
            case act.PauseReply() | act.ResumeReply() if action.reply_id == self._replying.reply_id:
                self._hold(self._replying, at_ms, held=isinstance(action, act.PauseReply))
            case act.CancelReply() if action.reply_id == self._replying.reply_id:
                self._replying.interrupted_ms = self._speech.onset_ms(event)
                self._replying.barge_in_stop_ms = self._stop_ms(self._replying)
            case act.ReplyEnded() if action.reply_id == self._replying.reply_id:
                reply, self._replying = self._replying, _Replying()
                return self._report(reply, action.status, at) if reply.number else None
        return None

    def _hold(self, reply: _Replying, at_ms: float, *, held: bool) -> None:
        """The reply is paused, or goes on. Before its commit it is held back by nobody's speech."""
        if held and reply.number:
            reply.held_ms = at_ms
        elif not held:
            if reply.held_ms is not None and reply.first_audio_ms is not None:
                self._worked(WaitCause.HELD, max(reply.held_ms, reply.first_audio_ms), at_ms)
            reply.held_ms = None

    def _stop_ms(self, reply: _Replying) -> float | None:
        """The time for which the cancelled reply could be heard after the onset of the speech that interrupted it."""
        onset_ms = reply.interrupted_ms
        if onset_ms is None or reply.first_played_ms is None or reply.last_played_ms is None:
            return None
        return max(0.0, reply.last_played_ms - max(onset_ms, reply.first_played_ms))

    def _understood(self, hearing: _Hearing, at_ms: float) -> None:
        """The words of an endpointed utterance are committed."""
        pause = self._pause
        final_ms = at_ms if pause.final_ms is None else pause.final_ms
        hearing.add(Stage.STT_FINAL, hearing.decided_ms if pause.began_ms is None else pause.began_ms, final_ms)
        hearing.add(Stage.STT_WAIT, hearing.decided_ms, max(hearing.decided_ms, final_ms))
        self._worked(WaitCause.STT_WAIT, hearing.decided_ms, at_ms)

    def _commit(self, reply: _Replying, turn: int, at_ms: float, asked: Asked | None) -> None:
        reply.number, reply.commit_ms, reply.asked, reply.step = turn, at_ms, asked, self._step
        reply.degraded = self._degraded
        if asked is not None and not asked.typed:
            reply.spans = self._hearing.spans + reply.spans
        self._hearing = _Hearing()

    def _report(self, reply: _Replying, status: str, at: float) -> TurnReport:
        wait = reply.wait
        whole = wait.duration_ms if wait is not None and not wait.typed else None
        stop = reply.barge_in_stop_ms if status == "interrupted" else None
        spans = tuple(sorted(reply.spans, key=lambda span: span.start_ms))
        return TurnReport(
            self._call_id, reply.number, at, self._profile, spans, whole, stop, self._leg, wait, self._facts(reply, status)
        )

    def _facts(self, reply: _Replying, status: str) -> TurnFacts:
        counts, self._counts = self._counts, _Counts()
        onset_ms, first_ms = reply.interrupted_ms, reply.first_played_ms
        gave_way = status in ("interrupted", "cancelled") and onset_ms is not None and first_ms is not None
        cut_off = gave_way and onset_ms < first_ms + CUT_OFF_MS  # type: ignore[operator]
        return TurnFacts(status, cut_off, **asdict(counts), version=__version__, step=reply.step, degraded=reply.degraded)
