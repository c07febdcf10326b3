"""The part of its input that a piece of a voice must see to make a stretch of its output, derived from its graph. Convolutions
look to both sides, transposed ones raise the rate, everything else stays where it is in time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import onnx

from voiceagent.errors import VoiceAgentError
from voiceagent.tts.graph import Graph, integers, reads

POINTWISE = frozenset(
    {"Add", "Sub", "Mul", "Div", "Neg", "Exp", "Sqrt", "Pow", "Clip", "Tanh", "Sigmoid", "LeakyRelu", "Relu", "Softplus"}
    | {"Identity", "Cast", "Unsqueeze", "Squeeze", "Split", "Slice", "Concat", "Gather", "Shape", "ConstantOfShape"}
)
"""Operators that do not look along the time axis in a vocoder or a flow, including those on shapes and channels."""


class NotSplittableError(VoiceAgentError):
    """A voice's graph is not one that can be cut; the message says why."""


@dataclass(frozen=True, slots=True)
class Margin:
    """The part of a tensor that is needed beyond the wanted stretch, in samples of that tensor."""

    before: int = 0
    after: int = 0

    def joined(self, other: Margin) -> Margin:
        """A margin that is enough for both."""
        return Margin(max(self.before, other.before), max(self.after, other.after))


@dataclass(frozen=True, slots=True)
class Upsampling:
    """One step of the vocoder's way from frames to samples. Its input can be trimmed to `margin`: only earlier steps needed what
    lies further out."""

    rate: int
    """Samples a frame of latent before the step."""
    stride: int
    """The factor by which the step raises it."""
    margin: Margin
    starts: str
    """Name of the model input, int64 (1,), that says at which sample the step's input is cut off before the stride."""
    ends: str


def receptive_field(graph: Graph, region: Sequence[int], start: str, end: str) -> tuple[Margin, tuple[Upsampling, ...]]:
    """The part of the tensor `start` that the tensor `end` needs around a stretch, and the upsamplings between, in order. Raises
    NotSplittableError where a node looks along time in an unknown way."""
    steps = {start: 0}
    """The number of upsamplings before each tensor. Constants and side inputs are missing, because they do not run along time."""
    strides: list[int] = []
    for at in region:
        node = graph.nodes[at]
        found = {steps[name] for name in reads(node) if name in steps}
        if len(found) != 1:
            raise NotSplittableError(f"its node {node.name} joins tensors of different rates")
        step = found.pop()
        if node.op_type == "ConvTranspose":
            if step != len(strides):
                raise NotSplittableError(f"its node {node.name} upsamples beside another one")
            strides.append(_stride(node))
            step += 1
        elif node.op_type == "Conv":
            _check_length_is_kept(node)
        elif node.op_type not in POINTWISE:
            raise NotSplittableError(f"its node {node.name} is a {node.op_type}, which may look anywhere along time")
        steps.update(dict.fromkeys(node.output, step))
    if steps[end] != len(strides):
        raise NotSplittableError("its last upsampling is not on the way to the audio")
    needed: dict[str, Margin] = {end: Margin()}
    upsamplings: list[Upsampling] = []
    for at in reversed(region):
        node = graph.nodes[at]
        margin = _needed_by(node, [needed.get(name, Margin()) for name in node.output])
        if node.op_type == "ConvTranspose":
            number = steps[node.input[0]]
            rate = math.prod(strides[:number])
            upsamplings.append(Upsampling(rate, strides[number], margin, f"trim_{number}_starts", f"trim_{number}_ends"))
        for name in reads(node):
            if name in steps:
                needed[name] = needed.get(name, Margin()).joined(margin)
    return needed[start], tuple(reversed(upsamplings))


def _needed_by(node: onnx.NodeProto, outputs: Sequence[Margin]) -> Margin:
    """The part of a node's input that is needed around a stretch, to have `outputs` around it."""
    margin = Margin()
    for output in outputs:
        margin = margin.joined(output)
    if node.op_type not in ("Conv", "ConvTranspose"):
        return margin
    reach, before = _reach(node), integers(node, "pads", [0, 0])[0]
    if node.op_type == "Conv":
        return Margin(margin.before + before, margin.after + reach - before)
    stride = _stride(node)
    # Sample o of the output is made of the samples i of the input with i * stride - before <= o <= i * stride - before + reach.
    return Margin((margin.before + reach - before) // stride, (margin.after + before - 1) // stride + 1)


def _reach(node: onnx.NodeProto) -> int:
    return (integers(node, "kernel_shape", [1])[0] - 1) * integers(node, "dilations", [1])[0]


def _check_length_is_kept(node: onnx.NodeProto) -> None:
    if integers(node, "strides", [1]) != [1] or sum(integers(node, "pads", [0, 0])) != _reach(node):
        raise NotSplittableError(f"its node {node.name} is a convolution that changes the length")


def _stride(node: onnx.NodeProto) -> int:
    """The factor by which a transposed convolution raises the length: exactly its stride. Raises NotSplittableError for another
    one."""
    stride = integers(node, "strides", [1])[0]
    pads, extra = integers(node, "pads", [0, 0]), integers(node, "output_padding", [0])[0]
    if len(pads) != 2 or _reach(node) + 1 - sum(pads) + extra != stride:
        raise NotSplittableError(f"its node {node.name} does not raise the length by its stride {stride}")
    return stride
