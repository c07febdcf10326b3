"""The state of the turn engine: everything that it remembers of a call, as one frozen value in parts. `Step` changes it. One file
writes each part; the others call that file's functions (`tests/conversation/test_owners.py` has the list)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from voiceagent.conversation import actions as act
from voiceagent.conversation.events import Refusal
from voiceagent.conversation.history import Chunk, Message, ToolCall
from voiceagent.conversation.reply import Reply, ToolRun
from voiceagent.conversation.rules import EARLY_SHARE, Degradation, ReplyWish, Rules
from voiceagent.turn_taking.endpointing import NO_HABIT, Habit, Prosody
from voiceagent.turn_taking.language import Language, Prompts, Sayings
from voiceagent.turn_taking.languages import LANGUAGES, language
from voiceagent.turn_taking.spoken_language import AUTO, SpokenLanguage


class Phase(Enum):
    """The stage that a call has reached. A call is in exactly one phase at a time."""

    NEW = "new"
    """No audio flows yet."""
    IDLE = "idle"
    """Nobody speaks, and no reply is being made."""
    HEARING = "hearing"
    """The caller speaks or pauses. A reply that was being spoken may be paused. A speculative reply may be being made."""
    FINALISING = "finalising"
    """The caller has finished. The final transcript is being made."""
    THINKING = "thinking"
    """A reply is being made, or waits until the cancelled one has settled. The caller has heard nothing of it."""
    SPEAKING = "speaking"
    """The caller hears the reply."""
    ENDED = "ended"
    """The call is over."""


LIVE = frozenset(Phase) - {Phase.NEW, Phase.ENDED}


class NextReply(Struct, frozen=True):
    """A reply that starts as soon as the cancelled one has settled: an answer to the caller, the rest of the interrupted reply,
    a given text, the results that the caller is owed, what is said before the caller is transferred, or a text for a caller who
    was not understood."""

    kind: Literal["answer", "resume", "say", "tell", "transfer", "ask_again"]
    text: str = ""
    resumes: bool = True
    """See `Reply.resumes`."""
    offers_person: bool = False
    """True if the text asks whether the caller wants to be transferred to a person."""
    protected: bool = False
    """See `Reply.protected`."""
    wish: ReplyWish | None = None
    """The client's wish for an answer."""


class Pause(Struct, frozen=True):
    """The silence in which the open utterance is, or in which its endpoint came."""

    pause_id: int
    speech_end_ms: float
    voiced_ms: float
    prosody: Prosody
    load: float
    words_chance: float | None = None
    """See `SpeechPaused`."""
    text: str | None = None
    """The utterance's words. None until they are decoded."""
    refusal: Refusal | None = None
    """Set if the input guard withheld the words."""
    language: str = ""
    """The code of the language that the recogniser detected."""
    failed: bool = False
    """True if the recogniser failed."""
    answers: Mapping[str, float | None] = {}
    """The turn judges' answers about this pause, by their names. None: the judge cannot tell."""

    @property
    def judged(self) -> Mapping[str, float]:
        """The judges' chances so far, 0 to 1."""
        return {name: chance for name, chance in self.answers.items() if chance is not None}


class SpeculativeToolCall(Struct, frozen=True):
    """A tool without effect that runs, or ran, before its turn was committed."""

    speculative_id: int
    name: str
    arguments: str
    """Written by `tools.normalised`."""
    started_ms: float
    output: str | None = None
    """None while it runs."""
    ok: bool = False
    finished_ms: float = 0.0
    used: bool = False
    """True if a committed reply took the result."""


class Memory(Struct, frozen=True):
    """The conversation so far."""

    history: tuple[Message, ...] = ()
    """The messages, without the system message. The text of an assistant's message is what the caller heard."""
    keys: tuple[tuple[str, ...], ...] = ()
    """The client's names for what each message of the history holds."""
    turns: int = 0
    """Number of turns the caller has taken, with those that are no longer in the history."""
    summary: str = ""
    """A summary of the messages that left the history."""
    summarising: int = 0
    """Number of the oldest messages that are being summarised."""
    summarised: str | None = None
    """The finished summary. It is put in when the turn is over."""


