"""Rows of tokens to learn from: an agent's prompt once, and behind it several conversations with it, none of which sees another:
a tree, packed into one row."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from tokenizers import Tokenizer

from models.train.adapter_prompt import message_text, prompt_text
from models.train.tools.conversations import example
from models.train.tools.talk import Message

CONVERSATIONS = 6
HEARD_SHARE = 0.7
"""Of the rows, where there are some."""
LONGEST = 900
"""Tokens of a row: conversations that do not fit are left out."""
UNLEARNED = -100
"""PyTorch's label for what is not to be learned."""
Encode = Callable[[str], list[int]]


@dataclass(frozen=True)
class Row:
    """Tokens with their places in their own conversation; a conversation's number, 0 for the prompt; what is to be learned."""

    ids: list[int]
    positions: list[int]
    numbers: list[int]
    labels: list[int]

    def mask(self) -> torch.Tensor:
        """What each token sees: float32 [1, 1, tokens, tokens], 0 or very little."""
        numbers = torch.tensor(self.numbers)
        own = (numbers[None, :] == 0) | (numbers[None, :] == numbers[:, None])
        return torch.zeros(own.shape).masked_fill_(~torch.tril(own), -1e9)[None, None]

    def wanted(self) -> torch.Tensor:
        """After each token but the last the one that is to come, or UNLEARNED: int64 [tokens - 1]."""
        labels, numbers = torch.tensor(self.labels)[1:].clone(), torch.tensor(self.numbers)
        labels[numbers[1:] != numbers[:-1]] = UNLEARNED
        return labels


class Rows:
    """An endless supply: grown from templates, and of those that `adapter_hear` wrote down."""

    def __init__(self, tokenizer: Tokenizer, seed: int, longest: int = LONGEST, heard: Sequence[str] = ()) -> None:
        """`heard`: JSON lines."""
        self._encode: Encode = lambda text: tokenizer.encode(text, add_special_tokens=False).ids
        self._rng = random.Random(seed)
        self._longest, self._heard = longest, heard

    def draw(self) -> Row:
        """A row with at least two conversations in it."""
        while True:
            row = packed(*self._example(), self._encode, self._longest)
            if row.numbers[-1] >= 2:
                return row

    def _example(self) -> tuple[str, list[list[Message]]]:
        if self._heard and self._rng.random() < HEARD_SHARE:
            kept = json.loads(self._rng.choice(self._heard))
            self._rng.shuffle(kept["conversations"])
            return kept["prompt"], kept["conversations"]
        agent, conversations = example(self._rng, CONVERSATIONS)
        return prompt_text(agent), conversations


def packed(text: str, conversations: Sequence[Sequence[Message]], encode: Encode, longest: int) -> Row:
    """One row of an agent's prompt and as many of the conversations as fit."""
    prompt = encode(text)
    row = Row(list(prompt), list(range(len(prompt))), [0] * len(prompt), [UNLEARNED] * len(prompt))
    for messages in conversations:
        ids, learned = _branch(messages, encode)
        if len(row.ids) + len(ids) <= longest:
            number = row.numbers[-1] + 1 if row.numbers else 1
            row.positions.extend(range(len(prompt), len(prompt) + len(ids)))
            row.numbers.extend([number] * len(ids))
            row.labels.extend(token if own else UNLEARNED for token, own in zip(ids, learned, strict=True))
            row.ids.extend(ids)
    return row


def _branch(messages: Sequence[Message], encode: Encode) -> tuple[list[int], list[bool]]:
    """Its tokens, and which are to be learned: the agent's, but not those of a greeting, which it never writes itself."""
    ids: list[int] = []
    learned: list[bool] = []
    for number, message in enumerate(messages):
        opening, said = (encode(text) for text in message_text(message))
        behind = encode("\n")
        ids += opening + said + behind
        own = message["role"] == "assistant" and number > 0
        learned += [False] * len(opening) + [own] * len(said) + [False] * len(behind)
    return ids, learned
