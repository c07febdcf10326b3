"""The messages of the Open Inference Protocol, version 2, as plain values and as bytes. Flows in: bytes of a peer; flows out: one
of the structures below, or a ValueError that says what is wrong.

The numbers and names of the fields are those of KServe's `open_inference_grpc.proto` (github.com/kserve/open-inference-protocol),
of Triton's `ModelStreamInfer` (github.com/triton-inference-server/common, `grpc_service.proto`), and of MLServer's `parameters`
of a model's metadata. They stand here as a table, and protobuf makes its message classes from it when this is imported: generated
code would bind the package to one major version of protobuf."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from voiceagent.inference.tensors import Tensor, tensor_of_contents, tensor_of_raw

SERVICE = "inference.GRPCInferenceService"
FINAL = "triton_final_response"
"""The parameter of the last response of a stream, as Triton names it."""
EMPTY_FINAL = "triton_enable_empty_final_response"
"""The parameter of a request that asks for a last response although nothing is left to say."""
KIND = "voiceagent-kind"
"""The field of a failure's trailing metadata, and the parameter of a streamed one, that holds the slug of `EngineError.kind`."""
OVERLOADED = "overloaded"
KINDS = ("failed", "dropped", OVERLOADED, "refused", "no_such_model")
"""The slugs that are taken from a server; others count as `failed`."""
MAX_TENSORS = 32
MAX_PARAMETERS = 64
MAX_TEXT = 64 * 1024
"""The most characters of a parameter."""

_Message: TypeAlias = Any
"""A message, or its class, that protobuf makes from the table."""
Parameter: TypeAlias = bool | int | float | str
_Field: TypeAlias = tuple[int, str, str]
"""Number, name and type: a scalar's, `*` before it for several, `@` before another message's, `{}` for the parameters."""

_MESSAGES: Mapping[str, Sequence[_Field]] = {
    "ServerLiveRequest": (),
    "ServerLiveResponse": ((1, "live", "bool"),),
    "ServerReadyRequest": (),
    "ServerReadyResponse": ((1, "ready", "bool"),),
    "ModelReadyRequest": ((1, "name", "string"), (2, "version", "string")),
    "ModelReadyResponse": ((1, "ready", "bool"),),
    "ServerMetadataRequest": (),
    "ServerMetadataResponse": ((1, "name", "string"), (2, "version", "string"), (3, "extensions", "*string")),
    "ModelMetadataRequest": ((1, "name", "string"), (2, "version", "string")),
    "ModelMetadataResponse": (
        (1, "name", "string"),
        (2, "versions", "*string"),
        (3, "platform", "string"),
        (4, "inputs", "*@ModelMetadataResponse.TensorMetadata"),
        (5, "outputs", "*@ModelMetadataResponse.TensorMetadata"),
        (6, "parameters", "{}"),
    ),
    "ModelMetadataResponse.TensorMetadata": ((1, "name", "string"), (2, "datatype", "string"), (3, "shape", "*int64")),
    "ModelInferRequest": (
        (1, "model_name", "string"),
        (2, "model_version", "string"),
        (3, "id", "string"),
        (4, "parameters", "{}"),
        (5, "inputs", "*@ModelInferRequest.InferInputTensor"),
        (6, "outputs", "*@ModelInferRequest.InferRequestedOutputTensor"),
        (7, "raw_input_contents", "*bytes"),
    ),
    "ModelInferRequest.InferInputTensor": (
        (1, "name", "string"),
        (2, "datatype", "string"),
        (3, "shape", "*int64"),
        (4, "parameters", "{}"),
        (5, "contents", "@InferTensorContents"),
    ),
    "ModelInferRequest.InferRequestedOutputTensor": ((1, "name", "string"), (2, "parameters", "{}")),
    "ModelInferResponse": (
        (1, "model_name", "string"),
        (2, "model_version", "string"),
        (3, "id", "string"),
        (4, "parameters", "{}"),
        (5, "outputs", "*@ModelInferResponse.InferOutputTensor"),
        (6, "raw_output_contents", "*bytes"),
    ),
    "ModelInferResponse.InferOutputTensor": (
        (1, "name", "string"),
        (2, "datatype", "string"),
        (3, "shape", "*int64"),
        (4, "parameters", "{}"),
        (5, "contents", "@InferTensorContents"),
    ),
    "ModelStreamInferResponse": ((1, "error_message", "string"), (2, "infer_response", "@ModelInferResponse")),
    "InferParameter": (
        (1, "bool_param", "bool"),
        (2, "int64_param", "int64"),
        (3, "string_param", "string"),
        (4, "double_param", "double"),
        (5, "uint64_param", "uint64"),
    ),
    "InferTensorContents": (
        (1, "bool_contents", "*bool"),
        (2, "int_contents", "*int32"),
        (3, "int64_contents", "*int64"),
        (4, "uint_contents", "*uint32"),
        (5, "uint64_contents", "*uint64"),
        (6, "fp32_contents", "*float"),
        (7, "fp64_contents", "*double"),
        (8, "bytes_contents", "*bytes"),
    ),
}
_ONE_OF = {"InferParameter": "parameter_choice"}
"""The messages of which one field alone is set."""


