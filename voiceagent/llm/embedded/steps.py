"""A step of a model whose graph gives the logits of the last few tokens, not only of the last one. The known tokens and a draft
are read together. The draft is kept as far as the model would have chosen its tokens. The result is the same as with single
steps, because onnxruntime computes each of several rows alike. It computes a single row in another order, so every step reads at
least two tokens."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from voiceagent.llm.chat.tool_constraint import ToolConstraint
from voiceagent.llm.embedded.genai import Generator
from voiceagent.llm.embedded.jobs import KvCache
from voiceagent.llm.embedded.recent_logits import RECENT, RECENT_TOKENS

SHORTEST_STEP = 2
LONGEST_DRAFT = RECENT_TOKENS - 1


def tells_recent(generator: Generator) -> bool:
    """True if the model's graph has the output. `generator` must not be used for anything else."""
    try:
        generator.append_tokens([0] * (RECENT_TOKENS))
        return bool(generator.get_output(RECENT).shape[1] == RECENT_TOKENS)
    except RuntimeError:  # onnxruntime-genai: there is no such output
        return False


class GreedySteps:
    """Takes the likeliest token at every place."""

    def __init__(self, stop_ids: frozenset[int]) -> None:
        self._stop_ids = stop_ids
        self._filler = min(stop_ids)

    def read(self, cache: KvCache, tokens: list[int], draft: list[int]) -> None:
        """Read the known next tokens, then the draft."""
        if cache.draft:
            cache.generator.rewind_to(cache.read)
        cache.draft = []
        draft = draft or [self._filler] * (SHORTEST_STEP - len(tokens))
        cache.generator.append_tokens([*tokens, *draft])
        cache.read += len(tokens)
        cache.draft = draft

    def take(self, cache: KvCache, constraint: ToolConstraint | None) -> list[int]:
        """The tokens that follow those that are read: the right part of the draft, the token after it, and tokens that a call's
        grammar forces. They become ids of the cache. Those that were not in the draft are not read yet."""
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
    """The forced tokens, or the likeliest token. `logits` are those after the tokens taken so far."""
    if constraint is None:
        return [int(logits.argmax())]
    if constraint.inside:
        return constraint.next(logits[None, None])
    token = int(logits.argmax())
    constraint.took(token)
    return [token, *constraint.forced()]
