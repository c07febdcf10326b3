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
from models.train.adapter_spoken import SpokenTurns, labelled
from models.train.tools.conversations import example
from models.train.tools.talk import Message

CONVERSATIONS = 6
HEARD_SHARE = 0.7
"""Of the rows, where there are some."""
LONGEST = 900
"""Tokens of a row: conversations that do not fit are left out."""
AGENT_SHARE, SPOKEN_TOKENS = 0.25, 450
"""Of the rows of callers' turns those with an agent's prompt, and their tokens beside it."""
PLAIN_PROMPT = "<|im_start|>system\nYou are a friendly voice assistant. Answer in one or two short sentences.<|im_end|>\n"
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
    judged: list[int]
    """At each token whether the words before it end a turn (ENDS, GOES_ON of `adapter_spoken`) or nothing is known of it (0)."""

    @classmethod
    def of_prompt(cls, ids: Sequence[int]) -> Row:
        """With nothing behind the prompt yet."""
        none = [0] * len(ids)
        return cls(list(ids), list(range(len(ids))), none, [UNLEARNED] * len(ids), none.copy())

    def add(self, ids: Sequence[int], labels: Sequence[int], judged: Sequence[int]) -> None:
        """Put one more conversation behind the prompt."""
        prompt = self.numbers.count(0)
        self.numbers.extend([(self.numbers[-1] if self.numbers else 0) + 1] * len(ids))
        self.positions.extend(range(prompt, prompt + len(ids)))
        self.labels.extend(labels)
        self.judged.extend(judged)
        self.ids.extend(ids)

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

    def __init__(
        self, tokenizer: Tokenizer, seed: int, longest: int = LONGEST, heard: Sequence[str] = (), spoken_share: float = 0.0
    ) -> None:
        """`heard`: JSON lines. `spoken_share`: of the rows, those of callers' turns to judge."""
        self._encode: Encode = lambda text: tokenizer.encode(text, add_special_tokens=False).ids
        self._rng = random.Random(seed)
        self._longest, self._heard = longest, heard
        self._tokenizer, self._spoken_share = tokenizer, spoken_share
        self._turns = SpokenTurns(random.Random(seed), heard=heard)

    def draw(self) -> Row:
        """A row of callers' turns, or one with at least two conversations in it."""
        if self._rng.random() < self._spoken_share:
            text = prompt_text(example(self._rng, 1)[0]) if self._rng.random() < AGENT_SHARE else PLAIN_PROMPT
            return spoken(text, self._turns, self._tokenizer)
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
    row = Row.of_prompt(encode(text))
    for messages in conversations:
        ids, learned = _branch(messages, encode)
        if len(row.ids) + len(ids) <= longest:
            labels = [token if own else UNLEARNED for token, own in zip(ids, learned, strict=True)]
            row.add(ids, labels, [0] * len(ids))
    return row


def spoken(text: str, turns: SpokenTurns, tokenizer: Tokenizer) -> Row:
    """One row of a prompt and of as many callers' turns as fit behind it."""
    row = Row.of_prompt(tokenizer.encode(text, add_special_tokens=False).ids)
    longest = len(row.ids) + SPOKEN_TOKENS
    while True:
        ids, judged = labelled(tokenizer, turns.draw())
        if len(row.ids) + len(ids) > longest:
            return row
        row.add(ids, [UNLEARNED] * len(ids), judged)


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
