"""The record of a call: which it was, how it ended, how long its turns took, which tools ran. It holds no word that was said."""

from __future__ import annotations

import msgspec

LOST_AFTER_S = 90.0
"""A call that its server has not marked as running for so long went down with it."""
MAX_NOTED = 1_000
"""The most tools, failures and times that a record holds; later ones stand in the call's events alone."""
LOST = "lost"
"""The outcome of a call whose server went down."""


class RecordedTool(msgspec.Struct, frozen=True):
    """A tool that was called."""

    name: str
    ok: bool
    took_ms: float


class CallSummary(msgspec.Struct):
    """The counts and times of a record."""

    turns: int = 0
    """The caller's turns for which a reply was begun."""
    tools: list[RecordedTool] = []
    failures: list[str] = []
    """Codes of what failed."""
    voice_to_voice_ms: list[float] = []
    """The caller's wait for each reply that was heard, in order."""
    barge_in_stop_ms: list[float] = []
    length_ms: float = 0.0
    """On the call's clock, up to its last event."""
    events: int = 0
    """The number of the last event."""
    keeps: str = ""
    """The level of what was kept: `records.keep` at that time."""


class CallRecord(msgspec.Struct, frozen=True):
    """One call."""

    call_id: str
    leg: str
    """The kind of leg that it came by."""
    agent: str
    profile: str
    started: float
    """In Unix seconds."""
    seen: float
    """The last time at which its server had it."""
    ended: float | None = None
    """None while it goes on, and if its server went down."""
    reason: str = ""
    """The reason of its end, a slug."""
    recording: str = ""
    """The file of its recording."""
    summary: CallSummary = msgspec.field(default_factory=CallSummary)

    def goes_on(self, now_s: float) -> bool:
        """True while a server carries the call."""
        return self.ended is None and now_s - self.seen < LOST_AFTER_S

    def outcome(self, now_s: float) -> str:
        """The reason of its end; empty while it goes on."""
        return "" if self.goes_on(now_s) else self.reason or LOST
