"""A voice of the published voices' architecture with random weights, a few thousand of them: text, durations, noise, a flow of
couplings, HiFi-GAN, all as ONNX; for one or several speakers, and with parts that cannot be cut."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from piper.phoneme_ids import DEFAULT_PHONEME_ID_MAP

RATE_HZ = 16_000
CHANNELS = 8
UPSAMPLINGS = ((8, 16), (4, 8))
"""(stride, kernel) of each."""
HOP_SAMPLES = 32


@dataclass(frozen=True)
class Shape:
    """What sort of voice. The last three make it one that cannot be cut, or not everywhere."""

    speakers: int = 1
    rounds: bool = True
    """Whether durations are rounded up where they can be found."""
    noise: bool = True
    shifted_flow: bool = False
    """The flow looks 50 frames back, by operators that only seem to work on channels."""
    padded_vocoder: bool = False


PLAIN = Shape()


class Net:
    """Nodes and weights as they are written down."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.random = np.random.default_rng(7)

    def constant(self, value: np.ndarray) -> str:
        self.weights.append(numpy_helper.from_array(value, f"weight_{len(self.weights)}"))
        return self.weights[-1].name

    def integers(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def floats(self, *values: float) -> str:
        return self.constant(np.array(values, np.float32))

    def op(self, kind: str, *inputs: str, outputs: int = 1, name: str = "", **attributes: Any) -> str:
        made = [name or f"{kind}_{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), made, name=f"{kind}_{len(self.nodes)}", **attributes))
        return made[0]

    def conv(self, x: str, inside: int, outside: int, kernel: int, dilation: int = 1, gain: float = 1.0) -> str:
        scale = gain / np.sqrt(inside * kernel)
        weight = self.constant((self.random.standard_normal((outside, inside, kernel)) * scale).astype(np.float32))
        bias = self.constant((self.random.standard_normal(outside) * 0.1).astype(np.float32))
        pad = dilation * (kernel // 2)
        return self.op("Conv", x, weight, bias, kernel_shape=[kernel], dilations=[dilation], pads=[pad, pad], strides=[1])

    def upsample(self, x: str, inside: int, outside: int, stride: int, kernel: int) -> str:
        scale = 1.5 / np.sqrt(inside * kernel / stride)
        weight = self.constant((self.random.standard_normal((inside, outside, kernel)) * scale).astype(np.float32))
        pad = (kernel - stride) // 2
        return self.op("ConvTranspose", x, weight, kernel_shape=[kernel], strides=[stride], pads=[pad, pad])


def write_voice(folder: Path, shape: Shape = PLAIN) -> Path:
    """Write `voice.onnx` and its JSON; the path of the first."""
    net = Net()
    number = net.op("Cast", net.op("Gather", "scales", net.integers(0)), to=TensorProto.FLOAT)
    speaker = ""
    if shape.speakers > 1:
        table = net.constant(net.random.standard_normal((shape.speakers, CHANNELS)).astype(np.float32))
        speaker = net.op("Unsqueeze", net.op("Gather", table, "sid"), net.integers(2))
    mean, spread, mask = _text(net, shape)
    noise = net.op("Mul", net.op("Mul", net.op("RandomNormalLike", mean), net.op("Exp", spread)), number)
    prior = net.op("Add", mean, noise) if shape.noise else mean
    latent = net.op("Mul", _flow(net, prior, mask, speaker, shape), mask)
    net.op("Unsqueeze", _vocoder(net, latent, speaker, shape), net.integers(1), name="output")
    inputs = [
        helper.make_tensor_value_info("input", TensorProto.INT64, ["batch", "ids"]),
        helper.make_tensor_value_info("input_lengths", TensorProto.INT64, ["batch"]),
        helper.make_tensor_value_info("scales", TensorProto.FLOAT, [3]),
        *([helper.make_tensor_value_info("sid", TensorProto.INT64, [1])] if shape.speakers > 1 else []),
    ]
    output = helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, 1, 1, "time"])
    graph = helper.make_graph(net.nodes, "voice", inputs, [output], net.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8)
    onnx.checker.check_model(model)
    path = folder / "voice.onnx"
    onnx.save(model, str(path))
    config = {
        "audio": {"sample_rate": RATE_HZ},
        "espeak": {"voice": "en-us"},
        "phoneme_type": "espeak",
        "num_symbols": 256,
        "num_speakers": shape.speakers,
        "hop_length": HOP_SAMPLES,
        "inference": {"noise_scale": 0.667, "length_scale": 1.0, "noise_w": 0.8},
        "phoneme_id_map": DEFAULT_PHONEME_ID_MAP,
    }
    path.with_suffix(".onnx.json").write_text(json.dumps(config))
    return path


def _text(net: Net, shape: Shape) -> tuple[str, str, str]:
    """Ids → what the frames' noise is around, shape (1, channels, frames), its log spread, and their mask."""
    table = net.constant(net.random.standard_normal((256, CHANNELS)).astype(np.float32))
    states = net.conv(net.op("Transpose", net.op("Gather", table, "input"), perm=[0, 2, 1]), CHANNELS, CHANNELS, 3)
    length = net.op("Gather", "scales", net.integers(1))
    lasts = net.op("Mul", net.op("Exp", net.conv(states, CHANNELS, 1, 1)), net.op("Mul", length, net.floats(8)))
    up = net.op("Ceil", lasts) if shape.rounds else net.op("Floor", net.op("Add", lasts, net.floats(1)))
    ends = net.op("CumSum", up, net.constant(np.array(2, np.int64)))
    frames = net.op("ReduceSum", up, keepdims=0)
    zero, one = net.constant(np.array(0, np.float32)), net.constant(np.array(1, np.float32))
    at = net.op("Unsqueeze", net.op("Range", zero, frames, one), net.integers(0, 1))
    column = net.op("Transpose", ends, perm=[0, 2, 1])
    begun = net.op("Cast", net.op("Less", at, column), to=TensorProto.FLOAT)
    first = net.op("Transpose", net.op("Sub", ends, up), perm=[0, 2, 1])
    before = net.op("Cast", net.op("Less", at, first), to=TensorProto.FLOAT)
    owner = net.op("Sub", begun, before)
    mean = net.op("MatMul", states, owner)
    spread = net.op("MatMul", net.conv(states, CHANNELS, CHANNELS, 1), owner)
    return mean, spread, net.op("Cast", net.op("Less", at, frames), to=TensorProto.FLOAT)


def _flow(net: Net, x: str, mask: str, speaker: str, shape: Shape) -> str:
    half = CHANNELS // 2
    for _ in range(2):
        net.op("Split", x, net.integers(half, half), axis=1, outputs=2)
        kept, moved = net.nodes[-1].output
        seen = net.conv(kept, half, CHANNELS, 5)
        if speaker:
            seen = net.op("Add", seen, net.conv(speaker, CHANNELS, CHANNELS, 1))
        gate = net.op("Mul", net.op("Tanh", seen), net.op("Sigmoid", seen))
        shift = net.op("Mul", net.conv(gate, CHANNELS, half, 5), mask)
        x = net.op("Concat", net.op("Sub", moved, shift), kept, axis=1)
    if shape.shifted_flow:
        ends = (net.integers(np.iinfo(np.int64).max), net.integers(2))
        late = net.op("Slice", x, net.integers(-50), *ends)
        early = net.op("Slice", x, net.integers(0), net.integers(-50), net.integers(2))
        x = net.op("Concat", late, early, axis=2)
    return x


def _vocoder(net: Net, x: str, speaker: str, shape: Shape) -> str:
    width = 16
    x = net.conv(x, CHANNELS, width, 7)
    if speaker:
        x = net.op("Add", x, net.conv(speaker, CHANNELS, width, 1))
    for stride, kernel in UPSAMPLINGS:
        x = net.upsample(net.op("LeakyRelu", x, alpha=0.1), width, width // 2, stride, kernel)
        width //= 2
        x = net.op("Div", _blocks(net, x, width), net.constant(np.array(2, np.float32)))
    if shape.padded_vocoder:
        x = net.op("Pad", x, net.integers(0, 0, 1, 0, 0, 0), mode="reflect")
    return net.op("Tanh", net.conv(net.op("LeakyRelu", x, alpha=0.01), width, 1, 7))


def _blocks(net: Net, x: str, width: int, kernels: Sequence[int] = (3, 5)) -> str:
    outputs = []
    for kernel in kernels:
        block = x
        for dilation in (1, 3):
            block = net.op("Add", net.conv(net.op("LeakyRelu", block, alpha=0.1), width, width, kernel, dilation), block)
        outputs.append(block)
    return net.op("Add", *outputs)
