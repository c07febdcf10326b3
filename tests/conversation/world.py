"""A world for the turn engine in virtual time: engines and a leg that answer actions whenever a test lets them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation import machine
from voiceagent.conversation.rules import Rules
from voiceagent.conversation.state import State
from voiceagent.turn_taking.pause import Prosody

FRAME_MS = 20.0
WORD_MS = 200.0


@dataclass
class Audio:
    """A clause that stands in the playout queue."""

    reply_id: int
    clause: int
    words: tuple[str, ...]
    sent_ms: float = 0.0

    @property
    def duration_ms(self) -> float:
        return len(self.words) * WORD_MS


@dataclass
class World:
    """Feeds events, remembers actions, and plays audio as a leg would."""

    rules: Rules = field(default_factory=lambda: Rules(language="en"))
    now_ms: float = 0.0
    state: State = field(init=False)
    actions: list[act.Action] = field(default_factory=list)
    queue: list[Audio] = field(default_factory=list)
    to_speak: list[act.Speak] = field(default_factory=list)
    generations: list[act.Generate] = field(default_factory=list)
    tools: list[act.RunTool] = field(default_factory=list)
    effects: set[tuple[int, str, str]] = field(default_factory=set)
    speculative_calls: list[act.RunSpeculativeTool] = field(default_factory=list)
    drops: list[int] = field(default_factory=list)
    dropped: set[int] = field(default_factory=set)
    played: dict[int, list[str]] = field(default_factory=dict)
    positions: dict[int, tuple[int, float]] = field(default_factory=dict)
    finals: list[int] = field(default_factory=list)
    timers: dict[str, float] = field(default_factory=dict)
    held: set[int] = field(default_factory=set)
    gains: dict[int, float] = field(default_factory=dict)
    holds: act.SetEndpointing | None = None
    utterance: int = 0
    pause_id: int = 0

    def __post_init__(self) -> None:
        self.state = machine.start(self.rules)

    def feed(self, event: ev.Event) -> list[act.Action]:
        self.state, actions = machine.step(self.state, event)
        for action in actions:
            self._carry_out(action)
        self.actions.extend(actions)
        return list(actions)

    def _carry_out(self, action: act.Action) -> None:
        match action:
            case act.Generate():
                self.generations.append(action)
            case act.Speak():
                assert action.reply_id not in self.dropped, "synthesis for a dropped reply"
                self.to_speak.append(action)
            case act.RunTool():
                assert action.reply_id not in self.dropped, "tool for a dropped reply"
                assert self.state.reply is not None, "tool for no reply"
                assert not self.state.reply.assumed_text, "tool for a speculative reply"
                effect = (action.reply_id, action.name, action.arguments)
                assert effect not in self.effects, "a tool ran twice for a reply"
                self.effects.add(effect)
                self.tools.append(action)
            case act.RunSpeculativeTool():
                assert self.rules.tools[action.name].effect == "none", "a tool with effects ran speculatively"
                self.speculative_calls.append(action)
            case act.CancelSpeculativeTool():
                self.speculative_calls = [run for run in self.speculative_calls if run.speculative_id != action.speculative_id]
            case act.PauseReply():
                self.held.add(action.reply_id)
            case act.ResumeReply():
                self.held.discard(action.reply_id)
                self._go_back(action)
            case act.Attenuate():
                assert action.reply_id not in self.dropped, "a dropped reply made softer"
                self.gains[action.reply_id] = action.gain_db
            case act.EndClauseAt():
                cut = next((a for a in self.queue if (a.reply_id, a.clause) == (action.reply_id, action.clause)), None)
                if cut is not None:
                    assert action.end_ms >= cut.sent_ms or not action.end_ms, "cut in what was sent"
                    cut.words = cut.words[: int(action.end_ms // WORD_MS)]
                    if not cut.words:
                        self.queue.remove(cut)
            case act.SetEndpointing():
                self.holds = action
            case act.CancelReply():
                assert action.reply_id not in self.dropped, "dropped twice"
                self.dropped.add(action.reply_id)
                self.drops.append(action.reply_id)
                self.queue = [audio for audio in self.queue if audio.reply_id != action.reply_id]
            case act.SetTimer():
                self.timers[action.name] = action.due_ms
            case act.ClearTimer():
                del self.timers[action.name]
            case act.Transcribe():
                self.finals.append(action.utterance_id)

    def _go_back(self, release: act.ResumeReply) -> None:
        """A word that was cut is said again."""
        if release.clause < 0:
            return
        audio = self.queue[0]
        assert (audio.reply_id, audio.clause) == (release.reply_id, release.clause), "back into what is not being said"
        assert 0 <= audio.sent_ms - release.from_ms < WORD_MS, "back by more than the word that was cut"
        audio.sent_ms = release.from_ms

    # --- what a test lets happen ---

    def begin(self) -> None:
        self.feed(ev.CallStarted(self.now_ms))

    def speech(self) -> None:
        self.utterance += 1
        self.feed(ev.SpeechStarted(self.now_ms, self.utterance, self.now_ms - 60))

    def pause(self, load: float = 0.0) -> None:
        self.pause_id += 1
        event = ev.SpeechPaused(self.now_ms, self.utterance, self.pause_id, self.now_ms - 100, 600.0, Prosody(), load)
        self.feed(event)

    def pause_with(self, text: str) -> None:
        """The caller pauses, and the words so far are decoded."""
        self.pause()
        self.final(text)

    def resume(self) -> None:
        self.feed(ev.SpeechResumed(self.now_ms, self.utterance))

    def silence(self) -> None:
        """The pause lasts for the eager hold."""
        self.feed(ev.SilenceReached(self.now_ms, self.utterance, self.pause_id))

    def partial(self, words: str) -> None:
        self.feed(ev.Transcript(self.now_ms, self.utterance, words, ""))

    def overlap(self, voiced_ms: float, silence_ms: float = 0.0) -> None:
        """More of the caller's speech is heard over the reply."""
        self.feed(ev.OverlapHeard(self.now_ms, self.utterance, voiced_ms, silence_ms))

    def endpoint(self) -> None:
        self.feed(ev.Endpoint(self.now_ms, self.utterance, self.now_ms - 500))

    def final(self, text: str) -> None:
        if self.finals:
            self.feed(ev.FinalTranscript(self.now_ms, self.finals.pop(0), text, self.pause_id))

    def hang(self) -> None:
        """The caller stops, and the decode of what was said never ends."""
        self.endpoint()
        self.finals.clear()

    def say(self, text: str) -> None:
        self.speech()
        self.endpoint()
        self.final(text)

    def text(self, text: str) -> None:
        if self.generations:
            self.feed(ev.TextDelta(self.now_ms, self.generations[-1].reply_id, text))

    def generated(self) -> None:
        if self.generations:
            self.feed(ev.GenerationDone(self.now_ms, self.generations.pop().reply_id))

    def answer(self, text: str) -> None:
        self.text(text)
        self.generated()

    def synthesise(self) -> None:
        if self.to_speak:
            speak = self.to_speak.pop(0)
            if speak.reply_id in self.dropped:
                return
            audio = Audio(speak.reply_id, speak.clause, tuple(speak.text.split()))
            self.queue.append(audio)
            words = tuple(ev.SpokenWord(w, i * WORD_MS, (i + 1) * WORD_MS) for i, w in enumerate(audio.words))
            self.feed(ev.ClauseAudio(self.now_ms, audio.reply_id, audio.clause, audio.duration_ms, words))

    def synthesise_all(self) -> None:
        while self.to_speak:
            self.synthesise()

    def frame(self) -> None:
        """One 20 ms frame leaves the leg."""
        self.now_ms += FRAME_MS
        if not self.queue or self.queue[0].reply_id in self.held:
            return
        audio = self.queue[0]
        assert audio.reply_id in self.announced(), "a frame of a reply that nobody was told of was sent"
        assert audio.reply_id not in self.dropped, "a frame of a dropped reply was sent"
        audio.sent_ms += FRAME_MS
        heard = self.played.setdefault(audio.reply_id, [])
        if audio.sent_ms % WORD_MS == 0:
            heard.append(audio.words[int(audio.sent_ms // WORD_MS) - 1])
        if audio.sent_ms >= audio.duration_ms:
            self.queue.pop(0)
        self.positions[audio.reply_id] = (audio.clause, audio.sent_ms)
        self.feed(ev.Played(self.now_ms, audio.reply_id, audio.clause, audio.sent_ms))

    def frames(self, count: int) -> None:
        for _ in range(count):
            self.frame()

    def play_all(self) -> None:
        self.synthesise_all()
        while self.queue and self.queue[0].reply_id not in self.held:
            self.frame()

    def settle(self) -> None:
        """The leg reports what of a dropped reply it sent."""
        if self.drops:
            reply_id = self.drops.pop(0)
            clause, played_ms = self.positions.get(reply_id, (-1, 0.0))
            self.feed(ev.PlayoutStopped(self.now_ms, reply_id, clause, played_ms))

    def call_tool(self, name: str = "book", arguments: str = "{}") -> None:
        if self.generations:
            call_id = f"call{len(self.actions)}"
            self.feed(ev.ToolCallRequested(self.now_ms, self.generations[-1].reply_id, call_id, name, arguments))

    def predict(self, name: str, arguments: str = "{}") -> None:
        self.feed(ev.ToolPredicted(self.now_ms, self.utterance, name, arguments))

    def look_up_done(self, output: str = '{"found": true}') -> None:
        if self.speculative_calls:
            self.feed(ev.SpeculativeToolFinished(self.now_ms, self.speculative_calls.pop(0).speculative_id, output, True))

    def finish_tool(self, output: str = '{"ok": true}') -> None:
        if self.tools:
            run = self.tools.pop(0)
            self.feed(ev.ToolFinished(self.now_ms, run.reply_id, run.call_id, output, True))

    def block(self, line: str) -> None:
        """The output guard stops the generation."""
        if self.generations:
            self.feed(ev.OutputBlocked(self.now_ms, self.generations.pop().reply_id, "rule", line))

    def fail(self) -> None:
        if self.generations:
            self.feed(ev.GenerationFailed(self.now_ms, self.generations.pop().reply_id, "broken"))

    def fail_clause(self) -> None:
        if self.to_speak:
            speak = self.to_speak.pop(0)
            self.feed(ev.ClauseFailed(self.now_ms, speak.reply_id, speak.clause, "broken"))

    def break_clause(self) -> None:
        """Synthesis of a clause fails after its first word; what was sent of that by now stays said."""
        if not self.to_speak or self.to_speak[0].reply_id in self.dropped:
            return
        speak = self.to_speak.pop(0)
        audio = Audio(speak.reply_id, speak.clause, tuple(speak.text.split()[:1]))
        self.queue.append(audio)
        word = ev.SpokenWord(audio.words[0], 0.0, WORD_MS)
        self.feed(ev.ClauseAudio(self.now_ms, audio.reply_id, audio.clause, audio.duration_ms, (word,), complete=False))
        if audio.reply_id in self.announced():
            self.frames(int(WORD_MS / FRAME_MS))
        self.queue = [other for other in self.queue if other is not audio]
        self.feed(ev.ClauseFailed(self.now_ms, audio.reply_id, audio.clause, "broken"))

    def fire(self, name: str) -> None:
        if name in self.timers:
            self.now_ms = max(self.now_ms, self.timers.pop(name))
            self.feed(ev.TimerFired(self.now_ms, name))

    # --- what a test looks at ---

    def announced(self) -> set[int]:
        return {notice.reply_id for notice in self.beginnings()}

    def endings(self) -> list[act.ReplyEnded]:
        return [action for action in self.actions if isinstance(action, act.ReplyEnded)]

    def beginnings(self) -> list[act.ReplyStarted]:
        return [action for action in self.actions if isinstance(action, act.ReplyStarted)]

    def failures(self) -> list[act.Failure]:
        return [action for action in self.actions if isinstance(action, act.Failure)]

    def assistant_texts(self) -> list[str]:
        return [m.content for m in self.state.memory.history if m.role == "assistant" and m.content]

    def user_texts(self) -> list[str]:
        return [m.content for m in self.state.memory.history if m.role == "user"]


def begun(**rules: Any) -> World:
    world = World(Rules(language="en", **rules))
    world.begin()
    return world
