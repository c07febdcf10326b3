"""Makes the language model's tokenizer, and renders conversations with it.

A byte-level BPE in which a slot word ("Paris", "tomorrow", "haircut") is one token with the same id in a sentence and
inside JSON, because the space before it is a token of its own; digits go in pairs; JSON's boilerplate is a few added
tokens. That makes a tool's arguments literal copies of the caller's tokens.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from models.train import domain, phrases
from models.train import lm_replies as replies
from models.train import vocabulary as words
from models.train.lm_dialogues import Message, train_conversation

END_OF_TEXT, TURN_START, TURN_END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
JSON_PIECES = ['{"name": "', '", "arguments": {"', '", "arguments": {}}', '": "', '": ', '", "', ', "', '"}}', "}}", '{"', '"}']
TOOL_TAGS = ["<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"]
TEMPLATE = Path(__file__).parent / "chat_template.jinja"
_NEVER_ISOLATED = {w.lower() for w in [*words.ORDINALS, *words.ONES]}


def render(messages: Sequence[Message], with_tools: bool) -> list[tuple[str, bool]]:
    """The chat template's text in pieces, each with whether the model is to write it."""
    listed = "".join(f" {name}({', '.join(parameters)})" for name, (_, parameters) in replies.TOOLS.items())
    tools = f"\nTools:{listed}" if with_tools else ""
    pieces: list[tuple[str, bool]] = []
    if messages[0]["role"] == "system":
        pieces.append((f"{TURN_START}system\n{messages[0]['content']}{tools}{TURN_END}\n", False))
        messages = messages[1:]
    elif with_tools:
        pieces.append((f"{TURN_START}system\n{tools}{TURN_END}\n", False))
    for message in messages:
        content = message["content"]
        if message["role"] == "tool":
            pieces.append((f"{TURN_START}user\n<tool_response>\n{content}\n</tool_response>{TURN_END}\n", False))
        elif message["role"] == "assistant":
            for call in message.get("tool_calls", []):
                function = call["function"]
                arguments = json.dumps(function["arguments"])
                content += f'<tool_call>\n{{"name": "{function["name"]}", "arguments": {arguments}}}\n</tool_call>'
            pieces += [(f"{TURN_START}assistant\n", False), (f"{content}{TURN_END}", True), ("\n", False)]
        else:
            pieces.append((f"{TURN_START}{message['role']}\n{content}{TURN_END}\n", False))
    return pieces


def _copied_words() -> list[str]:
    """The lower-case words a slot may hold: the space before them is isolated."""
    values = [*words.CITIES, *words.NAMES, *words.WEEKDAYS, *words.NEAR_DAYS, *words.MONTHS, *words.SERVICES, "noon"]
    return sorted({w.lower() for value in values for w in value.split()} - _NEVER_ISOLATED)


def _corpus(rng: random.Random, conversations: int) -> list[str]:
    texts = ["".join(text for text, _ in render(train_conversation(rng, 3), False)) for _ in range(conversations)]
    texts += [domain.word_salad(rng).written for _ in range(conversations)]
    for values in (words.CITIES, words.NAMES, words.WEEKDAYS, words.NEAR_DAYS, words.MONTHS, words.SERVICES, ["noon"]):
        for value in values:
            texts += [value, value.lower(), value.capitalize()] * 60
    for values in (words.ITEMS, words.TOPICS, words.ROOMS, words.DEVICES, words.ORDINALS, words.ONES):
        for value in values:
            texts += [f"x {value}", value.capitalize()] * 30
    for patterns in (*phrases.REQUESTS.values(), *phrases.TALK.values(), phrases.OUT_OF_DOMAIN):
        texts += [pattern for pattern in patterns for _ in range(12) if "{" not in pattern]
    texts += [str(n) for n in range(100)] * 60 + [f"{n:02d}" for n in range(10)] * 60
    for token in [TURN_START, TURN_END, *TOOL_TAGS, *sorted(JSON_PIECES, key=len, reverse=True)]:
        texts = [text.replace(token, "\n") for text in texts]
    return texts


def make_tokenizer(vocabulary_size: int = 2304, conversations: int = 6000, seed: int = 7) -> Tokenizer:
    """Train the tokenizer on synthetic conversations."""
    isolated = "|".join(_copied_words())
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(rf" (?=[0-9]|(?!AM\b|PM\b|I\b)[A-Z]|(?:{isolated})\b)"), "isolated"),
            pre_tokenizers.Split(Regex(r"[0-9]{1,2}"), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    added = [END_OF_TEXT, TURN_START, TURN_END, *TOOL_TAGS, *JSON_PIECES, *replies.TOOLS, "order_number", "o'clock"]
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary_size - len(added), initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(_corpus(random.Random(seed), conversations), trainer)
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in added[:3]])
    tokenizer.add_tokens([AddedToken(t, special=False, normalized=False) for t in added[3:]])
    return tokenizer
