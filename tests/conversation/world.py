"""A world for the turn engine in virtual time: engines and a leg that answer actions whenever a test lets them."""

from __future__ import annotations

from typing import Any

from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.rules import Rules
from voiceagent.simulation.virtual_call import FRAME_MS, Record, VirtualCall, VirtualClause
from voiceagent.turn_taking.endpointing import Prosody

WORD_MS = 200.0


class World(VirtualCall):
    """Remembers what is asked of everybody until a test lets them do it, and fails where nobody may be asked for that."""

    def __init__(self, rules: Rules | None = None, record: Record | None = None) -> None:
        super().__init__(rules or Rules(language="en"), record)
        self.actions: list[act.AnyAction] = []
        self.to_speak: list[act.Speak] = []
        self.generations: list[act.Generate] = []
        self.tools: list[act.RunTool] = []
        self.effects: set[tuple[int, str, str]] = set()
        self.speculative_calls: list[act.RunSpeculativeTool] = []
        self.drops: dict[int, tuple[int, float]] = {}
        """Replies that were cancelled, with what was sent of them; the leg has not said so yet."""
        self.dropped: set[int] = set()
        self.played: dict[int, list[str]] = {}
        self.finals: list[int] = []
        self.gains: dict[int, float] = {}
        self.utterance = 0
        self.pause_id = 0
        self._words: dict[tuple[int, int], list[str]] = {}

    def feed(self, event: ev.Event) -> tuple[act.AnyAction, ...]:
        actions = super().feed(event)
        self.actions.extend(actions)
        return actions

    def asked(self, action: act.AnyAction) -> None:
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
                assert self.state.rules.tools[action.name].effect == "none", "a tool with effects ran speculatively"
                self.speculative_calls.append(action)
            case act.CancelTool():
                self.tools.remove(next(run for run in self.tools if run.call_id == action.call_id))
            case act.CancelSpeculativeTool():
                self.speculative_calls = [run for run in self.speculative_calls if run.speculative_id != action.speculative_id]
            case act.Attenuate():
                assert action.reply_id not in self.dropped, "a dropped reply made softer"
                self.gains[action.reply_id] = action.gain_db
            case act.Transcribe():
                self.finals.append(action.utterance_id)

    def resumed(self, action: act.ResumeReply) -> None:
        if action.clause < 0:
            return
        audio = self.playout.queue[0]
        assert (audio.reply_id, audio.clause) == (action.reply_id, action.clause), "back into what is not being said"
        assert 0 <= audio.sent_ms - action.from_ms < WORD_MS, "back by more than the word that was cut"

    def cutting(self, action: act.EndClauseAt) -> None:
        sent_ms = [
            clause.sent_ms
            for clause in self.playout.queue
            if (clause.reply_id, clause.clause) == (action.reply_id, action.clause)
        ]
        assert not action.end_ms or all(action.end_ms >= ms for ms in sent_ms), "cut in what was sent"

    def cancelled(self, reply_id: int) -> None:
        assert reply_id not in self.dropped, "dropped twice"
        self.dropped.add(reply_id)

    def stopping(self, reply_id: int, clause: int, sent_ms: float) -> None:
        self.drops[reply_id] = (clause, sent_ms)

    def sent(self, clause: VirtualClause) -> None:
        assert clause.reply_id in self.announced(), "a frame of a reply that nobody was told of was sent"
        assert clause.reply_id not in self.dropped, "a frame of a dropped reply was sent"
        heard = self.played.setdefault(clause.reply_id, [])
        if clause.sent_ms % WORD_MS == 0:
            heard.append(self._words[clause.reply_id, clause.clause][int(clause.sent_ms // WORD_MS) - 1])

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

    def overlap(self, voiced_ms: float, silence_ms: float = 0.0, words_chance: float | None = None) -> None:
        """More of the caller's speech is heard over the reply."""
        self.feed(ev.OverlapHeard(self.now_ms, self.utterance, voiced_ms, silence_ms, words_chance))

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
            if speak.reply_id not in self.dropped:
                spoken = self._spoken(speak, speak.text.split())
                self.synthesised(speak.reply_id, speak.clause, spoken, len(spoken) * WORD_MS)

    def _spoken(self, speak: act.Speak, words: list[str]) -> tuple[ev.SpokenWord, ...]:
        self._words[speak.reply_id, speak.clause] = words
        return tuple(ev.SpokenWord(word, i * WORD_MS, (i + 1) * WORD_MS) for i, word in enumerate(words))

    def synthesise_all(self) -> None:
        while self.to_speak:
            self.synthesise()

    def frame(self) -> None:
        self.now_ms += FRAME_MS
        super().frame()

    def frames(self, count: int) -> None:
        for _ in range(count):
            self.frame()

    def play_all(self) -> None:
        self.synthesise_all()
        while self.playout.next_ms() is not None:
            self.frame()

    def settle(self) -> None:
        """The leg reports what of a dropped reply it sent."""
        if self.drops:
            reply_id = next(iter(self.drops))
            self.stopped(reply_id, *self.drops.pop(reply_id))

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
        spoken = self._spoken(speak, speak.text.split()[:1])
        self.synthesised(speak.reply_id, speak.clause, spoken, WORD_MS, complete=False)
        if speak.reply_id in self.announced():
            self.frames(int(WORD_MS / FRAME_MS))
        self.playout.cut(speak.reply_id, speak.clause, 0.0, self.leg_ms)
        self.feed(ev.ClauseFailed(self.now_ms, speak.reply_id, speak.clause, "broken"))

    def fire(self, name: str) -> None:
        if name in self.timers:
            self.now_ms = max(self.now_ms, self.timers[name])
            super().fire(name)

    # --- what a test looks at ---

    def announced(self) -> set[int]:
        return {notice.reply_id for notice in self.beginnings()}

    def endings(self) -> list[act.ReplyEnded]:
        return [action for action in self.actions if isinstance(action, act.ReplyEnded)]

    def beginnings(self) -> list[act.ReplyStarted]:
        return [action for action in self.actions if isinstance(action, act.ReplyStarted)]

    def endpoint_ms(self) -> float:
        """The endpointing delay that was set last."""
        return next(action.endpoint_ms for action in reversed(self.actions) if isinstance(action, act.SetEndpointing))

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