class CallerTurn(Struct, frozen=True):
    """The caller's words since the last turn was answered."""

    unanswered: str = ""
    """The words that are in no message of the history yet, without those of the open utterance."""
    keys: tuple[str, ...] = ()
    """The client's names for what these words are."""
    wish: ReplyWish | None = None
    """The client's wish for a reply that begins as soon as it can."""
    awaiting_final: frozenset[int] = frozenset()
    """The endpointed utterances whose final transcript has not come yet."""
    by_hand: frozenset[int] = frozenset()
    """Those of them that the client ended."""
    context: tuple[Chunk, ...] = ()
    """The chunks found for these words and for the open utterance, in the order in which they came."""
    refusal: Refusal | None = None
    """Set if the input guard withheld some of the words."""
    ended_ms: float = 0.0
    """The end of the caller's speech that is to be answered, or is being answered."""
    last_words: str = ""
    """The words of the latest utterance that had any."""
    not_understood: int = 0
    """Number of turns in a row, with the last one, that were heard and not understood."""


class Utterance(Struct, frozen=True):
    """The caller's latest utterance."""

    utterance_id: int = -1
    onset_ms: float = 0.0
    """Time of its beginning."""
    partial: str = ""
    """The words so far."""
    stable: str = ""
    """The words so far that will not change."""
    pause: Pause | None = None
    """Set while the utterance is silent."""
    interrupts: bool = False
    """True if the agent yielded the floor to it, without having asked for it."""
    words_chance: float | None = None
    """The chance that its sound is words, if it is spoken over the agent (`events.OverlapHeard`)."""
    voiced_ms: float | None = None
    """Length of its speech so far, if it is spoken over the agent and its sound was judged."""
    hushed_ms: float | None = None
    """Time at which it hushed the live reply."""


class Replies(Struct, frozen=True):
    """Things that one reply leaves for the next, besides the history."""

    cancelling: Reply | None = None
    """The cancelled reply whose `PlayoutStopped` has not come yet."""
    unheard_text: str = ""
    """The unheard rest of the reply that the open utterance interrupted."""
    next_reply: NextReply | None = None
    next_reply_id: int = 1
    offers_person: bool = False
    """True if the latest reply asked whether the caller wants to be transferred to a person."""
    last: Reply | None = None
    """The last reply that was spoken and is over."""
    transferring: bool = False
    """True while the caller is being transferred to a person: then nobody asks whether they are still there."""
    owes_answer: bool = False
    """True if another agent has taken over and has not begun to answer the caller."""


class TurnTools(Struct, frozen=True):
    """The tools of the caller's turn."""

    confirming: ToolCall | None = None
    """The tool call that the caller was asked to confirm."""
    asked_nothing: bool = False
    """True if the caller's last turn was nothing but commands or backchannels. Then no tool with an effect runs."""
    speculative: tuple[SpeculativeToolCall, ...] = ()
    """The speculative tool calls of the turn. They are kept until the reply to it is over."""
    next_speculative_id: int = 1
    predicted: tuple[str, str] | None = None
    """The last predicted tool call: the tool's name and its normalised arguments."""
    fillers_said: int = 0
    """Number of fillers said in the call."""


class RunsOn(Struct, frozen=True):
    """A tool that still runs although its reply was cancelled."""

    reply_id: int
    calls: tuple[ToolCall, ...]
    """The call that runs, and those of its reply that are the same."""
    speculative_id: int | None = None
    """The id of the speculative tool call that runs, if the tool began before its turn was committed."""

    @property
    def call_ids(self) -> list[str]:
        """The ids of these calls."""
        return [call.call_id for call in self.calls]


class LateResults(Struct, frozen=True):
    """Results that the caller is owed of tools whose replies are over."""

    running: tuple[RunsOn, ...] = ()
    owed: tuple[ToolRun, ...] = ()
    """The results that are to be told as soon as the floor is free."""


class Speculation(Struct, frozen=True):
    """The speculative replies since the last committed one."""

    replies: int = 0
    """Number of those that began."""
    tokens: int = 0
    """Number of tokens the discarded ones cost."""


class Silence(Struct, frozen=True):
    """The silence, and what the agent did because of it."""

    since_ms: float = 0.0
    """From when on the silence is counted."""
    words_ms: float = 0.0
    """Time of the last words, of either side; a check-in does not count."""
    check_ins: int = 0
    """Number of times the agent asked whether the caller is still there."""
    ending: str = ""
    """The reason with which the call ends after the live reply or the next one. Empty: it goes on."""
    detail: str = ""
    """The agent's own words for that reason."""
    wanted: bool = False
    """True if the call is to end with the next answer, or with a goodbye once nobody speaks."""


