"""Exports a trained adapter in the files of Hugging Face's PEFT.

    python -m models.train.adapter_export --run DIR --out models/bundled/smollm2-tools

DIR is the folder that `adapter_train` filled.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch
from safetensors.torch import save

from models.train.adapter_layers import ALPHA, ATTENTION, FEED_FORWARD, RANK, peft_tensors
from models.train.adapter_train import CHECKPOINT

BASE = "HuggingFaceTB/SmolLM2-135M-Instruct"


def export(run: Path, out: Path) -> None:
    """Write `adapter_model.safetensors`, in 16 bits, and `adapter_config.json`."""
    layers = torch.load(run / CHECKPOINT, weights_only=True)["adapter"]
    out.mkdir(parents=True, exist_ok=True)
    (out / "adapter_model.safetensors").write_bytes(save(peft_tensors(layers)))
    config = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": BASE,
        "r": RANK,
        "lora_alpha": ALPHA,
        "lora_dropout": 0.0,
        "bias": "none",
        "target_modules": [*ATTENTION, *FEED_FORWARD],
        "inference_mode": True,
    }
    (out / "adapter_config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    export(arguments.run, arguments.out)


if __name__ == "__main__":
    main()
