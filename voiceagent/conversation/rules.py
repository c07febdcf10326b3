"""The rules of the turn engine in a call: the operator's settings and the client's, in parts, and what a client wishes of one
reply. Event logs hold them, and an unknown name in a log is refused."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

from msgspec import Struct

from voiceagent.conversation.history import Message
from voiceagent.turn_taking.endpointing import EndpointModel
from voiceagent.turn_taking.overlap import EAGER, Manners
from voiceagent.turn_taking.patience import ValueShape
from voiceagent.turn_taking.spoken_language import FIRST_LANGUAGE

SLOW_MS = 150.0
"""A tool that takes at least this long is worth predicting while the caller still speaks."""


class Degradation(StrEnum):
    """A thing that calls go without, or do sooner, while a stage uses up its latency budget too fast."""

    FEWER_PARTIALS = "fewer_partials"
    """Partial decodes are a third as many."""
    SHORT_REPLIES = "short_replies"
    """A reply is said to the sentence in which it reaches `SHORT_WORDS`. The prompt stays as it is, and so does its cache."""
    EARLY_FILLERS = "early_fillers"
    """Fillers are said after `EARLY_SHARE` of their usual wait."""


SHORT_WORDS = 20
EARLY_SHARE = 0.4


class Phrases(Struct, frozen=True, forbid_unknown_fields=True):
    """Phrases that the agent says on its own. None: the phrase of the caller's language."""

    greeting: str = ""
    check_in: str | None = None
    farewell: str | None = None
    apology: str | None = None
    not_understood: str | None = None
    stopped: str | None = None
    offer_person: str | None = None
    transfer: str | None = None
    transfer_failed: str | None = None
    handoff: str = ""
    resumed: str | None = None
    fillers: tuple[str, ...] | None = ()
    """One of them bridges the wait for a tool."""
    protected: tuple[str, ...] = ()
    """The fields whose phrases are said to their end, whatever the caller says meanwhile."""


class Limits(Struct, frozen=True, forbid_unknown_fields=True):
    """Time limits in ms (0: none), and limits on how often something may happen."""

    silence_timeout_ms: float = 30_000.0
    max_call_ms: float = 3_600_000.0
    reply_timeout_ms: float = 15_000.0
    """A reply of which nothing came for this long is given up. Thoughts count as something."""
    thinking_timeout_ms: float = 60_000.0
    """A language model that thinks for longer is given up."""
    reply_filler_after_ms: float = 2000.0
    """A filler is said when the language model has given nothing to say for this long."""
    final_timeout_ms: float = 5_000.0
    overlap_ms: float = 1500.0
    """Speech over the agent that nobody understands takes the floor after this time."""
    filler_after_ms: float = 400.0
    """A filler is said when a tool has no result this long after its start; 0: never."""
    max_tool_rounds: int = 4
    resume_timeout_ms: float = 60_000.0
    """A call whose connection is lost waits for the caller this long; 0: it ends at once."""
    handoff_summary_ms: float = 2500.0
    """An agent that takes over waits this long for a summary, from the step on in which it does."""


TRANSFER, MODEL = "transfer", "model"
"""Ways to give a value up: the caller is transferred to a person, or the language model goes on."""


class CollectRule(Struct, frozen=True, forbid_unknown_fields=True):
    """A value that the turn engine collects itself."""

    kind: str
    """A name that `values.kind.kind` knows."""
    ask: str = ""
    """The question for it. Empty: the one of the caller's language."""
    options: Mapping[str, object] = {}
    """The kind's own."""
    confirm: Literal["always", "doubtful", "never"] = "doubtful"
    """It is read back always, where it may have been heard wrong, or never."""
    tries: int = 3
    """Number of questions that may fail before it is given up."""
    give_up: str = MODEL
    """TRANSFER, MODEL, or the step to go to."""


class ToolRule(Struct, frozen=True, forbid_unknown_fields=True):
    """The turn engine's rules for a tool."""

    effect: Literal["none", "idempotent", "external"] = "external"
    """The lasting effect of a run. Only a tool with the effect `none` may run before its turn is committed."""
    fillers: tuple[str, ...] = ()
    """Phrases to say while the tool runs. Empty: `Phrases.fillers`."""
    confirm: str = ""
    """The question that the caller must answer with yes before the tool runs. `{name}` stands for the argument of that name."""
    values: tuple[ValueShape, ...] = ()
    """The shapes of its arguments, as far as they are known."""
    typical_ms: float = 0.0
    """Typical duration of its runs so far; 0: unknown."""
    collect: Mapping[str, CollectRule] = {}
    """The parameters that the turn engine collects before it runs, by name."""
    ends_call: bool = False
    """True for the tool with which the agent ends the call after its reply. The turn engine runs it."""

    @property
    def worth_predicting(self) -> bool:
        """True when the tool may run speculatively and is slow enough to be worth it."""
        return self.typical_ms >= SLOW_MS and self.effect == "none"


class EndpointingRules(Struct, frozen=True, forbid_unknown_fields=True):
    """Limits and judges of the pause that ends an utterance."""

    model: EndpointModel | None = None
    """Predicts the end of an utterance from words and voice. None: a pause of `max_delay_ms` is the end."""
    min_delay_ms: float = 200.0
    max_delay_ms: float = 2100.0
    interruption_delay_ms: float = 400.0
    """The shortest delay after an utterance that interrupted the agent, if `min_delay_ms` is shorter."""
    judges_by_sound: tuple[str, ...] = ()
    """The names of the turn judges that are asked when a pause begins."""
    judges_by_words: tuple[str, ...] = ()
    """The names of those that are asked once its words are known."""
    judges_wait_ms: float = 350.0
    """A pause before which the turn does not end while a judge has not answered. Judges take about 60 ms on idle cores."""

    @property
    def judges(self) -> tuple[str, ...]:
        """The names of all turn judges."""
        return self.judges_by_sound + self.judges_by_words