class StepProgress(Struct, frozen=True):
    """The place of a call in its agent's steps."""

    step: str = ""
    """Empty: the agent has no steps, or the call has not begun."""
    values: Mapping[str, object] = {}
    """The values that are known, by name."""
    known: str = ""
    """The values that were known when the step began, as JSON. They stand in its prompts, so that those begin alike."""
    given_up: frozenset[str] = frozenset()
    """The values that the caller was asked for and did not tell."""
    asked_in: int = -1
    """The caller's last turn that led to a step because it asked for it. It leads to no other one."""
    agent: str = ""
    """The agent that has taken over, by its name in `Rules.agents`; empty: the call's first."""
    handoffs: int = 0
    """The number of handoffs that began in the call."""
    summarising: bool = False
    """True while the next agent waits for a summary."""
    summary: str = ""
    """The summary for the next agent; empty: there is none."""


class ValueTask(Struct, frozen=True):
    """A value that is being collected."""

    name: str
    """A value of the step, or `tool.parameter`."""
    stage: Literal["asking", "hearing", "reading_back"] = "asking"
    """The caller is asked for it, for the rest of it, or whether it is right."""
    so_far: str = ""
    """The part that was heard."""
    value: str = ""
    """The value that is read back."""
    tries: int = 0
    """Number of questions that did not lead on."""
    asked_in: int = 0
    """The reply with the last question; 0: the caller has said something else since, or has not heard it."""
    line: str = ""
    """That question."""


class Collecting(Struct, frozen=True):
    """The values that the turn engine collects."""

    task: ValueTask | None = None
    before: ValueTask | None = None
    """The task before the caller's last words."""
    call: ToolCall | None = None
    """The tool call that waits for its values."""
    known: Mapping[str, str] = {}
    """The tools' parameters that were collected, by `tool.parameter`. A step's values stand in `StepProgress`."""
    given_up: frozenset[str] = frozenset()
    """Those that the caller did not tell."""
    today: str = ""
    """The date on which the call began."""


class Connection(Struct, frozen=True):
    """The caller's connection."""

    lost_ms: float | None = None
    """Time at which it was lost. None: it is up."""
    due: frozenset[str] = frozenset()
    """The timers that have run out since, and wait until the caller is back."""


class State(Struct, frozen=True):
    """The state of a call between two events."""

    rules: Rules
    spoken: SpokenLanguage = SpokenLanguage()
    """The caller's language."""
    phase: Phase = Phase.NEW
    memory: Memory = Memory()
    caller_turn: CallerTurn = CallerTurn()
    habit: Habit = NO_HABIT
    utterance: Utterance = Utterance()
    reply: Reply | None = None
    """The live reply, speculative or not. There is never more than one."""
    replies: Replies = Replies()
    tools: TurnTools = TurnTools()
    late: LateResults = LateResults()
    speculation: Speculation = Speculation()
    silence: Silence = Silence()
    connection: Connection = Connection()
    flow: StepProgress = StepProgress()
    collecting: Collecting = Collecting()
    kept: str = ""
    """The state that the tools keep of the call: JSON text."""
    degraded: tuple[Degradation, ...] = ()
    """See `events.DegradationChanged`."""
    timers: frozenset[str] = frozenset()


Part = Literal[
    "memory", "caller_turn", "utterance", "replies", "tools", "late", "speculation", "silence", "connection", "collecting"
]
"""The parts of which single fields are changed."""


