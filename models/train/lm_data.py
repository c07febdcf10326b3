"""Turns conversations into training batches: token ids, and which of them the model must learn to write.

Three kinds of rows: pure copy and recall (it teaches attention to copy before it must), single turns, dialogues. Rows
of similar length share a batch of about `tokens` tokens, so little of it is padding.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from tokenizers import Tokenizer

from models.train.lm_dialogues import Message, held_out_conversation, train_conversation
from models.train.lm_tokenizer import render

Row = tuple[list[int], list[bool]]


@dataclass(frozen=True, slots=True)
class Batch:
    """`ids` int64 [rows, length], zero-padded on the right; `learned` bool, true where the id is to be predicted."""

    ids: torch.Tensor
    learned: torch.Tensor


@dataclass(frozen=True, slots=True)
class Mixture:
    """Shares of the row kinds, by how much of the training is done (`progress` 0–1)."""

    progress: float
    warm_up: float = 0.08

    @property
    def copying(self) -> float:
        """Share of pure copy rows."""
        if self.progress < self.warm_up:
            return 0.4
        return 0.15 if self.progress < 0.3 else 0.02

    def turns(self, rng: random.Random) -> int:
        """How many turns the next conversation has."""
        weights = [75, 17, 5, 3] if self.progress < 0.35 else [45, 25, 17, 13]
        return rng.choices([1, 2, 3, 4], weights)[0]

    @property
    def listing_tools(self) -> float:
        """Share of conversations with the tools listed in the system prompt."""
        return 0.1 if self.progress < 0.35 else 0.3


class Rows:
    """An endless, seeded source of rows for one tokenizer."""

    def __init__(self, tokenizer: Tokenizer, seed: int) -> None:
        self._tokenizer = tokenizer
        self._rng = random.Random(seed)
        self._cache: dict[str, list[int]] = {}
        self._words = [i for t, i in tokenizer.get_vocab().items() if t.lstrip("Ġ")[:1].isalnum()]

    def _encode(self, text: str) -> list[int]:
        known = self._cache.get(text)
        if known is None:
            known = self._tokenizer.encode(text, add_special_tokens=False).ids
            if len(self._cache) < 50_000:
                self._cache[text] = known
        return known

    def conversation(self, messages: Sequence[Message], with_tools: bool) -> Row:
        """`messages` as a row; the assistant's words are learned."""
        ids: list[int] = []
        learned: list[bool] = []
        for text, is_reply in render(messages, with_tools):
            piece = self._encode(text)
            ids += piece
            learned += [is_reply] * len(piece)
        return ids, learned

    def copying(self) -> Row:
        """Random words, then the same again; or pairs of words, then some pairs again in another order."""
        rng = self._rng
        if rng.random() < 0.5:
            row = rng.choices(self._words, k=rng.randint(3, 28))
            start = rng.randrange(len(row))
            again = row[start:] if rng.random() < 0.5 else row
            ids = [1, *row, 2, *again]
            unguessable = 1 if again is not row else 0
            learned = [False] * (len(row) + 2 + unguessable) + [True] * (len(again) - unguessable)
            return ids, learned
        pairs = [rng.sample(self._words, rng.choice([2, 2, 3])) for _ in range(rng.randint(2, 10))]
        asked = rng.sample(pairs, rng.randint(1, len(pairs)))
        ids = [1, *(i for pair in pairs for i in pair), 2, *(i for pair in asked for i in pair)]
        learned = [False] * (2 + sum(map(len, pairs))) + [n > 0 for pair in asked for n in range(len(pair))]
        return ids, learned

    def draw(self, mixture: Mixture) -> Row:
        """One training row."""
        if self._rng.random() < mixture.copying:
            return self.copying()
        messages = train_conversation(self._rng, mixture.turns(self._rng))
        return self.conversation(messages, self._rng.random() < mixture.listing_tools)

    def batches(self, mixture: Mixture, tokens: int, count: int) -> Iterator[Batch]:
        """`count` batches of about `tokens` tokens, of rows sorted by length and shuffled by batch."""
        drawn: list[Row] = []
        total = 0
        while total < tokens * count:
            drawn.append(self.draw(mixture))
            total += len(drawn[-1][0])
        drawn.sort(key=lambda row: len(row[0]))
        grouped: list[list[Row]] = [[]]
        size = 0
        for row in drawn:
            if size + len(row[0]) > tokens and grouped[-1]:
                grouped.append([])
                size = 0
            grouped[-1].append(row)
            size += len(row[0])
        self._rng.shuffle(grouped)
        yield from (collate(rows) for rows in grouped)


def collate(rows: Sequence[Row]) -> Batch:
    """Rows as one padded batch."""
    length = max(len(ids) for ids, _ in rows)
    ids = torch.zeros(len(rows), length, dtype=torch.long)
    learned = torch.zeros(len(rows), length, dtype=torch.bool)
    for index, (row, mask) in enumerate(rows):
        ids[index, : len(row)] = torch.tensor(row)
        learned[index, : len(row)] = torch.tensor(mask)
    return Batch(ids, learned)


@dataclass(frozen=True, slots=True)
class Probe:
    """One held-out tool call: the row that ends with it, where the call starts, and the tool's name."""

    row: Row
    start: int
    tool: str


def probes(rows: Rows, turns: Sequence[int], seed: int, with_tools: bool) -> list[Probe]:
    """One held-out conversation of each length in `turns`, cut after its last tool call."""
    rng = random.Random(seed)
    found = []
    for count in turns:
        messages = held_out_conversation(rng, count)
        at = max(i for i, m in enumerate(messages) if "tool_calls" in m)
        before, _ = rows.conversation(messages[:at], with_tools)
        ids, learned = rows.conversation(messages[: at + 1], with_tools)
        start = next(i for i in range(len(before), len(ids)) if learned[i])
        tool = messages[at]["tool_calls"][0]["function"]["name"]
        found.append(Probe((ids[:-1], learned[:-1]), start, tool))
    return found
