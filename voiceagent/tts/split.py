"""Cuts a VITS voice (arXiv 2106.06103; every published Piper voice is one) so that it can speak a sentence in chunks:

    ids ──▶ text ──▶ prior, noise added ──▶ flow ──▶ latent ──▶ vocoder ──▶ audio
            once a sentence               in pieces of frames   in chunks of frames

The vocoder is HiFi-GAN (arXiv 2010.05646): convolutions and upsampling. The flow is convolutions as well. So each stretch of
their output depends on a window of their input. The cuts are found by structure, not by name.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import onnx
from onnx import TensorProto, helper

from voiceagent.errors import VoiceAgentError


class Graph:
    """An index of a voice's ONNX graph: which node makes a tensor, and which read it. Nodes are named by their place in `nodes`,
    which is a topological order (ONNX demands one)."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.model = model
        self.nodes = list(model.graph.node)
        self.output: str = model.graph.output[0].name
        self.weights = {tensor.name: tensor for tensor in model.graph.initializer}
        self.maker = {name: at for at, node in enumerate(self.nodes) for name in node.output if name}
        self.constants = set(self.weights)
        """Tensors that depend on neither an input nor randomness."""
        for node in self.nodes:
            if not node.op_type.startswith("Random") and all(name in self.constants for name in reads(node)):
                self.constants.update(node.output)

    def behind(self, names: Iterable[str], stop: Iterable[str] = ()) -> set[int]:
        """The nodes that the tensors `names` depend on, not looking behind the tensors `stop`."""
        found: set[int] = set()
        stopped = set(stop)
        waiting = [name for name in names if name not in stopped]
        while waiting:
            at = self.maker.get(waiting.pop())
            if at is not None and at not in found:
                found.add(at)
                waiting.extend(name for name in reads(self.nodes[at]) if name not in stopped)
        return found

    def ahead(self, name: str) -> set[int]:
        """The nodes that depend on the tensor `name`."""
        known, found = {name}, set()
        for at, node in enumerate(self.nodes):
            if any(read in known for read in reads(node)):
                known.update(node.output)
                found.add(at)
        return found

    def between(self, name: str, output: str) -> list[int]:
        """The nodes on the way from one tensor to another, in order."""
        return sorted(self.ahead(name) & self.behind([output]))

    def side_inputs(self, region: Iterable[int], name: str) -> list[str]:
        """The inputs of the nodes of `region` besides the tensor `name`, each other's outputs and constants."""
        nodes = [self.nodes[at] for at in region]
        made = {output for node in nodes for output in node.output}
        found = {read for node in nodes for read in reads(node) if read not in made and read not in self.constants}
        return sorted(found - {name})

    def part(self, inputs: Sequence[onnx.ValueInfoProto], outputs: Sequence[onnx.ValueInfoProto]) -> onnx.ModelProto:
        """The model that computes `outputs` from `inputs`; constants come along."""
        inside = sorted(self.behind([value.name for value in outputs], stop=[value.name for value in inputs]))
        nodes = [self.nodes[at] for at in inside]
        read = {name for node in nodes for name in reads(node)} | {value.name for value in outputs}
        weights = [tensor for name, tensor in self.weights.items() if name in read]
        graph = onnx.helper.make_graph(nodes, "part", list(inputs), list(outputs), weights)
        return onnx.helper.make_model(graph, opset_imports=list(self.model.opset_import), ir_version=self.model.ir_version)


def reads(node: onnx.NodeProto) -> Iterator[str]:
    """The tensors that a node reads, those read by the bodies of an `If` or a `Loop` included."""
    for name in node.input:
        if name:
            yield name
    for attribute in node.attribute:
        for body in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])):
            made = {name for inner in body.node for name in inner.output} | {tensor.name for tensor in body.initializer}
            made.update(value.name for value in body.input)
            for inner in body.node:
                yield from (name for name in reads(inner) if name not in made)
            yield from (value.name for value in body.output if value.name not in made)


def integers(node: onnx.NodeProto, name: str, default: Sequence[int]) -> list[int]:
    """An attribute that is a list of integers."""
    return next((list(attribute.ints) for attribute in node.attribute if attribute.name == name), list(default))


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


@dataclass(frozen=True, slots=True)
class VoicePart:
    """A model that reads a stretch of frames, shape (1, channels, frames), in its input `name`."""

    model: onnx.ModelProto
    name: str
    output: str
    margin: Margin
    """The frames that it must see around the wanted ones."""
    side_inputs: tuple[str, ...]
    """Its other inputs, by the names of the text part's outputs."""


@dataclass(frozen=True, slots=True)
class SplitModel:
    """The parts of a voice."""

    text: onnx.ModelProto
    """From Piper's inputs to the prior (or the latent, where the flow could not be cut off), and what the other parts read."""
    durations: str | None
    """The text part's output that says how many frames each id lasts."""
    flow: VoicePart | None
    vocoder: VoicePart
    upsamplings: tuple[Upsampling, ...]

    @property
    def hop_samples(self) -> int:
        """Samples a frame."""
        last = self.upsamplings[-1]
        return last.rate * last.stride


def split(model: onnx.ModelProto, *, flow: bool = True) -> SplitModel:
    """Cut a voice at its latent and, with `flow`, also before its flow. Raises NotSplittableError."""
    graph = Graph(model)
    latent = find_latent(graph)
    durations = find_durations(graph)
    types = _types(model)
    prior = find_prior(graph, latent, durations) if flow else latent
    vocoder, upsamplings = _vocoder(graph, latent, types)
    flow_part = _flow(graph, prior, latent, types) if flow else None
    side = sorted({*vocoder.side_inputs, *(flow_part.side_inputs if flow_part else ())})
    late = graph.ahead(prior)
    if wrong := [name for name in side if graph.maker.get(name) in late]:
        raise NotSplittableError(f"the vocoder reads {wrong[0]} of the flow besides the latent")
    outputs = [prior, *side, *([durations] if durations else [])]
    inputs = [value for value in model.graph.input if value.name not in graph.weights]
    text = graph.part(inputs, _typed(types, dict.fromkeys(outputs)))
    return SplitModel(text, durations, flow_part, vocoder, upsamplings)