class SpeculationRules(Struct, frozen=True, forbid_unknown_fields=True):
    """Limits on work before the turn is committed."""

    max_replies: int = 3
    """Most speculative replies per turn; 0: none."""
    max_tokens: int = 300
    """Most tokens that the discarded replies of a turn may cost. Beyond that no new one begins."""
    max_tool_calls: int = 4
    """Most speculative tool calls per turn; 0: none."""
    busy_load: float = 0.8
    """From this load of the engines on, no speculative work begins."""


class MemoryRules(Struct, frozen=True, forbid_unknown_fields=True):
    """Limits on what a prompt holds of the documents and of the conversation."""

    max_chunks: int = 6
    """Most chunks of documents per turn."""
    max_chunk_characters: int = 4000
    """Most characters of these chunks."""
    long_history_tokens: int = 6000
    """An estimate in tokens. The older half of a longer history is left out or summarised. 0: never."""
    summarise: bool = False
    kept_share: float = 0.5
    """The share of a long history that stays."""


class TurnRules(Struct, frozen=True, forbid_unknown_fields=True):
    """The client's rules for the caller's turns."""

    answers: bool = True
    """True if a reply follows a turn by itself. If not, the client asks for each reply."""
    interruptible: bool = True
    """True if the caller's speech may stop the agent's."""
    listens_only: bool = False
    """True if the agent never speaks by itself, not even because of a long silence."""
    idle_ms: float = 0.0
    """The silence after a reply after which the agent asks whether the caller is still there. 0: the silence time."""


ANY_TOOL = "*"
"""In place of a tool's name: any tool."""


class ReplyRules(Struct, frozen=True, forbid_unknown_fields=True):
    """The client's rules for replies."""

    text_only: bool = False
    """True if a reply is written and not spoken."""
    max_tokens: int = 0
    """The most tokens of a generation; 0: no limit."""
    uses_tools: bool = True
    """False if the language model is offered no tools."""
    must_call: str = ""
    """The tool that a reply calls first; ANY_TOOL is any of them. Empty: the language model decides, as it does after the call's
    result."""
    one_call: bool = False
    """True if a generation ends with its first tool call."""
    client_tools: tuple[str, ...] | None = None
    """The names of the client's tools that the language model is offered. None: those of the session."""


Constant = str | int | float | bool


class TransitionRule(Struct, frozen=True, forbid_unknown_fields=True):
    """A way from one step to another."""

    to: str
    when: Mapping[str, Constant] = {}
    """Known values that must be these."""
    after: str = ""
    """The tool that must have succeeded. Empty: all values of the step must be known."""
    result: Mapping[str, Constant] = {}
    """Fields of its result that must be these."""


class StepRule(Struct, frozen=True, forbid_unknown_fields=True):
    """A step of an agent that is a graph."""

    instructions: str = ""
    """Added to the agent's own."""
    values: tuple[str, ...] = ()
    """The names of the values that it collects."""
    next: tuple[TransitionRule, ...] = ()
    collect: Mapping[str, CollectRule] = {}
    """The values that the turn engine collects itself, in this order."""
    handoff: str = ""
    """The agent that takes over here, by its name in `Rules.agents`."""
    summary: bool = True
    """True if that agent reads a summary of what was said."""
    passes: tuple[str, ...] | None = None
    """The names of the values that it gets. None: all."""
    for_person: bool = False
    """True if a caller who asks for a person goes there."""
    everywhere: bool = False
    """True if the caller may ask for it in any step."""
    final: bool = False
    """True if the language model leads nowhere from it."""


class Rules(Struct, frozen=True, forbid_unknown_fields=True):
    """All rules of a call."""

    language: str = ""
    """The code of the caller's language (`turn_taking.languages`), or AUTO. In an unknown language only the voice and the judges
    decide."""
    first_language: str = FIRST_LANGUAGE
    """The code with which a call begins whose language is AUTO."""
    instructions: str = ""
    phrases: Phrases = Phrases()
    prompts: Mapping[str, str] = {}
    """Texts for the language model besides the instructions, by the fields of `Prompts`. The texts of the caller's language
    stand in for missing ones."""
    limits: Limits = Limits()
    steps: Mapping[str, StepRule] = {}
    """The agent's steps by name; the first one is the beginning. Empty: it has none."""
    agents: Mapping[str, Rules] = {}
    """The rules of the agents that steps hand the call off to, by the names that the steps have for them."""
    tools: Mapping[str, ToolRule] = {}
    """The tools' rules, by name. A tool without a rule counts as one with external effect."""
    endpointing: EndpointingRules = EndpointingRules()
    speculation: SpeculationRules = SpeculationRules()
    memory: MemoryRules = MemoryRules()
    turns: TurnRules = TurnRules()
    replies: ReplyRules = ReplyRules()
    transfers: bool = False
    """True if a caller who asks for a person is transferred to one."""
    manners: Manners = EAGER
    """The agent's use of its voice while the caller speaks over it."""


class ReplyWish(Struct, frozen=True):
    """A client's wish for a reply: what differs from a reply that nobody asked for."""

    key: str = ""
    """The client's name for it."""
    instructions: str | None = None
    """The agent's instructions for this reply. None: its own."""
    rules: ReplyRules | None = None
    """None: the call's."""
    is_detached: bool = False
    """True if the reply is no part of the conversation."""
    input: tuple[Message, ...] | None = None
    """The messages that it answers. None: the conversation."""
