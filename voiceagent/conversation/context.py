"""What the documents say about a turn. New chunks are only added behind the earlier ones. So every prompt of the call begins with
the one before it, and a prefix cache need not read that part again."""

from __future__ import annotations

from collections.abc import Iterable

from voiceagent.conversation.history import Chunk
from voiceagent.conversation.step import Step


def take_in(step: Step, chunks: Iterable[Chunk]) -> bool:
    """Add the new chunks to the turn's context, as far as there is room. Chunks that an earlier turn put into the history are not
    repeated. Returns whether any chunk was added."""
    rules, before = step.state.rules.memory, step.state.caller_turn.context
    told = {chunk for message in step.state.memory.history for chunk in message.context}
    kept = list(before)
    left = rules.max_chunk_characters - sum(len(chunk.text) for chunk in kept)
    for chunk in chunks:
        if len(kept) < rules.max_chunks and len(chunk.text) <= left and chunk not in told and chunk not in kept:
            kept.append(chunk)
            left -= len(chunk.text)
    if len(kept) == len(before):
        return False
    step.put_caller_turn(context=tuple(kept))
    return True
