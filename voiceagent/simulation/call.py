"""One simulated call: a generated caller and engines with generated delays and faults, around a timed call. A `Tally` counts the
decisions beside what was right.

The file is long because the moments of one generated caller depend on each other."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

from typing_extensions import override

from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import Chunk
from voiceagent.conversation.rules import Rules
from voiceagent.conversation.state import Phase
from voiceagent.simulation.script import HAS_EFFECTS, LOOKS_UP, ScriptedTurn, ScriptedUtterance, script
from voiceagent.simulation.tally import Tally
from voiceagent.simulation.virtual_call import FRAME_MS, WORD_MS, Record, TimedCall, VirtualClause
from voiceagent.turn_taking.endpointing import Prosody
from voiceagent.turn_taking.language import bare_words
from voiceagent.turn_taking.overlap import EARLY_ANSWER_WORDS

PAUSE_MS, PARTIAL_MS, SAID_WORD_MS = 100.0, 200.0, 290.0
NOISE_MS = 220.0
FAULTS = 0.003
"""The share of generations, and of clauses, that fail."""
GUARDED = 0.01
"""The share of generations that the output guard stops, and of utterances that the input guard withholds."""
PREDICTED, FOUND = 0.3, 0.1
"""The shares of partial transcripts for which a tool is predicted, and for which documents are found."""
BOTH_TOOLS = 0.2
"""The share of answers with a tool for which the model asks for both tools at once."""
LONGEST_CALL_MS = 600_000.0
REPLIES = (
    "It is sunny in Paris tomorrow, with twenty degrees.",
    "Your table for four is booked for Friday at seven. Can I do anything else?",
    "Sure. What day would you like?",
    "You can ask me about the weather, the time, bookings and orders. I can also set a timer.",
    "Goodbye.",
)
TWO_TOOLS = (LOOKS_UP, HAS_EFFECTS)
EFFECTS, COMMITTED, NOT_COMMITTED = "an effect came of", "a committed reply", "a dropped or uncommitted reply"


class SimulatedCall(TimedCall):
    """One call. `run` runs it to its end."""

    def __init__(self, rules: Rules, seed: int, tally: Tally, record: Record | None = None) -> None:
        super().__init__(rules, record)
        self._rng = random.Random(seed)
        self._seed = seed
        self._tally = tally
        self._turns: list[ScriptedTurn] = list(script(self._rng))
        self._turn: ScriptedTurn | None = None
        self._started: set[int] = set()
        self._over: dict[int, str] = {}
        self._dead: set[int] = set()
        self._effects: set[tuple[int, str]] = set()
        self._voice_free_ms = 0.0
        # the caller
        self._saying: ScriptedUtterance | None = None
        self._part = 0
        self._finished = False
        """True once the caller has said all of it."""
        self._judging: ScriptedUtterance | None = None
        """The caller's sound over the agent's speech, until the agent yields or goes on."""
        self._open = False
        self._utterance_id = 0
        self._heard_words: list[str] = []
        self._voiced_ms = self._speech_end_ms = self._onset_ms = 0.0
        self._pause_id = 0
        self._paused = False
        self._endpointings = 0
        self._true_end_ms: float | None = None
        self._commit_ms = 0.0
        self._overlap_begun = False

    def run(self) -> None:
        """Run the call to its end. Rules that were broken are in the tally."""
        self.feed(ev.CallStarted(0.0))
        self.run_until(LONGEST_CALL_MS)
        self._tally.calls += 1
        self._tally.decided("the call ended", self.ended or "not at all")
        self._check_end()

    @override
    def feed(self, event: ev.Event) -> tuple[act.AnyAction, ...]:
        if not self.ended:
            self._tally.events += 1
        return super().feed(event)

    def _broken(self, rule: str) -> None:
        self._tally.broken.append(f"call {self._seed}: {rule}")

    @override
    def asked(self, action: act.AnyAction) -> None:
        match action:
            case act.Transcribe():
                self.after(self._rng.uniform(10, 60), self._final, action.utterance_id, self._pause_id, self._words())
            case act.SetEndpointing():
                self._set_endpointing(action)
            case act.DiscardUtterance():
                self._open = False
            case act.Generate():
                self._generate(action)
            case act.Speak():
                self._speak(action)
            case act.RunTool():
                self._run_tool(action)
            case act.RunSpeculativeTool():
                self._run_speculatively(action)
            case act.SpeculativeToolEnded():
                self._tally.decided("a speculative tool call was", "used" if action.used else "unused")
                if action.used:
                    self._tally.took("saved by speculative tool calls", action.saved_ms)
            case act.Attenuate():
                if not action.gain_db:
                    self._judged("goes on")
            case act.ReplyStarted():
                self._reply_started(action)
            case act.ReplyEnded():
                self._reply_ended(action)
            case act.GuardHit():
                self._tally.decided("a guard hit", action.direction)
            case act.SpeculationEnded():
                self._tally.decided("the speculative reply was", action.outcome)
                self._tally.decided(
                    "tokens of speculative replies", "kept" if action.outcome == "kept" else "wasted", action.tokens
                )

    @override
    def fire(self, name: str) -> None:
        self._tally.decided("a timer ran out", name)
        super().fire(name)

    # --- the engines ---

    def _generate(self, request: act.Generate) -> None:
        rng, reply_id = self._rng, request.reply_id
        if reply_id in self._dead:
            self._broken(f"reply {reply_id} was dropped and is generated")
        at_ms = rng.uniform(15, 90)
        if rng.random() < FAULTS:
            self.after(at_ms, self._generated, ev.GenerationFailed, reply_id, "broken")
            return
        if self._turn is not None and self._turn.tool and request.messages[-1].role == "user":
            at_ms += rng.uniform(40, 120)
            arguments = _arguments(request.messages[-1].content)
            for name in TWO_TOOLS if rng.random() < BOTH_TOOLS else (self._turn.tool,):
                self.after(at_ms, self._generated, ev.ToolCallRequested, reply_id, f"c{self.order}", name, arguments)
        else:
            words = rng.choice(REPLIES).split()
            blocked = rng.random() < GUARDED
            for word in words[: rng.randrange(len(words))] if blocked else words:
                self.after(at_ms, self._generated, ev.TextDelta, reply_id, f"{word} ")
                at_ms += rng.uniform(4, 14)
            if blocked:
                self.after(at_ms, self._generated, ev.OutputBlocked, reply_id, "phrases", "I may not speak of that.")
                return
        self.after(at_ms + 5, self._generated, ev.GenerationDone, reply_id)

    def _generated(self, kind: Callable[..., ev.Event], reply_id: int, *fields: str) -> None:
        if reply_id not in self._dead or self._rng.random() < 0.2:  # a cancelled stream may still say a little
            self.feed(kind(self.now_ms, reply_id, *fields))

    def _run_tool(self, run: act.RunTool) -> None:
        effect = (run.reply_id, run.name)
        committed = run.reply_id in self._started and run.reply_id not in self._dead
        if run.name == HAS_EFFECTS:
            self._tally.decided(EFFECTS, COMMITTED if committed else NOT_COMMITTED)
        if not committed or effect in self._effects:
            self._broken(f"{run.name} ran for a reply that was not committed, or twice for it")
        self._effects.add(effect)
        self._tally.decided("a tool ran", f"{run.name}, once committed")
        self.after(self._tool_ms(), self._tool_finished, run.reply_id, run.call_id)

    def _run_speculatively(self, run: act.RunSpeculativeTool) -> None:
        if run.name != LOOKS_UP:
            self._broken(f"{run.name} ran speculatively though it has effects")
        self._tally.decided("a tool ran", f"{run.name}, ahead")
        self.after(self._tool_ms(), self._speculative_tool_finished, run.speculative_id)

    def _speculative_tool_finished(self, speculative_id: int) -> None:
        self.feed(ev.SpeculativeToolFinished(self.now_ms, speculative_id, '{"ok": true}', True))

    def _tool_ms(self) -> float:
        return self._rng.lognormvariate(4.5, 0.9)

    def _tool_finished(self, reply_id: int, call_id: str) -> None:
        self.feed(ev.ToolFinished(self.now_ms, reply_id, call_id, '{"ok": true}', True))

    def _speak(self, speak: act.Speak) -> None:
        if speak.reply_id in self._dead:
            self._broken(f"reply {speak.reply_id} was dropped and is synthesised")
        self._voice_free_ms = max(self.now_ms, self._voice_free_ms) + self._rng.uniform(5, 50)
        self.after(self._voice_free_ms - self.now_ms, self._synthesised, speak)

    def _synthesised(self, speak: act.Speak) -> None:
        if speak.reply_id in self._dead:
            return
        if self._rng.random() < FAULTS:
            self.feed(ev.ClauseFailed(self.now_ms, speak.reply_id, speak.clause, "broken"))
            return
        words = speak.text.split()
        spoken = tuple(ev.SpokenWord(word, i * WORD_MS, (i + 1) * WORD_MS) for i, word in enumerate(words))
        duration_ms = len(words) * WORD_MS
        self.synthesised(speak.reply_id, speak.clause, spoken, duration_ms)

    # --- the leg ---

    @override
    def sent(self, clause: VirtualClause) -> None:
        if clause.reply_id not in self._started or clause.reply_id in self._over:
            self._broken(f"a frame of reply {clause.reply_id} was sent outside its life")
        if clause.clause == 0 and clause.sent_ms <= FRAME_MS:
            self._first_frame(clause.reply_id)

    def _first_frame(self, reply_id: int) -> None:
        if self._true_end_ms is not None and self._turn is not None and not self._overlap_begun:
            tool = f"with {self._turn.tool}" if self._turn.tool else "without tools"
            self._tally.took(f"voice to voice, {tool}", self.now_ms - self._true_end_ms)
            self._tally.took(f"commit to first frame, {tool}", self.now_ms - self._commit_ms)
            self._true_end_ms = None
        turn = self._turn
        if turn is not None and turn.overlap is not None and not self._overlap_begun:
            self._overlap_begun = True
            self.after(turn.overlap_after_ms, self._overlap, reply_id, turn.overlap)

    @override
    def resumed(self, action: act.ResumeReply) -> None:
        self._judged("goes on")

    @override
    def cancelled(self, reply_id: int) -> None:
        if reply_id in self._started:
            self._judged("yields")
        self._dead.add(reply_id)

    @override
    def stopping_ms(self) -> float:
        return self._rng.uniform(0, 5)

    def _judged(self, verdict: str) -> None:
        if self._judging is not None:
            self._tally.decided(f"over its speech: {self._judging.kind}", verdict)
            self._tally.took(f"{self._judging.kind}: onset until it {verdict}", self.now_ms - self._onset_ms)
            self._judging = None

    # --- replies ---

    def _reply_started(self, started: act.ReplyStarted) -> None:
        if started.reply_id in self._started:
            self._broken(f"reply {started.reply_id} began twice")
        self._started.add(started.reply_id)
        self._commit_ms = self.now_ms

    def _reply_ended(self, ended: act.ReplyEnded) -> None:
        if ended.reply_id in self._over:
            self._broken(f"reply {ended.reply_id} ended twice")
        self._over[ended.reply_id] = ended.heard
        self._tally.decided("the reply was", ended.status)
        self.after(self._rng.uniform(200, 1500), self._next)

    # --- the caller ---

    def _next(self) -> None:
        """Say the next thing, if it is the caller's turn."""
        if self._saying is not None or self.state.phase is not Phase.IDLE:
            return
        if self._turns:
            self._turn = self._turns.pop(0)
            self._overlap_begun = False
            self._begin(self._turn.request)
        elif self._rng.random() < 0.8:
            self.feed(ev.HangUp(self.now_ms, "hangup"))

    def _overlap(self, reply_id: int, sound: ScriptedUtterance) -> None:
        reply = self.state.reply
        if self._saying is None and reply is not None and reply.reply_id == reply_id and self.state.phase is Phase.SPEAKING:
            asked = f"{reply.heard} {reply.unheard}".endswith("?") and len(reply.unheard.split()) <= EARLY_ANSWER_WORDS
            if sound.kind != "backchannel" or not asked:  # a "yes" to a question is an answer
                self._judging = sound
                self._begin(sound)

    def _begin(self, utterance: ScriptedUtterance) -> None:
        self._saying, self._part, self._finished = utterance, 0, False
        self._true_end_ms = None
        self._fragment()

    def _fragment(self) -> None:
        """Say the next fragment."""
        assert self._saying is not None
        words = self._saying.fragments[self._part].words
        lasts_ms = len(words) * SAID_WORD_MS if words else NOISE_MS
        onset_ms = self.now_ms
        vad_ms = self._rng.uniform(60, 130)
        if not self._open:
            self.after(vad_ms, self._onset, onset_ms)
        else:
            self.after(self._rng.uniform(20, 60), self._resumed)
        for index in range(int(lasts_ms // PARTIAL_MS)):
            heard_ms = (index + 1) * PARTIAL_MS
            self.after(max(heard_ms, vad_ms) + self._rng.uniform(10, 40), self._partial, int(heard_ms // SAID_WORD_MS))
        self.after(lasts_ms, self._fell_silent, lasts_ms)

    def _onset(self, onset_ms: float) -> None:
        self._utterance_id += 1
        self._open, self._paused = True, False
        self._onset_ms = onset_ms
        self._voiced_ms = 0.0
        self._heard_words = []
        reply = self.state.reply
        if reply is None or reply.assumed_text:  # the reply has just ended: there is nothing to judge
            self._judging = None
        self.feed(ev.SpeechStarted(self.now_ms, self._utterance_id, onset_ms))

    def _resumed(self) -> None:
        if not self._open:  # the turn engine closed the utterance as the caller went on: this is a new one
            self._onset(self.now_ms)
        elif self._paused:
            self._paused = False
            self._endpointings += 1
            self.feed(ev.SpeechResumed(self.now_ms, self._utterance_id))

    def _partial(self, count: int) -> None:
        if self._open and not self._paused and self._saying is not None:
            words = [*self._heard_words, *self._saying.fragments[self._part].words[:count]]
            if words:
                self.feed(ev.Transcript(self.now_ms, self._utterance_id, " ".join(words[:-1]), words[-1], 20.0))
                self._read_on(words)

    def _read_on(self, words: list[str]) -> None:
        """Work that the words so far start besides the turn engine."""
        if self._turn is not None and self._turn.tool and self._rng.random() < PREDICTED:
            name, arguments = self._rng.choice(TWO_TOOLS), _arguments(" ".join(words))
            self.feed(ev.ToolPredicted(self.now_ms, self._utterance_id, name, arguments))
        if self._rng.random() < FOUND:
            self.feed(ev.ContextFound(self.now_ms, self._utterance_id, (Chunk("a page", " ".join(words)),)))

    def _fell_silent(self, voiced_ms: float) -> None:
        assert self._saying is not None
        fragment = self._saying.fragments[self._part]
        last = self._part == len(self._saying.fragments) - 1
        self._voiced_ms += voiced_ms
        self._speech_end_ms = self.now_ms
        self._heard_words += fragment.words
        self._finished = last
        if last and self._saying.kind == "request":
            self._true_end_ms = self.now_ms
        self.after(PAUSE_MS, self._pause, last)
        if last:
            self.after(3000.0, self._said, self._saying)
        else:
            self.after(fragment.pause_ms, self._go_on)

    def _go_on(self) -> None:
        if self._saying is None:
            return
        self._tally.decided("a pause inside a turn was", "waited for" if self._open else "taken for the end")
        self._part += 1
        self._fragment()

    def _said(self, utterance: ScriptedUtterance) -> None:
        """Long after the sound: nothing more will come of it."""
        if self._saying is utterance:
            self._saying = None
            self._next()

    def _pause(self, last: bool) -> None:
        if not self._open:
            return
        self._pause_id += 1
        self._paused = True
        fall_st = self._rng.gauss(2.0 if last else 0.3, 1.5)
        energy_db = self._rng.gauss(6.0 if last else 3.0, 3.0)
        prosody = Prosody(fall_st if self._rng.random() < 0.8 else None, energy_db)
        self.feed(
            ev.SpeechPaused(
                self.now_ms, self._utterance_id, self._pause_id, self._speech_end_ms, self._voiced_ms, prosody, self._load()
            )
        )

    def _load(self) -> float:
        return self._rng.choice((0.0, 0.2, 0.4, 0.6, 0.9))

    def _words(self) -> str:
        """The words as a recogniser writes them. An unfinished sentence sometimes gets a full stop; a finished one sometimes gets
        none."""
        text = " ".join(self._heard_words)
        dice = self._rng.random()
        if text.endswith((".", "?")):
            return text if dice < 0.95 else text[:-1]
        return f"{text}." if text and dice < 0.25 else text

    def _final(self, utterance_id: int, pause_id: int, text: str) -> None:
        if pause_id == self._pause_id:
            refusal = ev.Refusal("topics", "I do not speak of that.") if text and self._rng.random() < GUARDED else None
            said = "(withheld)" if refusal else text
            self.feed(ev.FinalTranscript(self.now_ms, utterance_id, said, pause_id, refusal))

    def _set_endpointing(self, delays: act.SetEndpointing) -> None:
        self._endpointings += 1
        if self._open and self._paused:
            silence_ms = self.now_ms - self._speech_end_ms
            if delays.eager_ms < delays.endpoint_ms:
                self.after(delays.eager_ms - silence_ms, self._silence, self._endpointings)
            self.after(delays.endpoint_ms - silence_ms, self._endpoint, self._endpointings)

    def _silence(self, number: int) -> None:
        if number == self._endpointings and self._open and self._paused:
            self.feed(ev.SilenceReached(self.now_ms, self._utterance_id, self._pause_id))

    def _endpoint(self, number: int) -> None:
        if number != self._endpointings or not self._open or not self._paused:
            return
        self._open = False
        if self._finished and self._saying is not None:
            self._tally.took(f"end of a {self._saying.kind} until the endpoint", self.now_ms - self._speech_end_ms)
            self._saying = None
        self.feed(ev.Endpoint(self.now_ms, self._utterance_id, self._speech_end_ms))

    # --- what must hold at the end ---

    def _check_end(self) -> None:
        if not self.ended:
            self._broken("it never ended")
            return
        if self.timers or self.state.timers:
            self._broken(f"timers are left over: {sorted({*self.timers, *self.state.timers})}")
        if self.state.reply is not None:
            self._broken("a reply is left over")
        said = [message.content for message in self.state.memory.history if message.role == "assistant" and message.content]
        heard = [text for _, text in sorted(self._over.items()) if text]
        if " ".join(said) != " ".join(heard):
            self._broken(f"history holds {said}, the caller heard {heard}")


def _arguments(said: str) -> str:
    """The arguments of a tool call: the last word."""
    return json.dumps({"about": (bare_words(said) or [""])[-1]})
