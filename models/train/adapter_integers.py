"""A graph's products with its weights in whole numbers: an activation's rows are each divided by their greatest value, rounded to
8 bits and multiplied with 8-bit weights (onnxruntime, docs/ContribOperators.md, MatMulIntegerToFloat), and multiplied back.
DynamicQuantizeMatMul would take one scale for all rows, by what stands in them: a token would come out another by what is read
along with it. Against MatMulNBits in blocks of 32 this reads a prompt in a third of the time, and it is what the adapter was
trained with (adapter_layers).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
import onnx.numpy_helper
from numpy.typing import NDArray
from onnx import helper

from voiceagent.models.gguf_with_adapter import ROW_SCALES, ROWS

AXIS = "/rows/axis"
STEP, ZERO = "/rows/step", "/rows/zero"
CONSTANTS: dict[str, NDArray[np.generic]] = {
    AXIS: np.array([-1], np.int64),
    STEP: np.array(1 / 127, np.float32),
    ZERO: np.array(128, np.uint8),
}
"""Of rows between -1 and 1, in unsigned steps: those are what x86 CPUs multiply fast."""


def in_integers(model: onnx.ModelProto) -> None:
    """Change the products of the layers, not that of the head, whose weight is the embedding too."""
    graph = model.graph
    sizes: dict[str, tuple[int, int]] = {}
    constants = {name: onnx.numpy_helper.from_array(value, name) for name, value in CONSTANTS.items()}
    nodes = [helper.make_node("Constant", [], [name], value=value) for name, value in constants.items()]
    scaled = set[str]()
    for node in graph.node:
        if node.op_type == "MatMulNBits" and node.output[0] != "logits":
            stem = node.input[1].removesuffix("weight_Q4")
            attributes = {attribute.name: attribute.i for attribute in node.attribute}
            sizes[stem] = attributes["K"], attributes["N"]
            if node.input[0] not in scaled:
                nodes += _scaled(node.input[0])
                scaled.add(node.input[0])
            nodes += _product(node.name, node.input[0], stem, node.output[0])
        else:
            nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)
    for tensor in graph.initializer:
        stem, _, kind = tensor.name.rpartition("weight_")
        if stem in sizes:
            columns, rows = sizes[stem]
            tensor.name = stem + (ROWS if kind == "Q4" else ROW_SCALES)
            tensor.data_type = onnx.TensorProto.INT8 if kind == "Q4" else onnx.TensorProto.FLOAT
            del tensor.dims[:]
            tensor.dims.extend([columns, rows] if kind == "Q4" else [rows])


def _scaled(name: str) -> Iterator[onnx.NodeProto]:
    """Rows whose greatest value is 1 or -1, and these in steps."""
    yield helper.make_node("Abs", [name], [f"{name}/sizes"], name=f"{name}/Abs")
    yield helper.make_node("ReduceMax", [f"{name}/sizes", AXIS], [f"{name}/peaks"], name=f"{name}/ReduceMax", keepdims=1)
    yield helper.make_node("Div", [name, f"{name}/peaks"], [f"{name}/scaled"], name=f"{name}/Div")
    yield helper.make_node("QuantizeLinear", [f"{name}/scaled", STEP, ZERO], [f"{name}/steps"], name=f"{name}/Quantize")


def _product(name: str, values: str, stem: str, result: str) -> Iterator[onnx.NodeProto]:
    inputs, product = [f"{values}/steps", stem + ROWS, STEP, stem + ROW_SCALES, ZERO], f"{result}/scaled"
    yield helper.make_node("MatMulIntegerToFloat", inputs, [product], domain="com.microsoft", name=name)
    yield helper.make_node("Mul", [product, f"{values}/peaks"], [result], name=f"{result}/Mul")
