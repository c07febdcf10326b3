"""Exports a trained language model: safetensors that transformers and vLLM load, and int8 ONNX for the embedded engine.

    python -m models.train.lm_export --run DIR --out models/bundled/lm

DIR is the folder that `lm_train` filled. Out come `safetensors/` and `onnx/`, each with tokenizer and chat template.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from tokenizers import Tokenizer
from transformers import LlamaConfig, LlamaForCausalLM, Qwen2ForCausalLM

from models.train.lm_tokenizer import END_OF_TEXT, TEMPLATE, TURN_END
from models.train.lm_train import make_model

CONTEXT = 4096


def write_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    """The tokenizer, its configuration and the chat template, as transformers reads them."""
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": TURN_END,
        "pad_token": END_OF_TEXT,
        "clean_up_tokenization_spaces": False,
        "model_max_length": CONTEXT,
        "chat_template": TEMPLATE.read_text(encoding="utf-8"),
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    shutil.copy(TEMPLATE, folder / "chat_template.jinja")


def as_llama(model: Qwen2ForCausalLM) -> LlamaForCausalLM:
    """The same arithmetic under another name: transformers 5 gives every folder of type `qwen2` Qwen's own splitting of words,
    whatever tokenizer.json says. Llama's attention has one bias more, which stays zero."""
    known = model.config.to_dict()
    kept = set(LlamaConfig().to_dict()) - {"architectures", "model_type", "transformers_version"}
    config = LlamaConfig(**{name: known[name] for name in kept if name in known}, attention_bias=True)
    llama = LlamaForCausalLM(config)
    for layer in llama.model.layers:
        torch.nn.init.zeros_(layer.self_attn.o_proj.bias)
    missing, unexpected = llama.load_state_dict(model.state_dict(), strict=False)
    if unexpected or not all(name.endswith("o_proj.bias") for name in missing):
        raise RuntimeError(f"not the weights of a Qwen2: {missing} missing, {unexpected} unexpected")
    llama.tie_weights()
    llama.generation_config = model.generation_config
    return llama


def export(run: Path, out: Path, precision: str, tiny: bool) -> None:
    """Write both formats of the averaged weights of a training run."""
    tokenizer = Tokenizer.from_file(str(run / "tokenizer.json"))
    model = make_model(tokenizer, tiny)
    state = torch.load(run / "checkpoint.pt", weights_only=True)
    model.load_state_dict({**state["model"], **state["average"]}, strict=False)
    model.tie_weights()
    model.config.use_cache = True
    model.config.torch_dtype = "float16"
    stop = [tokenizer.token_to_id(TURN_END), tokenizer.token_to_id(END_OF_TEXT)]
    model.generation_config.eos_token_id = stop
    model.generation_config.pad_token_id = stop[1]
    model.generation_config.do_sample = False
    safetensors, onnx = out / "safetensors", out / "onnx"
    for folder in (safetensors, onnx):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        full = Path(scratch) / "full"
        model.float().save_pretrained(full)
        write_tokenizer(tokenizer, full)
        builder = [sys.executable, "-m", "onnxruntime_genai.models.builder", "-i", str(full), "-o", str(onnx)]
        subprocess.run([*builder, "-p", precision, "-e", "cpu", "-c", str(Path(scratch) / "cache")], check=True)
    as_llama(model).half().save_pretrained(safetensors)
    write_tokenizer(tokenizer, safetensors)
    write_tokenizer(tokenizer, onnx)
    for left in ("special_tokens_map.json", "added_tokens.json", "vocab.json", "merges.txt"):
        (onnx / left).unlink(missing_ok=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--precision", default="int8", choices=["int4", "int8", "fp32"])
    parser.add_argument("--tiny", action="store_true")
    arguments = parser.parse_args()
    export(arguments.run, arguments.out, arguments.precision, arguments.tiny)


if __name__ == "__main__":
    main()
