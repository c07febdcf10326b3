"""A voice's ONNX graph, for cutting: which node makes a tensor, which nodes read it, and the model between two sets of
tensors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import onnx


class Graph:
    """An index of a model's nodes. Nodes are named by their place in `nodes`, which is a topological order (ONNX demands one)."""

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
