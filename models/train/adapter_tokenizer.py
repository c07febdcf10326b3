"""The base model's tokenizer: its frame, which has no vocabulary and is bundled, and the whole, with that of the GGUF file. For a
trial there is a small one."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from models.train.tools.conversations import example

END_OF_TEXT, TURN_BEGIN, TURN_END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
TINY_WORDS = 600


def frame(control_tokens: Sequence[str]) -> dict[str, Any]:
    """A tokenizer.json without vocabulary and merges: bytes, split as GPT-2's words are."""
    places = {"add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    one, two = ({"Sequence": {"id": name, "type_id": number}} for number, name in enumerate("AB"))
    switches = {"fuse_unk": False, "byte_fallback": False, "ignore_merges": False}
    affixes = {"dropout": None, "unk_token": None, "continuing_subword_prefix": "", "end_of_word_suffix": ""}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": number, "content": token, **flags} for number, token in enumerate(control_tokens)],
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", **places},
        "post_processor": {"type": "TemplateProcessing", "single": [one], "pair": [one, two], "special_tokens": {}},
        "decoder": {"type": "ByteLevel", **places, "add_prefix_space": True},
        "model": {"type": "BPE", **affixes, **switches, "vocab": {}, "merges": []},
    }


def config(context: int) -> dict[str, Any]:
    """The tokenizer_config.json."""
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": TURN_BEGIN,
        "eos_token": TURN_END,
        "pad_token": TURN_END,
        "unk_token": END_OF_TEXT,
        "clean_up_tokenization_spaces": False,
        "model_max_length": context,
    }


def tiny() -> Tokenizer:
    """A small one, learned from a few conversations."""
    _, conversations = example(random.Random(1), 40)
    texts = [message["content"] for messages in conversations for message in messages]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = [END_OF_TEXT, TURN_BEGIN, TURN_END]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=TINY_WORDS, special_tokens=special, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def vocabulary_of(tokenizer: Tokenizer) -> list[str]:
    """Tokens by number."""
    whole = json.loads(tokenizer.to_str())["model"]["vocab"]
    return sorted(whole, key=whole.__getitem__)
