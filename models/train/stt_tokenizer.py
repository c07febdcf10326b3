"""The micro Whisper's tokenizer: byte-level BPE of 640 tokens learned from the domain's sentences and general English,
then Whisper's special tokens in the order CTranslate2 and faster-whisper expect.

Digits never merge, so that any order number can be written; every " x" is one token, since a lone space is
suppressed at the start of a Whisper transcript.

    python -m models.train.stt_tokenizer --out FOLDER/tokenizer.json
"""

from __future__ import annotations

import argparse
import random
import re
import string
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from models.train import domain
from models.train.general_english import plain_sentence, word_salad

TEXT_TOKENS = 640
SPECIAL = (
    "<|endoftext|>",
    "<|startoftranscript|>",
    "<|translate|>",
    "<|transcribe|>",
    "<|startoflm|>",
    "<|startofprev|>",
    "<|nospeech|>",
    "<|notimestamps|>",
)
END_OF_TEXT = TEXT_TOKENS
START = END_OF_TEXT + SPECIAL.index("<|startoftranscript|>")
NO_SPEECH = END_OF_TEXT + SPECIAL.index("<|nospeech|>")
NO_TIMESTAMPS = END_OF_TEXT + SPECIAL.index("<|notimestamps|>")
FIRST_TIMESTAMP = END_OF_TEXT + len(SPECIAL)
TIMESTAMPS = 501
VOCABULARY = FIRST_TIMESTAMP + TIMESTAMPS


def build(seed: int, sentences: int = 30000) -> Tokenizer:
    """Learn the tokenizer from freshly drawn sentences."""
    rng = random.Random(seed)
    texts = [" " + domain.train_utterance(rng).written for _ in range(sentences)]
    texts += [" " + rng.choice((plain_sentence, word_salad))(rng) for _ in range(sentences // 8)]
    texts = [re.sub(r"(?<=\d)(?=\d)", " ", text) for text in texts]
    texts += [" " + c for c in string.ascii_letters + string.digits + "-'.,?!:"] * (sentences // 8)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=TEXT_TOKENS, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=[], show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    if tokenizer.get_vocab_size() != TEXT_TOKENS:
        raise ValueError(f"learned {tokenizer.get_vocab_size()} tokens, wanted {TEXT_TOKENS}: draw more sentences")
    tokenizer.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in SPECIAL])
    return tokenizer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="where to write tokenizer.json")
    parser.add_argument("--seed", type=int, default=5)
    options = parser.parse_args()
    tokenizer = build(options.seed)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(options.out))
    rng = random.Random(options.seed + 1)
    lengths = [len(tokenizer.encode(" " + domain.train_utterance(rng).written).ids) for _ in range(2000)]
    print(f"{options.out}: {sum(lengths) / len(lengths):.1f} tokens a sentence, at most {max(lengths)}")


if __name__ == "__main__":
    main()
