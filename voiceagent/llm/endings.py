"""Signs by which a language model shows that words are a whole turn: an end-of-sentence mark (of any script), a new line, or the
control token that ends a turn in its template. The probability of these together is the probability that the words are
complete."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from voiceagent.llm.chat.prompt import ChatPrompt

SENTENCE_FINAL = frozenset(
    "!.?\u0589\u061d\u061e\u061f\u06d4\u0700\u0701\u0702\u07f9\u0837\u0839\u083d\u083e\u0964\u0965\u104a\u104b\u1362\u1367\u1368"
    "\u166e\u1735\u1736\u17d4\u17d5\u1803\u1809\u1944\u1945\u1aa8\u1aa9\u1aaa\u1aab\u1b5a\u1b5b\u1b5e\u1b5f\u1c3b\u1c3c\u1c7e\u1c7f"
    "\u203c\u203d\u2047\u2048\u2049\u2e2e\u2e3c\u3002\ua4ff\ua60e\ua60f\ua6f3\ua6f7\ua876\ua877\ua8ce\ua8cf\ua92f\ua9c8\ua9c9\uaa5d"
    "\uaa5e\uaa5f\uaaf0\uaaf1\uabeb\ufe52\ufe56\ufe57\uff01\uff0e\uff1f\uff61\u2026"
)
"""Unicode's property Sentence_Terminal (PropList.txt, Basic Multilingual Plane), and the ellipsis."""
SPREAD_TOKENS = 20
"""The number of likeliest tokens to ask for, from servers that give only these."""


def ends_turn(text: str) -> bool:
    """True if a token with this text, other than a control token, ends a sentence or begins a new line. ".5" and ".com" do
    not."""
    bare = text.strip()
    if not bare:
        return "\n" in text
    return bare[0] in SENTENCE_FINAL and not bare[1:2].isalnum()


def ending_ids(prompt: ChatPrompt, stop_ids: Iterable[int]) -> NDArray[np.int64]:
    """The ids of the model's tokens that end a turn, sorted."""
    tokens = prompt.tokenizer
    texts: Sequence[str] = tokens.decode_batch([[token] for token in range(tokens.get_vocab_size())], skip_special_tokens=False)
    ids = {token for token, text in enumerate(texts) if ends_turn(text)} | set(stop_ids) | set(prompt.turn_end_ids)
    return np.array(sorted(ids), np.int64)


def ending_share(logits: NDArray[np.float32], ids: NDArray[np.int64]) -> float:
    """The probability of these ids. `logits` have the shape (vocabulary,)."""
    weights = np.exp(logits - logits.max())
    return float(weights[ids].sum() / weights.sum())


def told_share(told: Iterable[tuple[str, float]]) -> float:
    """The probability of the endings among a server's likeliest tokens, each with its log-probability. A token in brackets or
    without text counts as a control token."""
    return min(1.0, sum(math.exp(log_probability) for text, log_probability in told if ends_turn(text) or _is_control(text)))


def _is_control(text: str) -> bool:
    return not text or (len(text) > 2 and (text[0], text[-1]) in (("<", ">"), ("[", "]"), ("\uff5c", "\uff5c")))