def with_durations(model: onnx.ModelProto) -> onnx.ModelProto:
    """The voice with a second output that says how many frames each id lasts, if that could be found; changed in place."""
    durations = find_durations(Graph(model))
    if durations and all(output.name != durations for output in model.graph.output):
        model.graph.output.append(onnx.ValueInfoProto(name=durations))
    return model


def find_latent(graph: Graph) -> str:
    """The input of the convolution before the first upsampling."""
    behind = graph.behind([graph.output])
    first = next((at for at in sorted(behind) if graph.nodes[at].op_type == "ConvTranspose"), None)
    if first is None:
        raise NotSplittableError("its graph has no upsampling vocoder (no ConvTranspose)")
    waiting, found = [graph.nodes[first].input[0]], list[onnx.NodeProto]()
    while waiting:
        at = graph.maker.get(waiting.pop())
        if at is None:
            continue
        node = graph.nodes[at]
        if node.op_type == "Conv":
            found.append(node)
        elif node.op_type in POINTWISE:
            waiting.extend(name for name in node.input if name not in graph.constants)
    if not found:
        raise NotSplittableError("no convolution was found before its first upsampling")
    widest = max(found, key=lambda node: integers(node, "kernel_shape", [1])[0])  # the other one brings the speaker in
    return str(widest.input[0])


def find_durations(graph: Graph) -> str | None:
    """The tensor of the frames of each id: a second output, or the tensor that is rounded up to whole frames. None where none is
    found."""
    outputs = graph.model.graph.output
    if len(outputs) > 1:
        return str(outputs[1].name)
    rounded = {str(node.output[0]) for node in graph.nodes if node.op_type == "Ceil"}
    return rounded.pop() if len(rounded) == 1 else None


def find_prior(graph: Graph, latent: str, durations: str | None) -> str:
    """The tensor behind the point where noise is added, before the flow."""
    decided = graph.behind([durations]) if durations else set()
    noises = [at for at in graph.behind([latent]) - decided if graph.nodes[at].op_type.startswith("Random")]
    if len(noises) != 1:
        raise NotSplittableError(f"its graph adds noise in {len(noises)} places, expected one")
    name = graph.nodes[noises[0]].output[0]
    for at in sorted(graph.ahead(name)):
        node = graph.nodes[at]
        if name not in node.input:
            continue
        name = node.output[0]
        if node.op_type == "Add":
            return str(name)
        if node.op_type not in POINTWISE:
            break
    raise NotSplittableError("its noise is not added to anything")


def _types(model: onnx.ModelProto) -> dict[str, onnx.ValueInfoProto]:
    inferred = onnx.shape_inference.infer_shapes(model).graph
    return {value.name: value for value in (*inferred.value_info, *inferred.input, *inferred.output)}


def _typed(types: dict[str, onnx.ValueInfoProto], names: Iterable[str]) -> list[onnx.ValueInfoProto]:
    names = list(names)
    if missing := [name for name in names if name not in types]:
        raise NotSplittableError(f"the type of its tensor {missing[0]} is unknown")
    return [types[name] for name in names]


def _flow(graph: Graph, prior: str, latent: str, types: dict[str, onnx.ValueInfoProto]) -> VoicePart:
    region = graph.between(prior, latent)
    margins, upsamplings = receptive_field(graph, region, prior, latent)
    if upsamplings:
        raise NotSplittableError("its flow changes the number of frames")
    side = graph.side_inputs(region, prior)
    model = graph.part(_typed(types, [prior, *side]), _typed(types, [latent]))
    return VoicePart(model, prior, latent, margins, tuple(side))


def _vocoder(graph: Graph, latent: str, types: dict[str, onnx.ValueInfoProto]) -> tuple[VoicePart, tuple[Upsampling, ...]]:
    region = graph.between(latent, graph.output)
    margin, upsamplings = receptive_field(graph, region, latent, graph.output)
    side = graph.side_inputs(region, latent)
    model = graph.part(_typed(types, [latent, *side]), _typed(types, [graph.output]))
    _trim_inputs(model, upsamplings)
    return VoicePart(model, latent, graph.output, margin, tuple(side)), upsamplings


def _trim_inputs(model: onnx.ModelProto, upsamplings: Sequence[Upsampling]) -> None:
    """Put a Slice along time before every upsampling."""
    nodes = list(model.graph.node)
    model.graph.initializer.append(helper.make_tensor("trim_axis", TensorProto.INT64, [1], [2]))
    for upsampling in upsamplings:
        for name in (upsampling.starts, upsampling.ends):
            model.graph.input.append(helper.make_tensor_value_info(name, TensorProto.INT64, [1]))
    waiting = iter(upsamplings)
    placed: list[onnx.NodeProto] = []
    for node in nodes:
        if node.op_type == "ConvTranspose":
            step = next(waiting)
            trimmed = f"{step.starts}_{node.input[0]}"
            placed.append(helper.make_node("Slice", [node.input[0], step.starts, step.ends, "trim_axis"], [trimmed]))
            node.input[0] = trimmed
        placed.append(node)
    del model.graph.node[:]
    model.graph.node.extend(placed)
