"""Cuts a VITS voice (arXiv 2106.06103; every published Piper voice is one) so that it can speak a sentence in chunks:

    ids ──▶ text ──▶ prior, noise added ──▶ flow ──▶ latent ──▶ vocoder ──▶ audio
            once a sentence               in pieces of frames   in chunks of frames

The vocoder is HiFi-GAN (arXiv 2010.05646): convolutions and upsampling. The flow is convolutions as well. So each stretch of
their output depends on a window of their input. The cuts are found by structure, not by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import onnx
from onnx import TensorProto, helper

from voiceagent.tts.graph import Graph, integers
from voiceagent.tts.receptive_field import POINTWISE, Margin, NotSplittableError, Upsampling, receptive_field


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
