"""A filler gives way to the answer. It stops at the end of the current word, or before its first word."""

from __future__ import annotations

from msgspec.structs import replace

from voiceagent.conversation import actions as act
from voiceagent.conversation.step import Step

CUT_MARGIN_MS = 60.0
"""Audio this far beyond what was sent still counts as begun, because it may be on its way."""


def cut_filler(step: Step, clause: int) -> None:
    """The clause after a filler can be heard. Cut the filler after the word that is being said."""
    reply = step.state.reply
    before = reply.clauses[clause - 1] if reply is not None and clause > 0 else None
    if reply is None or before is None or not before.filler or before.over or before.cut:
        return
    heard_ms = before.played_ms + CUT_MARGIN_MS if before.played_ms else 0.0
    words = tuple(word for word in before.words if word.start_ms < heard_ms)
    end_ms = words[-1].end_ms if words else 0.0
    if before.ready and end_ms >= before.words[-1].end_ms:
        return
    kept = replace(before, text=" ".join(word.text for word in words), words=words, duration_ms=end_ms, ready=True, cut=True)
    step.put(reply=reply.with_clause(clause - 1, kept))
    step.do(act.EndClauseAt(reply.reply_id, clause - 1, end_ms))
