"""onnxruntime-genai by its C API (`ort_genai_c.h` of microsoft/onnxruntime-genai). Its Python binding holds Python's global lock
while a model computes: each piece of a prompt would stop the event loop, and with it the audio of every call, for as long. A
call by ctypes does not hold the lock. One thread at a time may use a model and its generators."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_size_t, c_void_p
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

RECENT = "recent_logits"
"""The name of an output [1, up to RECENT_TOKENS, vocabulary], float32: the logits of the last tokens that were read, so that
several tokens can be checked in one step. models/train/adapter_graph.py builds such a graph, in an environment that has no more
of the engine than this file."""
RECENT_TOKENS = 12
"""A draft of 11 tokens, and the token before it. Each costs 0.35 ms per reading of a prompt, on the two cores of the starter's
budget."""


CPU = Path("/proc/cpuinfo")
WITH_VNNI = {"avx512_vnni", "avx_vnni"}
SLOWER = {"session.x64quantprecision": "1"}


def session_options(cpu: Path = CPU) -> dict[str, str]:
    """Options of an onnxruntime session that say how to multiply 8-bit integers on this CPU. An x86 CPU without VNNI adds pairs
    of products in 16 bits. They overflow, and the model writes nonsense. onnxruntime has a slower method without overflow, which
    is chosen here for such a CPU and for an unknown one (onnxruntime, docs "Quantize ONNX models": U8S8 on x86-64). A CPU with
    VNNI would be half as fast with it."""
    try:
        lines = cpu.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return SLOWER
    flags = next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), None)
    return SLOWER if flags is not None and WITH_VNNI.isdisjoint(flags) else {}


Logits = NDArray[np.float32]
"""Logits of the last tokens, [1, tokens, vocabulary]."""

FLOAT32 = 1
"""`OgaElementType_float32`."""
Foreign = Any
"""A type of C, or a value of one."""
LIBRARIES = ("libonnxruntime-genai.so", "libonnxruntime-genai.dylib", "onnxruntime-genai.dll")

_LONG: dict[str, tuple[Foreign, ...]] = {
    "OgaCreateModelFromConfig": (c_void_p, POINTER(c_void_p)),
    "OgaCreateGenerator": (c_void_p, c_void_p, POINTER(c_void_p)),
    "OgaGenerator_AppendTokens": (c_void_p, POINTER(c_int32), c_size_t),
    "OgaGenerator_GenerateNextToken": (c_void_p,),
    "OgaGenerator_GetLogits": (c_void_p, POINTER(c_void_p)),  # it reads a token that was picked and not read yet
}
"""Functions that take long, and the types of their arguments. Each returns null, or an error to free."""
_SHORT: dict[str, tuple[Foreign, ...]] = {
    "OgaCreateConfig": (c_char_p, POINTER(c_void_p)),
    "OgaConfigOverlay": (c_void_p, c_char_p),
    "OgaCreateGeneratorParams": (c_void_p, POINTER(c_void_p)),
    "OgaGeneratorParamsSetSearchNumber": (c_void_p, c_char_p, c_double),
    "OgaGeneratorParamsSetSearchBool": (c_void_p, c_char_p, c_bool),
    "OgaGenerator_RewindTo": (c_void_p, c_size_t),
    "OgaGenerator_GetNextTokens": (c_void_p, POINTER(POINTER(c_int32)), POINTER(c_size_t)),
    "OgaGenerator_GetOutput": (c_void_p, c_char_p, POINTER(c_void_p)),
    "OgaTensorGetType": (c_void_p, POINTER(c_int)),
    "OgaTensorGetShapeRank": (c_void_p, POINTER(c_size_t)),
    "OgaTensorGetShape": (c_void_p, POINTER(c_int64), c_size_t),
    "OgaTensorGetData": (c_void_p, POINTER(c_void_p)),
}
"""The same for functions that take microseconds. They keep the lock, because it can take 5 ms to get it back."""
_MADE = ("Config", "Model", "GeneratorParams", "Generator", "Tensor")
"""Kinds of objects that the library makes and has to free."""

_Function = Callable[..., Foreign]


class _Handle:
    """An object made by the library, freed with this one."""

    def __init__(self, destroy: _Function) -> None:
        self.pointer = c_void_p()
        self._destroy = destroy

    def __del__(self) -> None:
        if self.pointer:
            self._destroy(self.pointer)


class LoadedModel:
    """A loaded model."""

    def __init__(self, folder: Path, settings: str) -> None:
        """`settings` is JSON that goes over the folder's `genai_config.json`. Raises ImportError without the library, and
        RuntimeError if it cannot load the model."""
        self._functions = _functions()
        config = self.make("Config", "OgaCreateConfig", str(folder).encode())
        self.call("OgaConfigOverlay", config.pointer, settings.encode())
        self._handle = self.make("Model", "OgaCreateModelFromConfig", config.pointer)

    def generator(self, search: Mapping[str, float | bool]) -> Generator:
        """A new generator with these search options. Raises RuntimeError."""
        parameters = self.make("GeneratorParams", "OgaCreateGeneratorParams", self._handle.pointer)
        for name, value in search.items():
            kind = "Bool" if isinstance(value, bool) else "Number"
            self.call(f"OgaGeneratorParamsSetSearch{kind}", parameters.pointer, name.encode(), value)
        return Generator(self, self.make("Generator", "OgaCreateGenerator", self._handle.pointer, parameters.pointer))

    def make(self, kind: str, function: str, *arguments: object) -> _Handle:
        """The object that the function makes and returns in its last argument. Raises RuntimeError."""
        made = _Handle(self._functions[f"OgaDestroy{kind}"])
        self.call(function, *arguments, byref(made.pointer))
        return made

    def call(self, function: str, *arguments: object) -> None:
        """Call a function of the library. Raises RuntimeError with its message."""
        failure = self._functions[function](*arguments)
        if failure:
            message: bytes = self._functions["OgaResultGetError"](failure)
            text = message.decode(errors="replace")
            self._functions["OgaDestroyResult"](failure)
            raise RuntimeError(text)


class Generator:
    """Tokens and the KV cache behind them. Each method raises RuntimeError if the library cannot do it."""

    def __init__(self, model: LoadedModel, handle: _Handle) -> None:
        """Made by `LoadedModel.generator`."""
        self._model = model
        self._handle = handle

    def append_tokens(self, tokens: Sequence[int], /) -> None:
        """Read these tokens."""
        self._call("OgaGenerator_AppendTokens", (c_int32 * len(tokens))(*tokens), len(tokens))

    def rewind_to(self, length: int, /) -> None:
        """Forget the tokens behind so many."""
        self._call("OgaGenerator_RewindTo", length)

    def get_logits(self) -> Logits:
        """The logits of the last token."""
        return self._floats("OgaGenerator_GetLogits")

    def get_output(self, name: str, /) -> Logits:
        """An output of the graph. Raises RuntimeError where there is no such output."""
        return self._floats("OgaGenerator_GetOutput", name.encode())

    def generate_next_token(self) -> None:
        """Pick a token."""
        self._call("OgaGenerator_GenerateNextToken")

    def get_next_tokens(self) -> list[int]:
        """The token that was picked, [1]."""
        tokens, count = POINTER(c_int32)(), c_size_t()
        self._call("OgaGenerator_GetNextTokens", byref(tokens), byref(count))
        return tokens[: count.value]

    def _call(self, function: str, *arguments: object) -> None:
        self._model.call(function, self._handle.pointer, *arguments)

    def _floats(self, function: str, *arguments: object) -> Logits:
        """A copy of a tensor."""
        tensor = self._model.make("Tensor", function, self._handle.pointer, *arguments)
        kind, rank, data = c_int(), c_size_t(), c_void_p()
        self._model.call("OgaTensorGetType", tensor.pointer, byref(kind))
        self._model.call("OgaTensorGetShapeRank", tensor.pointer, byref(rank))
        shape = (c_int64 * rank.value)()
        self._model.call("OgaTensorGetShape", tensor.pointer, shape, rank)
        self._model.call("OgaTensorGetData", tensor.pointer, byref(data))
        if kind.value != FLOAT32:
            raise RuntimeError(f"the graph gives logits of element type {kind.value}; float32 is expected")
        values = ctypes.cast(data, POINTER(c_float))
        return np.ctypeslib.as_array(values, tuple(shape)).copy()


@cache
def _functions() -> dict[str, _Function]:
    import onnxruntime_genai  # slow to import, and it loads what the library needs: only where this engine is used

    folder = Path(onnxruntime_genai.__file__).parent
    file = next((folder / name for name in LIBRARIES if (folder / name).exists()), None)
    if file is None:
        raise ImportError(f"{folder}: none of {', '.join(LIBRARIES)} is there; install onnxruntime-genai again")
    without_lock, with_lock = ctypes.CDLL(str(file)), ctypes.PyDLL(str(file))
    found: dict[str, _Function] = {}

    def take(library: ctypes.CDLL, name: str, arguments: tuple[Foreign, ...], result: Foreign) -> None:
        function = library[name]
        function.argtypes, function.restype = arguments, result
        found[name] = function

    for name, arguments in _LONG.items():
        take(without_lock, name, arguments, c_void_p)
    for name, arguments in _SHORT.items():
        take(with_lock, name, arguments, c_void_p)
    for kind in _MADE:
        take(with_lock, f"OgaDestroy{kind}", (c_void_p,), None)
    take(with_lock, "OgaResultGetError", (c_void_p,), c_char_p)
    take(with_lock, "OgaDestroyResult", (c_void_p,), None)
    return found
