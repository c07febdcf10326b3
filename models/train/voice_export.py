"""Turns a trained acoustic model into a Piper voice: one ONNX file with the vocoder inside and 16-bit weights, and the
JSON that piper-tts reads beside it. The second output, frames per phoneme id, is what gives word times.

    python -m models.train.voice_export --model FOLDER/acoustic.pt --out FOLDER
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from piper.phoneme_ids import DEFAULT_PHONEME_ID_MAP

from models.train.voice_model import HOP_SAMPLES, SAMPLE_RATE_HZ, SYMBOLS, Acoustic, Vocoder, Voice

NAME = "voice"
_WORTH_PACKING = 256


def export(acoustic: Acoustic, path: Path) -> None:
    """Write the float32 graph."""
    voice = Voice(acoustic, Vocoder()).eval()
    example = (torch.randint(1, 100, (1, 40)), torch.tensor([40]), torch.tensor([0.667, 1.0, 0.8]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            voice,
            example,
            str(path),
            input_names=["input", "input_lengths", "scales"],
            output_names=["output", "durations"],
            dynamic_axes={"input": {1: "L"}, "output": {2: "N"}, "durations": {2: "L"}},
            opset_version=17,
            dynamo=False,
        )


def pack(path: Path) -> None:
    """Store every large float32 tensor of the graph as float16, cast back when the model is loaded."""
    model = onnx.load(str(path))
    graph = model.graph
    kept, casts, nodes = [], [], []

    def packed(name: str, values: np.ndarray) -> None:
        kept.append(numpy_helper.from_array(values.astype(np.float16), f"{name}_half"))
        casts.append(helper.make_node("Cast", [f"{name}_half"], [name], to=TensorProto.FLOAT))

    for tensor in graph.initializer:
        values = numpy_helper.to_array(tensor)
        if values.dtype == np.float32 and values.size > _WORTH_PACKING:
            packed(tensor.name, values)
        else:
            kept.append(tensor)
    for node in graph.node:
        value = node.attribute[0].t if node.op_type == "Constant" and node.attribute[0].name == "value" else None
        if value is not None and value.data_type == TensorProto.FLOAT and numpy_helper.to_array(value).size > _WORTH_PACKING:
            packed(node.output[0], numpy_helper.to_array(value))
        else:
            nodes.append(node)
    del graph.initializer[:], graph.node[:]
    graph.initializer.extend(kept)
    graph.node.extend([*casts, *nodes])
    onnx.checker.check_model(model)
    onnx.save(model, str(path))


def piper_config() -> dict[str, object]:
    """The settings that piper-tts needs beside the graph."""
    return {
        "audio": {"sample_rate": SAMPLE_RATE_HZ, "quality": "micro"},
        "espeak": {"voice": "en-us"},
        "phoneme_type": "espeak",
        "num_symbols": SYMBOLS,
        "num_speakers": 1,
        "speaker_id_map": {},
        "hop_length": HOP_SAMPLES,
        "streams": False,  # a sentence takes a few milliseconds, and its vocoder is not one that can be cut
        "inference": {"noise_scale": 0.667, "length_scale": 1.0, "noise_w": 0.8},
        "language": {"code": "en_US"},
        "phoneme_id_map": DEFAULT_PHONEME_ID_MAP,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="acoustic.pt")
    parser.add_argument("--out", type=Path, required=True, help="folder for the voice")
    options = parser.parse_args()
    saved = torch.load(options.model, weights_only=True)
    acoustic = Acoustic(saved["width"])
    acoustic.load_state_dict(saved["model"])
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / f"{NAME}.onnx"
    export(acoustic, path)
    pack(path)
    path.with_suffix(".onnx.json").write_text(json.dumps(piper_config(), ensure_ascii=False, indent=1) + "\n")
    print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