class Step:
    """One step of the turn engine while it is computed: the state so far and the actions so far. Handlers change it. It is not
    seen outside `machine.step`."""

    __slots__ = ("actions", "at_ms", "state")

    def __init__(self, state: State, at_ms: float) -> None:
        self.state = state
        self.at_ms = at_ms
        self.actions: list[act.AnyAction] = []

    def do(self, *actions: act.AnyAction) -> None:
        """Add actions."""
        self.actions.extend(actions)

    def put(self, **changes: object) -> None:
        """Change the state: its phase, or a part that the calling file owns."""
        self.state = replace(self.state, **changes)

    def change(self, part: Part, **changes: object) -> None:
        """Change fields of a part of the state. Only the file that owns the part may call it."""
        self.put(**{part: replace(getattr(self.state, part), **changes)})

    def follow(self, rules: Rules) -> None:
        """Go by these rules from now on."""
        self.put(rules=rules)

    @property
    def is_leaving(self) -> bool:
        """True if the call is in a step in which another agent takes over."""
        rule = self.state.rules.steps.get(self.state.flow.step)
        return rule is not None and bool(rule.handoff)

    def filler_after(self, usual_ms: float) -> float:
        """The time until a filler that usually comes after `usual_ms`."""
        return usual_ms * (EARLY_SHARE if Degradation.EARLY_FILLERS in self.state.degraded else 1.0)

    def set_timer(self, name: str, after_ms: float) -> None:
        """Start a timer; 0: start none."""
        if after_ms > 0:
            self.put(timers=self.state.timers | {name})
            self.do(act.SetTimer(name, self.at_ms + after_ms))

    def clear_timers(self, names: Iterable[str]) -> None:
        """Stop those of the named timers that run."""
        for name in sorted(self.state.timers.intersection(names)):
            self.put(timers=self.state.timers - {name})
            self.do(act.ClearTimer(name))

    def timer_ran_out(self, name: str) -> bool:
        """Note that a timer has run out. Returns False if it was stopped before."""
        if name not in self.state.timers:
            return False
        self.put(timers=self.state.timers - {name})
        return True

    @property
    def language(self) -> Language:
        """The data of the caller's language."""
        return language(self.state.spoken.code)

    @property
    def possible_languages(self) -> tuple[Language, ...]:
        """The languages that the caller may be speaking."""
        return tuple(LANGUAGES.values()) if self.state.rules.language == AUTO else (self.language,)

    @property
    def sayings(self) -> Sayings:
        """The lines that the agent says on its own. Phrases that the rules leave open are those of the caller's language."""
        phrases, own = self.state.rules.phrases, self.language.sayings
        return Sayings(
            check_in=own.check_in if phrases.check_in is None else phrases.check_in,
            farewell=own.farewell if phrases.farewell is None else phrases.farewell,
            apology=own.apology if phrases.apology is None else phrases.apology,
            not_understood=own.not_understood if phrases.not_understood is None else phrases.not_understood,
            stopped=own.stopped if phrases.stopped is None else phrases.stopped,
            offer_person=own.offer_person if phrases.offer_person is None else phrases.offer_person,
            transfer=own.transfer if phrases.transfer is None else phrases.transfer,
            transfer_failed=own.transfer_failed if phrases.transfer_failed is None else phrases.transfer_failed,
            resumed=own.resumed if phrases.resumed is None else phrases.resumed,
            fillers=own.fillers if phrases.fillers is None else phrases.fillers,
        )

    @property
    def last_said(self) -> str:
        """The last words that the caller heard from the agent. "Are you still there?" and the like leave the question before them
        open."""
        said = (message.content for message in reversed(self.state.memory.history) if message.role == "assistant")
        between = (self.sayings.check_in, self.sayings.not_understood, self.sayings.apology)
        return next((text for text in said if text and text not in between), "")

    @property
    def prompts(self) -> Prompts:
        """Texts for the language model besides the instructions. Texts that the rules leave open are those of the caller's
        language."""
        return self.language.prompts.with_texts(self.state.rules.prompts)

    def asked(self, words: str, context: tuple[Chunk, ...]) -> Message:
        """The caller's words as a message, with the chunks found for them."""
        return Message("user", words, context=context, context_head=self.prompts.context if context else "")

    def live(self, reply_id: int) -> Reply | None:
        """The live reply, if it has this id."""
        reply = self.state.reply
        return reply if reply is not None and reply.reply_id == reply_id else None

    def is_protected(self, phrase: str) -> bool:
        """Returns whether the phrase of this name is said to its end, whatever the caller says meanwhile."""
        return phrase in self.state.rules.phrases.protected

    @property
    def may_be_interrupted(self) -> bool:
        """True if the caller's speech may stop the live reply."""
        reply = self.spoken()
        return self.state.rules.turns.interruptible and (reply is None or not reply.protected)

    def spoken(self) -> Reply | None:
        """The live reply, if it is not speculative."""
        reply = self.state.reply
        return None if reply is None or reply.assumed_text else reply

    def speculative(self) -> Reply | None:
        """The live reply, if it is speculative."""
        reply = self.state.reply
        return reply if reply is not None and reply.assumed_text else None