def _described() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name="voiceagent/open_inference.proto", package="inference", syntax="proto3")
    made: dict[str, descriptor_pb2.DescriptorProto] = {}
    for name in sorted(_MESSAGES, key=lambda each: each.count(".")):
        outer, _, inner = name.rpartition(".")
        made[name] = (made[outer].nested_type if outer else file.message_type).add(name=inner)
    for name, fields in _MESSAGES.items():
        if name in _ONE_OF:
            made[name].oneof_decl.add(name=_ONE_OF[name])
        for number, field_name, kind in fields:
            _add_field(name, made[name], number, field_name, kind)
    return file


def _add_field(message: str, made: descriptor_pb2.DescriptorProto, number: int, name: str, kind: str) -> None:
    kinds = descriptor_pb2.FieldDescriptorProto
    if kind == "{}":
        entry = made.nested_type.add(name=f"{name.capitalize()}Entry")
        entry.options.map_entry = True
        _add_field("", entry, 1, "key", "string")
        _add_field("", entry, 2, "value", "@InferParameter")
        kind = f"*@{message}.{entry.name}"
    several, kind = kind.startswith("*"), kind.lstrip("*")
    added = made.field.add(number=number, name=name, label=kinds.LABEL_REPEATED if several else kinds.LABEL_OPTIONAL)
    if kind.startswith("@"):
        added.type, added.type_name = kinds.TYPE_MESSAGE, f".inference.{kind[1:]}"
    else:
        added.type = kinds.Type.Value(f"TYPE_{kind.upper()}")
    if message in _ONE_OF:
        added.oneof_index = 0


_pool = descriptor_pool.DescriptorPool()
_pool.Add(_described())


def message(name: str) -> _Message:
    """The class of a message, such as `ModelInferRequest`. Protobuf makes it: no type of ours sees into it."""
    return message_factory.GetMessageClass(_pool.FindMessageTypeByName(f"inference.{name}"))


_REQUEST, _RESPONSE, _STREAMED = (message(f"Model{name}") for name in ("InferRequest", "InferResponse", "StreamInferResponse"))
_METADATA = message("ModelMetadataResponse")


@dataclass(frozen=True, slots=True)
class InferRequest:
    """A request to a model."""

    model: str
    tensors: Mapping[str, Tensor]
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    id: str = ""

    def to_bytes(self) -> bytes:
        """The message `ModelInferRequest`."""
        written = _REQUEST(model_name=self.model, id=self.id)
        _put_parameters(written.parameters, self.parameters)
        for name, tensor in self.tensors.items():
            written.inputs.add(name=name, datatype=tensor.datatype, shape=tensor.shape)
            written.raw_input_contents.append(tensor.raw)
        return bytes(written.SerializeToString())

    @classmethod
    def from_bytes(cls, data: bytes) -> InferRequest:
        """Raises ValueError."""
        read = _read(_REQUEST, data)
        return cls(read.model_name, _tensors(read.inputs, read.raw_input_contents), _parameters(read.parameters), read.id)


