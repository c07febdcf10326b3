"""Tensors of the Open Inference Protocol: arrays and texts as raw bytes, and back. A tensor from outside is checked when it is
read: its datatype, its shape, and that its content has the length that these say."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

DATATYPES = {
    "BOOL": np.dtype(np.bool_),
    "INT8": np.dtype(np.int8),
    "INT16": np.dtype("<i2"),
    "INT32": np.dtype("<i4"),
    "INT64": np.dtype("<i8"),
    "UINT8": np.dtype(np.uint8),
    "FP32": np.dtype("<f4"),
    "FP64": np.dtype("<f8"),
}
"""The datatypes that are read, besides `BYTES`, which holds texts."""
_CONTENTS = {
    "BOOL": "bool_contents",
    "INT8": "int_contents",
    "INT16": "int_contents",
    "INT32": "int_contents",
    "INT64": "int64_contents",
    "UINT8": "uint_contents",
    "FP32": "fp32_contents",
    "FP64": "fp64_contents",
    "BYTES": "bytes_contents",
}
TEXTS = "BYTES"
MAX_TEXTS = 10_000
LENGTH_BYTES = 4
"""Each element of a `BYTES` tensor has its length before it, as an unsigned number in little-endian order."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor: its content as the protocol's raw bytes, row by row."""

    datatype: str
    shape: tuple[int, ...]
    raw: bytes

    @classmethod
    def of(cls, array: NDArray[np.generic]) -> Tensor:
        """An array of one of `DATATYPES`. Raises ValueError."""
        for name, kind in DATATYPES.items():
            if array.dtype == kind:
                return cls(name, array.shape, np.ascontiguousarray(array, kind).tobytes())
        raise ValueError(f"an array of {array.dtype} has no datatype of the protocol here")

    @classmethod
    def of_texts(cls, texts: Sequence[str]) -> Tensor:
        """Texts in UTF-8, shape (texts,)."""
        parts = [text.encode() for text in texts]
        return cls(TEXTS, (len(parts),), b"".join(len(part).to_bytes(LENGTH_BYTES, "little") + part for part in parts))

    def array(self) -> NDArray[np.generic]:
        """The tensor as an array that must not be written to."""
        return np.frombuffer(self.raw, DATATYPES[self.datatype]).reshape(self.shape)

    def texts(self) -> list[str]:
        """The elements of a `BYTES` tensor. Raises ValueError."""
        found: list[str] = []
        at = 0
        while at < len(self.raw):
            end = at + LENGTH_BYTES
            length = int.from_bytes(self.raw[at:end], "little")
            if end + length > len(self.raw) or len(found) >= MAX_TEXTS:
                raise ValueError("a text in it is cut off")
            found.append(self.raw[end : end + length].decode())
            at = end + length
        return found


def tensor_of_raw(name: str, datatype: str, shape: tuple[int, ...], raw: bytes) -> Tensor:
    """A tensor from outside, as raw bytes. Raises ValueError."""
    count = _count(name, datatype, shape)
    tensor = Tensor(datatype, shape, raw)
    if datatype == TEXTS:
        found = len(tensor.texts())
    else:
        size = DATATYPES[datatype].itemsize
        found = len(raw) // size if len(raw) % size == 0 else -1
    if found != count:
        raise ValueError(f"its tensor {name[:40]!r} does not hold the {count} elements that its shape says")
    return tensor


def tensor_of_contents(name: str, datatype: str, shape: tuple[int, ...], contents: object) -> Tensor:
    """A tensor from outside, as the message `InferTensorContents`. Raises ValueError."""
    count = _count(name, datatype, shape)
    values = getattr(contents, _CONTENTS[datatype])
    if len(values) != count:
        raise ValueError(f"its tensor {name[:40]!r} does not hold the {count} elements that its shape says")
    if datatype == TEXTS:
        made = Tensor.of_texts([one.decode() for one in values])
    else:
        try:
            made = Tensor.of(np.array(values, DATATYPES[datatype]))
        except OverflowError as error:
            raise ValueError(f"its tensor {name[:40]!r} holds a number that {datatype} does not") from error
    return Tensor(datatype, shape, made.raw)


def _count(name: str, datatype: str, shape: tuple[int, ...]) -> int:
    if datatype not in _CONTENTS:
        raise ValueError(f"its tensor {name[:40]!r} is of {datatype[:20]!r}; expected one of {', '.join(_CONTENTS)}")
    if any(length < 0 for length in shape):
        raise ValueError(f"its tensor {name[:40]!r} has a negative length in its shape")
    return math.prod(shape)


def array_of(tensors: Mapping[str, Tensor], name: str, datatype: str) -> NDArray[np.generic]:
    """The array of one dimension that a message must hold under this name. Raises ValueError."""
    return _named(tensors, name, datatype).array()


def texts_of(tensors: Mapping[str, Tensor], name: str) -> list[str]:
    """The texts that a message must hold under this name. Raises ValueError."""
    return _named(tensors, name, TEXTS).texts()


def _named(tensors: Mapping[str, Tensor], name: str, datatype: str) -> Tensor:
    found = tensors.get(name)
    if found is None:
        raise ValueError(f"it holds no tensor {name!r}")
    if found.datatype != datatype or len(found.shape) != 1:
        raise ValueError(f"its tensor {name!r} is {found.datatype} of {len(found.shape)} dimensions; expected {datatype} of one")
    return found
