"""The maker `gguf-with-adapter`: makes an onnxruntime-genai model from a GGUF file, an adapter, and a graph that is shipped
without its weights. It needs no torch and takes seconds. The bundled folder holds the graph and its settings, made once by
onnxruntime-genai's model builder (models/train/adapter_graph.py), the adapter, and the tokenizer without its vocabulary, which
comes from the GGUF file."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx

from voiceagent.models.adapter import Adapter
from voiceagent.models.block_quantization import ROW_SCALES, ROWS, in_8_bits, in_rows
from voiceagent.models.gguf_weights import GgufFile
from voiceagent.models.made_files import Array
from voiceagent.models.makers import Progress

BUNDLED = "smollm2-tools"
GRAPH, WEIGHTS = "model.onnx", "model.onnx.data"
AS_THEY_ARE = ("genai_config.json", "chat_template.jinja", "tokenizer_config.json")
_FUSED = {"attn.qkv_proj": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"), "attn.o_proj": ("self_attn.o_proj",)}


def make(sources: Path, bundled: Path, out: Path, progress: Progress) -> None:
    """See `makers`. Raises ValueError, KeyError for a GGUF file or a graph of another shape."""
    folder = bundled / BUNDLED
    gguf = GgufFile(next(sources.glob("*.gguf")))
    adapter = Adapter(folder)
    shutil.copyfile(folder / "graph.onnx", out / GRAPH)
    for name in AS_THEY_ARE:
        shutil.copyfile(folder / name, out / name)
    (out / "tokenizer.json").write_text(tokenizer(folder / "tokenizer_frame.json", gguf), encoding="utf-8")
    graph = onnx.load(str(folder / "graph.onnx"), load_external_data=False).graph
    _write_weights(graph, _Weights(gguf, adapter), out / WEIGHTS, progress)


def tokenizer(frame: Path, gguf: GgufFile) -> str:
    """A tokenizer.json: the bundled frame with the vocabulary and the merges of the GGUF file."""
    whole = json.loads(frame.read_text(encoding="utf-8"))
    tokens = gguf.strings("tokenizer.ggml.tokens")
    whole["model"]["vocab"] = {token: number for number, token in enumerate(tokens)}
    whole["model"]["merges"] = gguf.strings("tokenizer.ggml.merges")
    return json.dumps(whole, ensure_ascii=False, separators=(",", ":"))


class _Weights:
    """The graph's weights by their names in it. The bytes and the scales of a quantised weight are asked for one after the other,
    so the last pair is kept."""

    def __init__(self, gguf: GgufFile, adapter: Adapter) -> None:
        self._gguf = gguf
        self._adapter = adapter
        self._last: tuple[str, Array, Array] = ("", np.empty(0), np.empty(0))

    def of(self, name: str, shape: tuple[int, ...]) -> Array:
        """Raises KeyError for a name that a Llama does not have."""
        if name in ("cos_cache", "sin_cache"):
            return _rotary(math.cos if name == "cos_cache" else math.sin, shape, float(self._gguf.value("llama.rope.freq_base")))
        stem, _, ending = name.rpartition(".MatMul.")
        if not stem:
            return self._gguf.weight(_norm(name))
        if self._last[0] != stem:
            quantised = in_rows if ending in (ROWS, ROW_SCALES) else in_8_bits
            self._last = (stem, *quantised(self._matrix(stem)))
        _, steps, scales = self._last
        return steps if ending in (ROWS, "weight_Q8") else scales

    def _matrix(self, stem: str) -> Array:
        if stem == "lm_head":
            return self._gguf.weight("model.embed_tokens.weight")
        layer, part = stem.split(".")[2], ".".join(stem.split(".")[3:])
        names = [f"model.layers.{layer}.{one}.weight" for one in _FUSED.get(part, (part,))]
        return np.concatenate([self._adapter.merged(name, self._gguf.weight(name)) for name in names])


def _norm(name: str) -> str:
    """The builder counts the norm behind the last layer as one of a further layer."""
    return "model.norm.weight" if name.endswith("final_norm_layernorm.weight") else name


def _rotary(function: Callable[[float], float], shape: tuple[int, ...], base: float) -> Array:
    """cos or sin of position times frequency, [positions, half a head], computed in float64 and then rounded (RoFormer, Su et
    al.)."""
    positions, half = shape
    frequencies = [base ** -(index / half) for index in range(half)]
    values = [function(position * frequency) for position in range(positions) for frequency in frequencies]
    return np.array(values, np.float64).astype(np.float32).reshape(shape)


def _write_weights(graph: onnx.GraphProto, weights: _Weights, path: Path, progress: Progress) -> None:
    entries = sorted(_external(graph), key=lambda entry: entry[2])
    size = max(offset + length for _, _, offset, length in entries)
    with path.open("wb") as file:
        for name, shape, offset, length in entries:
            values = weights.of(name, shape)
            if values.nbytes != length:
                raise ValueError(f"{name} has {values.nbytes} bytes, the graph expects {length}")
            file.write(b"\0" * (offset - file.tell()))
            file.write(np.ascontiguousarray(values).tobytes())
            progress(path.name, file.tell(), size)


def _external(graph: onnx.GraphProto) -> Iterator[tuple[str, tuple[int, ...], int, int]]:
    for tensor in graph.initializer:
        place = {entry.key: entry.value for entry in tensor.external_data}
        yield tensor.name, tuple(tensor.dims), int(place["offset"]), int(place["length"])
