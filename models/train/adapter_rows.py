"""Rows of tokens to learn from: an agent's prompt once, and behind it several conversations with it, none of which sees another:
a tree, packed into one row."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import torch
from tokenizers import Tokenizer
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from bench.starter.transcript import transcript
from models.train.adapter_prompt import message_text, prompt_text
from models.train.adapter_spoken import SpokenTurns, labelled
from models.train.tools.built_in import ending, steps_example
from models.train.tools.conversations import example
from models.train.tools.demo import DEMO_TOOLS
from models.train.tools.hearing import Mishearing, enum_values, heard
from models.train.tools.played import PlayedAgent, played
from models.train.tools.renamed import renamed
from models.train.tools.talk import Message

CONVERSATIONS = 8
HEARD_SHARE, HEARD_ROWS = 0.3, 3000
"""Of the rows those that were spoken and heard, where there are so many lines of them: else in proportion, so that none comes
too often."""
PLAYED_SHARE, STEPS_SHARE = 0.35, 0.05
"""Of the rows those of agents written by hand, and those of agents in steps. The others are grown from templates."""
RENAMED_SHARE, ENDING_SHARE = 0.6, 0.12
"""Of the agents written by hand those with other names for their tools; of all those that may end the call."""
MISHEARD_SHARE, AS_WRITTEN_SHARE, UNMARKED_SHARE = 0.5, 0.3, 0.15
"""Of the rows those whose callers are misheard as others were; of the sentences those with their numbers as they are written, and
of misheard ones those in small letters."""
LONGEST = 1000
"""Tokens of a row: conversations that do not fit are left out."""
AGENT_SHARE, SPOKEN_TOKENS = 0.25, 450
"""Of the rows of callers' turns those with an agent's prompt, and their tokens beside it."""
PLAIN_PROMPT = "<|im_start|>system\nYou are a friendly voice assistant. Answer in one or two short sentences.<|im_end|>\n"
UNLEARNED = -100
"""PyTorch's label for what is not to be learned."""
DEMO_SCHEMAS = [made.schema for made in DEMO_TOOLS]
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


class Batch(NamedTuple):
    """Rows as int64 [rows, tokens], all padded to one length: a padding is of a conversation of its own, -1."""

    ids: torch.Tensor
    positions: torch.Tensor
    numbers: torch.Tensor
    wanted: torch.Tensor
    """After each token the one that is to come, or UNLEARNED."""
    judged: torch.Tensor
    """`Row.judged` of the token that is to come."""

    @classmethod
    def of(cls, rows: Sequence[Row], width: int = 0) -> Batch:
        """At least `width` tokens wide."""
        width = max(width, *(len(row.ids) for row in rows))

        def column(values: Sequence[list[int]], filler: int) -> torch.Tensor:
            return torch.tensor([one + [filler] * (width - len(one)) for one in values])

        numbers = column([row.numbers for row in rows], -1)
        labels = column([row.labels for row in rows], UNLEARNED).roll(-1, 1)
        labels[numbers.roll(-1, 1) != numbers] = UNLEARNED
        judged = column([row.judged for row in rows], 0).roll(-1, 1)
        judged[:, -1], labels[:, -1] = 0, UNLEARNED
        return cls(column([row.ids for row in rows], 0), column([row.positions for row in rows], 0), numbers, labels, judged)

    def to(self, device: str) -> Batch:
        """Elsewhere."""
        return Batch(*(one.to(device, non_blocking=True) for one in self))

    def mask(self, dtype: torch.dtype) -> torch.Tensor:
        """What each token sees: [rows, 1, tokens, tokens], 0 or very little."""
        own = (self.numbers[:, None, :] == 0) | (self.numbers[:, None, :] == self.numbers[:, :, None])
        return torch.zeros(own.shape, dtype=dtype, device=own.device).masked_fill_(~torch.tril(own), -1e9)[:, None]


class Rows:
    """An endless supply: grown from templates, and of those that `adapter_hear` wrote down."""

    def __init__(
        self, tokenizer: Tokenizer, seed: int, longest: int = LONGEST, heard: Sequence[str] = (), spoken_share: float = 0.0
    ) -> None:
        """`heard`: JSON lines. `spoken_share`: of the rows, those of callers' turns to judge."""
        self._encode: Encode = lambda text: tokenizer.encode(text, add_special_tokens=False).ids
        self._rng = random.Random(seed)
        self._longest, self._heard = longest, heard
        self._heard_share = HEARD_SHARE * min(1.0, len(heard) / HEARD_ROWS)
        self._tokenizer, self._spoken_share = tokenizer, spoken_share
        pairs = (pair for line in heard for pair in json.loads(line).get("sentences", ()))
        self._mishearing = Mishearing((said, listened) for said, listened in pairs)
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
        rng, roll = self._rng, self._rng.random()
        if roll < self._heard_share:
            kept = json.loads(rng.choice(self._heard))
            rng.shuffle(kept["conversations"])
            return kept["prompt"], kept["conversations"]
        if roll > 1 - STEPS_SHARE:
            agent, conversations = steps_example(rng, CONVERSATIONS)
            return prompt_text(agent), conversations
        is_played = roll < self._heard_share + PLAYED_SHARE
        of, conversations = (played if is_played else example)(rng, CONVERSATIONS)
        schemas = of.schemas
        hear, fixed = self._misheard if rng.random() < MISHEARD_SHARE else self._written, enum_values(schemas)
        if is_played or hear == self._misheard:
            conversations = [one for one in (heard(messages, hear, fixed) for messages in conversations) if len(one) > 1]
        if is_played and rng.random() < RENAMED_SHARE and schemas != DEMO_SCHEMAS:
            schemas, conversations = renamed(schemas, conversations, rng)
        if rng.random() < ENDING_SHARE:
            schemas, conversations = ending(schemas, conversations, rng)
        return prompt_text(PlayedAgent(of.instructions, schemas)), conversations

    def _written(self, text: str) -> str:
        return text if self._rng.random() < AS_WRITTEN_SHARE else transcript(text)

    def _misheard(self, text: str) -> str:
        text = self._mishearing.hear(self._written(text), self._rng)
        return text.rstrip(".").lower() if self._rng.random() < UNMARKED_SHARE else text


class _Supply(IterableDataset[Row]):
    """Rows of a loader process, of a seed of its own."""

    def __init__(self, rows: Callable[[int], Rows]) -> None:
        self._rows = rows

    def __iter__(self) -> Iterator[Row]:
        worker = get_worker_info()
        rows = self._rows(worker.id if worker else 0)
        while True:
            yield rows.draw()


def batches(rows: Callable[[int], Rows], size: int, width: int, processes: int) -> Iterator[Batch]:
    """An endless supply, drawn ahead by processes. `rows` makes the source of each."""
    collate = partial(Batch.of, width=width)
    return iter(DataLoader(_Supply(rows), size, num_workers=processes, collate_fn=collate, prefetch_factor=4))


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
