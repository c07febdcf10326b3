"""Writes everything of the bundled adapter but the adapter: the base model's graph for onnxruntime-genai without its weights, and
its settings, tokenizer frame and chat template. `voiceagent models pull` fills the graph: see
voiceagent/models/gguf_with_adapter.py.

    python -m models.train.adapter_graph --gguf FILE --out models/bundled/smollm2-tools

The model builder writes 4-bit weights with a shared embedding. Of that graph the layers' products become those of
adapter_integers, the embedding is widened to 8 bits, and logits are only computed for the last few tokens of what is read: a
quarter of the time of reading a prompt went into the others, which nobody looks at.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnx.numpy_helper
from onnx import helper

from models.train import adapter_tokenizer
from models.train.adapter_base import Base
from models.train.adapter_integers import in_integers
from models.train.adapter_prompt import TEMPLATE
from voiceagent.llm.embedded.genai import RECENT, RECENT_TOKENS
from voiceagent.models.gguf_with_adapter import BLOCK, GRAPH, WEIGHTS

PAGE_BYTES = 4096
"""Each weight begins on a page, so that a file that is mapped into memory can be used as it lies."""


def build(base: Base, folder: Path) -> Path:
    """The base model as the model builder writes it; where."""
    source, built = folder / "source", folder / "built"
    base.model.save_pretrained(source)
    base.tokenizer.save(str(source / "tokenizer.json"))
    context = base.model.config.max_position_embeddings
    (source / "tokenizer_config.json").write_text(json.dumps(adapter_tokenizer.config(context)), encoding="utf-8")
    builder = [sys.executable, "-m", "onnxruntime_genai.models.builder"]
    wanted = ["-i", str(source), "-o", str(built), "-p", "int4", "-e", "cpu", "-c", str(folder / "cache")]
    done = subprocess.run([*builder, *wanted], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the model builder failed: {done.stderr.strip()[-2000:]}")
    return built


def widened(model: onnx.ModelProto) -> None:
    """The embedding, which is the head as well, in 8 bits in the place of 4, in blocks of 32, as in_8_bits makes them."""
    for node in model.graph.node:
        if node.op_type in ("MatMulNBits", "GatherBlockQuantized"):
            for attribute in node.attribute:
                attribute.i = 8 if attribute.name == "bits" else attribute.i
        if node.op_type == "Reshape" and node.input[0].endswith("weight_Q4"):
            _widen_constant(model.graph, node.input[1])
        node.input[:] = [name.replace("weight_Q4", "weight_Q8") for name in node.input]
    for tensor in model.graph.initializer:
        if tensor.name.endswith("weight_Q4"):
            tensor.name = tensor.name.replace("weight_Q4", "weight_Q8")
            tensor.dims[2] = BLOCK


def for_the_last_tokens(model: onnx.ModelProto) -> None:
    """Logits [batch, 1, vocabulary] of the last token: onnxruntime-genai knows by the shape that there are no others. And those
    of the last few, [batch, up to RECENT_TOKENS, vocabulary], by which the engine judges what it drafted (embedded_steps)."""
    nodes, outputs = model.graph.node, model.graph.output
    place, head = next((place, node) for place, node in enumerate(nodes) if node.output[0] == "logits")
    numbers = {"/recent/start": [-RECENT_TOKENS], "/last/start": [-1], "/last/end": [2**31 - 1], "/last/axis": [1]}
    added = [
        helper.make_node("Constant", [], [name], value=onnx.numpy_helper.from_array(np.array(value, np.int64), name))
        for name, value in numbers.items()
    ]
    inputs = [head.input[0], "/recent/start", "/last/end", "/last/axis"]
    added.append(helper.make_node("Slice", inputs, ["/recent/output_0"], name="/recent/Slice"))
    head.input[0], head.output[0] = "/recent/output_0", RECENT
    for offset, node in enumerate(added):
        nodes.insert(place + offset, node)
    nodes.append(helper.make_node("Slice", [RECENT, *list(numbers)[1:]], ["logits"], name="/last/Slice"))
    vocabulary = outputs[0].type.tensor_type.shape.dim[2].dim_value
    outputs[0].type.tensor_type.shape.dim[1].dim_value = 1
    outputs.append(helper.make_tensor_value_info(RECENT, onnx.TensorProto.FLOAT, ["batch_size", "recent", vocabulary]))


def _widen_constant(graph: onnx.GraphProto, name: str) -> None:
    """The shape of the embedding, whose two columns a byte become one."""
    node = next(node for node in graph.node if name in node.output)
    shape = onnx.numpy_helper.to_array(node.attribute[0].t).copy()
    shape[1] *= 2
    node.attribute[0].t.CopyFrom(onnx.numpy_helper.from_array(shape, name))


def without_weights(model: onnx.ModelProto) -> None:
    """Only where in the file each weight will lie."""
    offset = 0
    for tensor in model.graph.initializer:
        offset = -(-offset // PAGE_BYTES) * PAGE_BYTES
        length = math.prod(tensor.dims) * (4 if tensor.data_type == onnx.TensorProto.FLOAT else 1)
        del tensor.external_data[:]
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, value in {"location": WEIGHTS, "offset": offset, "length": length}.items():
            tensor.external_data.add(key=key, value=str(value))
        offset += length
    del model.graph.value_info[:]


def export(base: Base, out: Path) -> None:
    """Write the files."""
    out.mkdir(parents=True, exist_ok=True)
    context = base.model.config.max_position_embeddings
    with tempfile.TemporaryDirectory() as scratch:
        built = build(base, Path(scratch))
        model = onnx.load(str(built / GRAPH), load_external_data=False)
        shutil.copy(built / "genai_config.json", out / "genai_config.json")
    in_integers(model)
    widened(model)
    for_the_last_tokens(model)
    without_weights(model)
    onnx.save(model, str(out / "graph.onnx"))
    for name, content in {
        "tokenizer_config.json": adapter_tokenizer.config(context),
        "tokenizer_frame.json": adapter_tokenizer.frame(base.control_tokens),
    }.items():
        (out / name).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    shutil.copy(TEMPLATE, out / "chat_template.jinja")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gguf", type=Path, help="the base model; without it a tiny one with random weights")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    export(Base.open(arguments.gguf), arguments.out)


if __name__ == "__main__":
    main()
