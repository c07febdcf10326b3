"""A step of a model whose graph tells the logits of the last few tokens, not only of the last: what is drafted to follow is read
along with what is known to, and taken as far as the model would have chosen it. The tokens are those that single steps would
make: of several rows onnxruntime computes each alike, however many there are. A single row it multiplies in another order, so
every step reads at least two."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from voiceagent.llm.embedded_jobs import KvCache
from voiceagent.llm.genai_types import Generator
from voiceagent.llm.recent_logits import RECENT, RECENT_TOKENS
from voiceagent.llm.tool_constraint import ToolConstraint

SHORTEST_STEP = 2
LONGEST_DRAFT = RECENT_TOKENS - 1


def tells_recent(generator: Generator) -> bool:
    """Whether the model's graph has the output; `generator` is one that is used for nothing else."""
    try:
        generator.append_tokens([0] * (RECENT_TOKENS))
        return bool(generator.get_output(RECENT).shape[1] == RECENT_TOKENS)
    except RuntimeError:  # onnxruntime-genai: there is no such output
        return False


class GreedySteps:
    """Takes the likeliest token, in every place."""

    def __init__(self, stop_ids: frozenset[int]) -> None:
        self._stop_ids = stop_ids
        self._filler = min(stop_ids)

    def read(self, cache: KvCache, tokens: list[int], draft: list[int]) -> None:
        """Read what is known to come next, and behind it what may."""
        if cache.draft:
            cache.generator.rewind_to(cache.read)
        cache.draft = []
        draft = draft or [self._filler] * (SHORTEST_STEP - len(tokens))
        cache.generator.append_tokens([*tokens, *draft])
        cache.read += len(tokens)
        cache.draft = draft

    def take(self, cache: KvCache, constraint: ToolConstraint | None) -> list[int]:
        """What follows the tokens that are read: all of the draft that is right, the token behind it, and of a call what must
        follow. They become ids of the cache; those that were not in the draft are still to be read."""
        rows = cache.generator.get_output(RECENT)[0][-1 - len(cache.draft) :]
        taken: list[int] = []
        right = 0
        while right == len(taken) and not (taken and taken[-1] in self._stop_ids):
            more = _next(rows[right], constraint)
            taken += more
            while right < min(len(taken), len(cache.draft)) and cache.draft[right] == taken[right]:
                right += 1
        cache.ids += taken
        cache.read += right
        cache.draft = cache.draft[right:]
        return taken


def _next(logits: NDArray[np.float32], constraint: ToolConstraint | None) -> list[int]:
    """What must come next, else the likeliest token; `logits` are those behind what is taken so far."""
    if constraint is None:
        return [int(logits.argmax())]
    if constraint.inside:
        return constraint.next(logits[None, None])
    token = int(logits.argmax())
    constraint.took(token)
    return [token, *constraint.forced()]
