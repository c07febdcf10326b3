"""One attempt at answering: what was generated, what was said of it, and what the caller heard, to the word."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from voiceagent.conversation.clauses import end_wait_ms, ends_plainly, split_clauses
from voiceagent.conversation.events import HeardUntil, SpokenWord
from voiceagent.conversation.history import Chunk, Message, ToolCall
from voiceagent.conversation.rules import SHORT_WORDS, ReplyWish
from voiceagent.turn_taking.language import Language, Prompts


class ToolRun(Struct, frozen=True):
    """A tool call, and its result once it has ended."""

    call: ToolCall
    output: str | None = None
    ok: bool = False
    is_owed: bool = False
    """True if the caller is owed the result also if the reply is cut off: the tool was started and leaves something behind, or it
    ran on after its reply."""
    runs_on: bool = False
    """True if `output` is a stand-in for the result, because the tool runs on, or the caller is still owed the result."""
    cut_off: bool = False
    """True if the caller heard some of its result, and cut the rest off."""


class Round(Struct, frozen=True):
    """One generation of the reply: text, then the tools that it asked for. The next round answers their results."""

    tools: tuple[ToolRun, ...] = ()
    early: bool = False
    """True if this round's text is said while its tools still run. The model asked for them together with the tools of the round
    before."""


class Clause(Struct, frozen=True):
    """A clause handed to synthesis. Its duration is unknown until `ready`."""

    text: str
    round: int
    ready: bool = False
    failed: bool = False
    duration_ms: float = 0.0
    words: tuple[SpokenWord, ...] = ()
    played_ms: float = 0.0
    filler: bool = False
    """True if it is said to bridge the wait for a tool. A filler may be cut short."""
    cut: bool = False

    @property
    def over(self) -> bool:
        """True when the caller will hear no more of it in the normal course of the reply."""
        return self.failed or (self.ready and self.played_ms >= self.duration_ms - 1e-6)

    @property
    def heard(self) -> str:
        """The words whose audio was sent completely."""
        if self.over and not self.failed:
            return self.text
        return " ".join(word.text for word in self.words if word.end_ms <= self.played_ms + 1e-6)


class Reply(Struct, frozen=True):
    """A reply with its own id. `answers_user` says whether the history ends with the message that it answers."""

    reply_id: int
    turn: int
    assumed_text: str = ""
    """The words that a speculative reply answers. They are in no message of the history yet, and the client knows nothing of the
    reply. Empty once the turn is committed."""
    context: tuple[Chunk, ...] = ()
    """The chunks in the prompt of a speculative reply."""
    tokens: int = 0
    """Number of tokens the language model has generated."""
    status: str = "live"
    voice: Literal["full", "ducked", "hushed", "paused"] = "full"
    """Loudness while the caller speaks over it, or just after. A hushed reply is silent for a moment, a paused one until the
    caller's words are known."""
    generating: bool = False
    text_ms: float = 0.0
    """Time of its last text."""
    buffer: str = ""
    unsaid: str | None = None
    """The current generation's text behind what was long enough. It is not said. None: all is said."""
    rounds: tuple[Round, ...] = (Round(),)
    clauses: tuple[Clause, ...] = ()
    answers_user: bool = False
    resumes: bool = True
    """True if its rest is said after a sound without words has cut it off. A check-in is not worth that."""
    tells: bool = False
    """True if the first round holds results of earlier replies' tools, which this reply passes on."""
    protected: bool = False
    """True if it is said to its end, whatever the caller says meanwhile."""
    transfers: bool = False
    """True if the caller is transferred to a person once the reply is over."""
    transfers_to: str = ""
    """The person. Empty: the one for callers who ask for one."""
    wish: ReplyWish | None = None
    """The client's wish that it fulfils."""
    text_only: bool = False
    """True if it is written and not spoken."""
    prompt_tokens: int = 0
    """Number of tokens in its prompts: an estimate, until the language model's engine has counted them."""
    cached_tokens: int | None = None
    """Those of them that were not read again, as far as that is known."""
    uncounted: tuple[int, int] = (0, 0)
    """The estimate for the prompt of the current generation, and the value of `tokens` before it."""
    truncated_ms: float | None = None
    """The audio of it that the client has played, if the client says so."""

    def counted(self, prompt_tokens: int, tokens: int, cached_tokens: int | None) -> Reply:
        """The current generation's tokens were counted."""
        estimate, before = self.uncounted
        return replace(
            self,
            prompt_tokens=self.prompt_tokens - estimate + prompt_tokens,
            tokens=before + tokens,
            cached_tokens=self.cached_tokens if cached_tokens is None else cached_tokens + (self.cached_tokens or 0),
        )

    @property
    def is_answer(self) -> bool:
        """True if it answers the caller or tells them a result, in contrast to a line that the agent says on its own."""
        return self.turn > 0 or self.tells

    @property
    def is_detached(self) -> bool:
        """True if it is no part of the conversation."""
        return self.wish is not None and self.wish.is_detached

    @property
    def heard(self) -> str:
        """All words of the reply that the caller has heard so far."""
        return " ".join(text for text in (clause.heard for clause in self.clauses) if text)

    @property
    def unheard(self) -> str:
        """The words of the reply that the caller has not heard."""
        parts = [_unheard(clause) for clause in self.clauses] + [" ".join(self.buffer.split())]
        return " ".join(part for part in parts if part)

    @property
    def started(self) -> bool:
        """True once the caller could hear some of it."""
        return any(clause.played_ms > 0 for clause in self.clauses)

    @property
    def cut_word(self) -> tuple[int, float]:
        """The beginning of the word in which the reply was paused: the clause, and ms into its audio. The clause is -1 if it was
        paused between words."""
        for index, clause in enumerate(self.clauses):
            if clause.played_ms > 0 and not clause.over:
                for word in clause.words:
                    if word.start_ms < clause.played_ms < word.end_ms:
                        return index, word.start_ms
        return -1, 0.0

    @property
    def tools_pending(self) -> bool:
        """True while a tool of the reply runs."""
        return any(run.output is None for run in self.rounds[-1].tools)

    @property
    def said_meanwhile(self) -> bool:
        """True when a filler, or an early round, already bridges the wait for the last round's tools."""
        last, early = len(self.rounds) - 1, self.rounds[-1].early
        return any(clause.filler or early for clause in self.clauses if clause.round == last) or (
            early and any(clause.filler for clause in self.clauses if clause.round == last - 1)
        )

    @property
    def used_tools(self) -> bool:
        """True when the reply asked for a tool."""
        return any(part.tools for part in self.rounds)

    @property
    def complete(self) -> bool:
        """True when there is nothing left to generate, run, synthesise or play."""
        return not self.generating and not self.tools_pending and not self.buffer and all(c.over for c in self.clauses)

    @property
    def fillers(self) -> int:
        """The number of fillers that were said in it."""
        return sum(clause.filler for clause in self.clauses)

    @property
    def awaits_text(self) -> bool:
        """True while the model's current generation has given neither text nor a tool call."""
        last = len(self.rounds) - 1
        said = self.buffer or any(clause.round == last and not clause.filler for clause in self.clauses)
        return self.generating and not said and not self.rounds[-1].tools

    def with_text(self, text: str, language: Language, *, final: bool) -> tuple[Reply, tuple[str, ...]]:
        """Add generated text in a language. Returns the reply and the clauses that became complete."""
        pieces, rest = split_clauses(self.buffer + text, first=self._unsaid, final=final, abbreviations=language.abbreviations)
        if self.clauses:  # a piece without words is the rest of a mark whose sentence was said already
            pieces = tuple(piece for piece in pieces if any(map(str.isalnum, piece)))
        return self._with_pieces(pieces, rest)

    def released(self, language: Language) -> tuple[Reply, tuple[str, ...]]:
        """The text behind the buffer does not come. Returns the reply and the clauses whose end was uncertain only because of
        that."""
        pieces, rest = split_clauses(
            self.buffer, first=self._unsaid, final=False, abbreviations=language.abbreviations, paused=True
        )
        return self._with_pieces(pieces, rest)

    def is_long_enough(self, language: Language) -> bool:
        """True if its current generation has `SHORT_WORDS` in whole sentences. Then nothing of it waits but the beginning of the
        next sentence."""
        last = len(self.rounds) - 1
        said = " ".join(clause.text for clause in self.clauses if clause.round == last and not clause.filler)
        return len(said.split()) >= SHORT_WORDS and ends_plainly(said, language.abbreviations)

    def wrote_sentence_more(self, language: Language) -> bool:
        """True if a sentence, and the beginning of the next, stand behind what was long enough."""
        pieces, _ = split_clauses(self.unsaid or "", first=False, final=False, abbreviations=language.abbreviations)
        return bool(pieces)

    def wait_ms(self, language: Language) -> float:
        """Returns how long the buffer may wait for more text before what has ended in it is said. 0: nothing has ended."""
        return end_wait_ms(self.buffer, first=self._unsaid, abbreviations=language.abbreviations)

    @property
    def _unsaid(self) -> bool:
        """True while nothing but fillers was said."""
        return all(clause.filler for clause in self.clauses)

    def _with_pieces(self, pieces: tuple[str, ...], rest: str) -> tuple[Reply, tuple[str, ...]]:
        current = len(self.rounds) - 1
        clauses = self.clauses + tuple(Clause(piece, current) for piece in pieces)
        return replace(self, buffer=rest, clauses=clauses), pieces

    def with_filler(self, text: str) -> Reply:
        """Add a filler to bridge a wait."""
        return replace(self, clauses=(*self.clauses, Clause(text, len(self.rounds) - 1, filler=True)))

    def with_clause(self, index: int, clause: Clause) -> Reply:
        """The reply with one clause replaced."""
        return replace(self, clauses=(*self.clauses[:index], clause, *self.clauses[index + 1 :]))

    def with_played(self, index: int, played_ms: float) -> Reply:
        """Note that a clause was sent up to `played_ms`, and all clauses before it completely."""
        if not 0 <= index < len(self.clauses):
            return self
        clauses = list(self.clauses)
        for earlier in range(index):
            before = clauses[earlier]
            if not before.failed and before.played_ms < before.duration_ms:
                clauses[earlier] = replace(before, played_ms=before.duration_ms)
        clauses[index] = replace(clauses[index], played_ms=max(clauses[index].played_ms, played_ms))
        return replace(self, clauses=tuple(clauses))

    def heard_until(self, played_ms: float) -> Reply:
        """The reply as if the caller had heard no more than this much of its audio."""
        clauses, left_ms = list(self.clauses), played_ms
        for index, clause in enumerate(clauses):
            kept_ms = min(clause.played_ms, left_ms)
            left_ms = max(0.0, left_ms - clause.duration_ms)
            if kept_ms < clause.played_ms:
                clauses[index] = replace(clause, played_ms=kept_ms)
        return replace(self, clauses=tuple(clauses))

    def heard_no_more(self, until: HeardUntil) -> Reply:
        """The reply as if the caller had heard nothing beyond this place, which is in it or before it."""
        index = until.clause if until.reply_id == self.reply_id else -1
        first = until.played_ms if index >= 0 else 0.0
        clauses = tuple(
            clause if place < index else replace(clause, played_ms=min(clause.played_ms, first if place == index else 0.0))
            for place, clause in enumerate(self.clauses)
        )
        return replace(self, clauses=clauses)

    def written(self, first: int) -> Reply:
        """The reply with its clauses from the first of these on as text that the client has."""
        later = tuple(replace(clause, ready=True) for clause in self.clauses[first:])
        return replace(self, clauses=(*self.clauses[:first], *later))

    def heard_differs(self, before: Reply) -> bool:
        """Returns whether the caller has heard other words than in `before`, which has the same clauses."""
        pairs = zip(self.clauses, before.clauses, strict=True)
        return any(now is not then and now.heard != then.heard for now, then in pairs)

    def with_tool(self, call: ToolCall) -> Reply:
        """Note that the current round asked for a tool."""
        last = self.rounds[-1]
        return replace(self, rounds=(*self.rounds[:-1], replace(last, tools=(*last.tools, ToolRun(call)))))

    def with_tool_output(self, call_id: str, output: str, ok: bool) -> Reply:
        """Note the result of a tool of the current round."""
        last = self.rounds[-1]
        tools = tuple(replace(run, output=output, ok=ok) if run.call.call_id == call_id else run for run in last.tools)
        return replace(self, rounds=(*self.rounds[:-1], replace(last, tools=tools)))

    def with_started(self, call_id: str) -> Reply:
        """Note that a tool with an effect was started."""
        return self._with_runs(call_id, is_owed=True)

    def with_stand_in(self, call_id: str, stand_in: str) -> Reply:
        """Note that a tool's result is told later. `stand_in` takes its place."""
        return self._with_runs(call_id, output=stand_in, runs_on=True)

    def _with_runs(self, call_id: str, **changes: object) -> Reply:
        """Change the runs of the call with this id, in whichever round."""
        rounds = tuple(
            replace(part, tools=tuple(replace(run, **changes) if run.call.call_id == call_id else run for run in part.tools))
            for part in self.rounds
        )
        return replace(self, rounds=rounds)

    def without_first_tools(self) -> Reply:
        """The reply without the tools of its first round."""
        return replace(self, rounds=(replace(self.rounds[0], tools=()), *self.rounds[1:]))

    def heard_behind(self, round_number: int) -> tuple[int, int]:
        """Counts how many words behind this round the caller has heard, and how many there are so far. Fillers do not count."""
        clauses = [clause for clause in self.clauses if clause.round > round_number and not clause.filler]
        return sum(len(c.heard.split()) for c in clauses), sum(len(c.text.split()) for c in clauses)

    def messages(self, prompts: Prompts, *, as_heard: bool) -> tuple[Message, ...]:
        """The reply as history: one assistant message and its tool results per round. With `as_heard` the text is what the caller
        heard. Without it, the text is what was generated, for the next round of a reply that is still being spoken."""
        unknown = prompts.tool_interrupted if as_heard else prompts.tool_pending
        messages: list[Message] = []
        for number, part in enumerate(self.rounds):
            clauses = [clause for clause in self.clauses if clause.round == number]
            text = " ".join(t for t in (clause.heard if as_heard else clause.text for clause in clauses) if t)
            if not text and not part.tools:
                continue
            cut = as_heard and self.status != "completed" and text != " ".join(clause.text for clause in clauses)
            messages.append(Message("assistant", text, tuple(run.call for run in part.tools), interrupted=cut))
            messages.extend(
                Message("tool", unknown if run.output is None else run.output, tool_call_id=run.call.call_id)
                for run in part.tools
            )
        return tuple(messages)


def _unheard(clause: Clause) -> str:
    heard = len(clause.heard.split())
    return " ".join(clause.text.split()[heard:])
