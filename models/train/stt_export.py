"""Turns a training checkpoint into a Whisper that faster-whisper runs: CTranslate2 with 8-bit weights, the tokenizer and
the feature settings.

    python -m models.train.stt_export --model FOLDER/whisper.pt --tokenizer tokenizer.json --out FOLDER
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from pathlib import Path

import torch
from ctranslate2.converters import TransformersConverter
from transformers import GenerationConfig, PreTrainedTokenizerFast

from models.train.stt_model import HOP_SAMPLES, MEL_BANDS, alignment_heads, new_model
from models.train.stt_tokenizer import END_OF_TEXT, START
from models.train.stt_train import Shape

CHUNK_S = 10


def export(checkpoint: Path, tokenizer: Path, out: Path) -> None:
    """Convert the averaged weights of a checkpoint."""
    state = torch.load(checkpoint, weights_only=True)
    shape = Shape(**state["shape"])
    model = new_model(shape.width, shape.encoder_layers, shape.decoder_layers, shape.heads)
    model.load_state_dict(state["average"])
    model.generation_config = GenerationConfig(
        decoder_start_token_id=START, eos_token_id=END_OF_TEXT, pad_token_id=END_OF_TEXT, bos_token_id=END_OF_TEXT
    )
    model.generation_config.suppress_tokens = []
    model.generation_config.begin_suppress_tokens = []
    model.generation_config.alignment_heads = [list(pair) for pair in alignment_heads(shape.decoder_layers)]
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(f"{folder}/transformers")
        end = "<|endoftext|>"
        PreTrainedTokenizerFast(tokenizer_file=str(tokenizer), eos_token=end, bos_token=end).save_pretrained(
            f"{folder}/transformers"
        )
        TransformersConverter(f"{folder}/transformers").convert(f"{folder}/ctranslate2", quantization="int8")
        for path in Path(folder, "ctranslate2").iterdir():
            shutil.copyfile(path, out / path.name)
    shutil.copyfile(tokenizer, out / "tokenizer.json")
    features = {
        "chunk_length": CHUNK_S,
        "feature_size": MEL_BANDS,
        "hop_length": HOP_SAMPLES,
        "n_fft": 400,
        "sampling_rate": 16000,
    }
    (out / "preprocessor_config.json").write_text(json.dumps(features, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="whisper.pt")
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    export(options.model, options.tokenizer, options.out)
    print(f"{options.out}: {sum(p.stat().st_size for p in options.out.iterdir()) / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
