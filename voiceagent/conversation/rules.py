"""The rules that the turn engine goes by in a call: what the operator set, in parts. Event logs hold them, so a name that is not
here is refused there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from voiceagent.turn_taking.endpointing import EndpointModel
from voiceagent.turn_taking.manners import EAGER, Manners
from voiceagent.turn_taking.patience import Shape

SLOW_MS = 150.0
"""A tool that takes longer is worth predicting while the caller still speaks."""


class Phrases(Struct, frozen=True, forbid_unknown_fields=True):
    """What the agent says by itself; None: what its language has for that."""

    greeting: str = ""
    check_in: str | None = None
    farewell: str | None = None
    apology: str | None = None
    fillers: tuple[str, ...] | None = ()
    """Each may bridge the wait for a tool."""


class Limits(Struct, frozen=True, forbid_unknown_fields=True):
    """How long things may take, in ms (0: for ever), and how often they may happen."""

    silence_timeout_ms: float = 30_000.0
    max_call_ms: float = 3_600_000.0
    reply_timeout_ms: float = 15_000.0
    final_timeout_ms: float = 5_000.0
    overlap_ms: float = 1500.0
    """Speech over the agent's that is not understood for this long takes the floor."""
    filler_after_ms: float = 400.0
    """A tool that has no result for so long after it was started is bridged with a filler; 0: never."""
    max_tool_rounds: int = 4


class ToolRule(Struct, frozen=True, forbid_unknown_fields=True):
    """What the turn engine must know of a tool."""

    effect: Literal["none", "idempotent", "external"] = "external"
    """What a run leaves behind. Only what leaves nothing may run before its turn is committed."""
    fillers: tuple[str, ...] = ()
    """What may be said while it runs; empty: `Phrases.fillers`."""
    confirm: str = ""
    """What the caller must say yes to before it runs; `{name}` stands for the argument of that name."""
    values: tuple[Shape, ...] = ()
    """What its arguments look like, as far as that is known."""
    typical_ms: float = 0.0
    """How long its runs took so far; 0: none is known."""

    @property
    def worth_predicting(self) -> bool:
        """Whether it may run speculatively, and that would save anything."""
        return self.typical_ms >= SLOW_MS and self.effect == "none"


class EndpointingRules(Struct, frozen=True, forbid_unknown_fields=True):
    """When a pause is the end of the utterance."""

    model: EndpointModel | None = None
    """Predicts it from words and voice; None: every pause of `max_delay_ms` is."""
    min_delay_ms: float = 200.0
    max_delay_ms: float = 2100.0
    judges: bool = False
    """Whether there are turn judges that go by words."""


class SpeculationRules(Struct, frozen=True, forbid_unknown_fields=True):
    """What a turn may cost before it is committed."""

    max_replies: int = 3
    """Speculative replies; 0: none."""
    max_tokens: int = 300
    """Pieces that those may cost; beyond that none is begun."""
    max_tool_calls: int = 4
    """Tools that may run; 0: none."""
    busy_load: float = 0.8
    """From this load on nothing is begun that may be thrown away."""


class MemoryRules(Struct, frozen=True, forbid_unknown_fields=True):
    """How much of documents and of the conversation a prompt takes in."""

    max_chunks: int = 6
    """Pieces of documents a turn, and …"""
    max_chunk_characters: int = 4000
    """… their characters."""
    long_history_tokens: int = 6000
    """By estimate; of a longer history the older half is left out or summed up. 0: never."""
    summarise: bool = False


class Rules(Struct, frozen=True, forbid_unknown_fields=True):
    """What the operator set."""

    language: str = ""
    """The caller's, by its code (`turn_taking.languages`), or AUTO; of one that is not known the voice and the judges decide."""
    instructions: str = ""
    phrases: Phrases = Phrases()
    prompts: Mapping[str, str] = {}
    """What the language model is told beside, by the fields of `Prompts`; what is not there: what its language has."""
    limits: Limits = Limits()
    tools: Mapping[str, ToolRule] = {}
    """By name; of a tool that is not here the worst is assumed."""
    endpointing: EndpointingRules = EndpointingRules()
    speculation: SpeculationRules = SpeculationRules()
    memory: MemoryRules = MemoryRules()
    manners: Manners = EAGER
    """What the agent's voice does while the caller speaks over it."""
