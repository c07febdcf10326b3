"""The maker `gguf-with-adapter`: makes an onnxruntime-genai model from a GGUF file, an adapter, and a graph that is shipped
without its weights. It needs no torch and takes seconds. The bundled folder holds the graph and its settings, made once by
onnxruntime-genai's model builder (models/train/adapter_graph.py), the adapter, and the tokenizer without its vocabulary, which
comes from the GGUF file."""

from __future__ import annotations

import json
import math
import shutil
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from gguf import GGUFReader
from gguf.quants import dequantize

from voiceagent.models.makers import Array, Progress

LAYER = {
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_WHOLE = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight"}


class GgufFile:
    """The weights of a Llama-shaped model in a GGUF file, by the names and in the order of Hugging Face's format. For its rotary
    embedding GGUF interleaves the halves of each attention head (llama.cpp's convert_hf_to_gguf.py, `permute`); here they are one
    after the other again."""

    def __init__(self, path: Path) -> None:
        """Raises ValueError for a file that is not GGUF."""
        self._reader = GGUFReader(path)
        self._tensors = {tensor.name: tensor for tensor in self._reader.tensors}

    @property
    def names(self) -> Iterator[str]:
        """The names of all weights, in Hugging Face's format."""
        return (_hub_name(name) for name in self._tensors)

    def shape(self, name: str) -> list[int]:
        """The shape of a weight, by its name in Hugging Face's format. Raises KeyError."""
        return [int(length) for length in reversed(self._tensors[_gguf_name(name)].shape)]

    def weight(self, name: str) -> Array:
        """A weight by its name in Hugging Face's format: float32 [rows, columns], or [values]. Raises KeyError."""
        tensor = self._tensors[_gguf_name(name)]
        found: Array = np.asarray(dequantize(tensor.data, tensor.tensor_type), np.float32)
        heads = {"q_proj": "llama.attention.head_count", "k_proj": "llama.attention.head_count_kv"}
        for part, key in heads.items():
            if f".{part}." in name:
                found = _halves_apart(found, int(self.value(key)))
        return found

    def value(self, key: str) -> Any:
        """A metadata value, of whatever type it has in the file: the gguf package tells none. Raises KeyError."""
        return self._reader.fields[key].contents()

    def strings(self, key: str) -> list[str]:
        """A metadata value that is a list of texts. Raises KeyError."""
        field = self._reader.fields[key]
        return [bytes(field.parts[index]).decode("utf-8") for index in field.data]


def _halves_apart(weight: Array, heads: int) -> Array:
    half = weight.shape[0] // heads // 2
    return weight.reshape(heads, half, 2, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)


def _hub_name(name: str) -> str:
    if name in _WHOLE:
        return _WHOLE[name]
    _, layer, part, ending = name.split(".")
    return f"model.layers.{layer}.{LAYER[part]}.{ending}"


def _gguf_name(name: str) -> str:
    for short, long in _WHOLE.items():
        if name == long:
            return short
    _, _, layer, *part, ending = name.split(".")
    short = next(short for short, long in LAYER.items() if long == ".".join(part))
    return f"blk.{layer}.{short}.{ending}"


BLOCK = 32
ROWS, ROW_SCALES = "weight_rows", "weight_row_scales"
"""The names of the two arrays of in_rows in a graph."""


def in_rows(weight: Array) -> tuple[Array, Array]:
    """Weights [rows, columns] as (int8 [columns, rows], float32 scales [rows]), as onnxruntime's MatMulIntegerToFloat reads them
    (its docs/ContribOperators.md). Every machine gets the same bytes, because all arithmetic is element by element."""
    values = weight.astype(np.float32)
    scales = _scales(values)
    steps = np.clip(np.rint(values / _without_zero(scales)[:, None]), -127, 127)
    return np.ascontiguousarray(steps.astype(np.int8).T), scales


def in_8_bits(weight: Array) -> tuple[Array, Array]:
    """Weights [rows, columns] as (uint8 [rows, blocks, 32], float32 scales [rows, blocks]), with 128 for 0, as onnxruntime's
    MatMulNBits and GatherBlockQuantized read them. Every machine gets the same bytes. (With 4 bits a model of 135 million
    parameters chooses another word in half of all places.)"""
    rows, columns = weight.shape
    blocks = weight.reshape(rows, columns // BLOCK, BLOCK).astype(np.float32)
    scales = _scales(blocks)
    steps = np.clip(np.rint(blocks / _without_zero(scales)[..., None]), -127, 127)
    return (steps + 128).astype(np.uint8), scales


def _scales(values: Array) -> Array:
    scales: Array = (np.abs(values).max(-1) / np.float32(127)).astype(np.float32)
    return scales


def _without_zero(scales: Array) -> Array:
    return np.where(scales == 0, np.float32(1), scales)


_PREFIX = "base_model.model."
_TYPES: dict[str, np.dtype[np.generic]] = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2")}


class Adapter:
    """A LoRA adapter (Hu et al. 2021) in the files of Hugging Face's PEFT, `adapter_config.json` and `adapter_model.safetensors`,
    which vLLM loads too: two narrow matrices for each weight that it changes, weight + alpha / rank * B A."""

    def __init__(self, folder: Path) -> None:
        """Raises OSError, ValueError, KeyError for files that are no adapter."""
        config = json.loads((folder / "adapter_config.json").read_text(encoding="utf-8"))
        self._factor = np.float32(config["lora_alpha"] / config["r"])
        self._tensors = read_safetensors(folder / "adapter_model.safetensors")

    def merged(self, name: str, weight: Array) -> Array:
        """The weight of that name (`model.layers.0.mlp.up_proj.weight`), float32 [rows, columns], with its change. The change is
        added rank by rank, because a matrix product would differ in its last bits from machine to machine."""
        stem = _PREFIX + name.removesuffix(".weight")
        down, up = self._tensors.get(f"{stem}.lora_A.weight"), self._tensors.get(f"{stem}.lora_B.weight")
        if down is None or up is None:
            return weight
        change = np.zeros(weight.shape, np.float32)
        for rank in range(down.shape[0]):
            change += up[:, rank, None].astype(np.float32) * down[rank].astype(np.float32)
        found: Array = weight + change * self._factor
        return found


def read_safetensors(path: Path) -> dict[str, Array]:
    """All tensors of a file: eight bytes of length, a JSON header, the data (huggingface/safetensors, README). Raises OSError,
    ValueError, KeyError."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    found: dict[str, Array] = {}
    for name, entry in header.items():
        start, end = entry["data_offsets"]
        if end - start != math.prod(entry["shape"]) * _TYPES[entry["dtype"]].itemsize or 8 + length + end > len(data):
            raise ValueError(f"{path.name}: {name} does not have the size of its shape")
        values = np.frombuffer(data, _TYPES[entry["dtype"]], math.prod(entry["shape"]), 8 + length + start)
        found[name] = values.reshape(entry["shape"])
    return found


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