@dataclass(frozen=True, slots=True)
class InferResponse:
    """A model's answer."""

    model: str
    tensors: Mapping[str, Tensor]
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    id: str = ""

    def to_bytes(self) -> bytes:
        """The message `ModelInferResponse`."""
        return bytes(self._written().SerializeToString())

    def to_streamed_bytes(self) -> bytes:
        """The message `ModelStreamInferResponse` that holds it."""
        return bytes(_STREAMED(infer_response=self._written()).SerializeToString())

    def _written(self) -> _Message:
        written = _RESPONSE(model_name=self.model, id=self.id)
        _put_parameters(written.parameters, self.parameters)
        for name, tensor in self.tensors.items():
            written.outputs.add(name=name, datatype=tensor.datatype, shape=tensor.shape)
            written.raw_output_contents.append(tensor.raw)
        return written

    @property
    def is_last(self) -> bool:
        """True for the last response of a stream."""
        return self.parameters.get(FINAL) is True

    @classmethod
    def from_bytes(cls, data: bytes) -> InferResponse:
        """Raises ValueError."""
        return cls._of(_read(_RESPONSE, data))

    @classmethod
    def from_streamed_bytes(cls, data: bytes) -> tuple[InferResponse, str]:
        """A response of a stream, and the error in its place; empty if there is none. Raises ValueError."""
        read = _read(_STREAMED, data)
        return cls._of(read.infer_response), str(read.error_message)

    @classmethod
    def _of(cls, read: _Message) -> InferResponse:
        return cls(read.model_name, _tensors(read.outputs, read.raw_output_contents), _parameters(read.parameters), read.id)


def streamed_error(error: str, request_id: str, parameters: Mapping[str, Parameter]) -> bytes:
    """The message `ModelStreamInferResponse` of a request of a stream that failed."""
    answer = _RESPONSE(id=request_id)
    _put_parameters(answer.parameters, parameters)
    return bytes(_STREAMED(error_message=error, infer_response=answer).SerializeToString())


@dataclass(frozen=True, slots=True)
class TensorShape:
    """An input or an output of a model; -1 in its shape is any length."""

    name: str
    datatype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ModelMetadata:
    """A model, as its server describes it."""

    name: str
    inputs: tuple[TensorShape, ...] = ()
    outputs: tuple[TensorShape, ...] = ()
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    platform: str = ""

    def to_bytes(self) -> bytes:
        """The message `ModelMetadataResponse`."""
        written = _METADATA(name=self.name, versions=["1"], platform=self.platform)
        for tensors, told in ((written.inputs, self.inputs), (written.outputs, self.outputs)):
            for one in told:
                tensors.add(name=one.name, datatype=one.datatype, shape=one.shape)
        _put_parameters(written.parameters, self.parameters)
        return bytes(written.SerializeToString())

    @classmethod
    def from_bytes(cls, data: bytes) -> ModelMetadata:
        """Raises ValueError."""
        read = _read(_METADATA, data)
        inputs, outputs = (
            tuple(TensorShape(one.name, one.datatype, tuple(one.shape)) for one in tensors)
            for tensors in (read.inputs, read.outputs)
        )
        return cls(read.name, inputs, outputs, _parameters(read.parameters), read.platform)


def _read(kind: _Message, data: bytes) -> _Message:
    try:
        return kind.FromString(data)
    except DecodeError as error:
        raise ValueError(f"it is no {kind.DESCRIPTOR.name}") from error


def _tensors(described: Sequence[_Message], raw: Sequence[bytes]) -> dict[str, Tensor]:
    if len(described) > MAX_TENSORS:
        raise ValueError(f"it holds {len(described)} tensors; at most {MAX_TENSORS} are read")
    if raw and len(raw) != len(described):
        raise ValueError(f"it describes {len(described)} tensors and holds {len(raw)}")
    found: dict[str, Tensor] = {}
    for number, one in enumerate(described):
        if one.name in found:
            raise ValueError(f"it holds the tensor {one.name[:40]!r} twice")
        shape = tuple(one.shape)
        found[one.name] = (
            tensor_of_raw(one.name, one.datatype, shape, raw[number])
            if raw
            else tensor_of_contents(one.name, one.datatype, shape, one.contents)
        )
    return found


def _put_parameters(written: _Message, parameters: Mapping[str, Parameter]) -> None:
    for name, value in parameters.items():
        match value:
            case bool():
                written[name].bool_param = value
            case int():
                written[name].int64_param = value
            case float():
                written[name].double_param = value
            case str():
                written[name].string_param = value


def _parameters(read: Mapping[str, _Message]) -> dict[str, Parameter]:
    if len(read) > MAX_PARAMETERS:
        raise ValueError(f"it holds {len(read)} parameters; at most {MAX_PARAMETERS} are read")
    return dict(_each_parameter(read.items()))


def _each_parameter(items: Iterable[tuple[str, _Message]]) -> Iterable[tuple[str, Parameter]]:
    for name, value in items:
        choice = value.WhichOneof("parameter_choice")
        if choice is None:
            continue
        found: Parameter = getattr(value, choice)
        if isinstance(found, str) and len(found) > MAX_TEXT:
            raise ValueError(f"its parameter {name[:40]!r} has {len(found)} characters; at most {MAX_TEXT} are read")
        yield name, found
