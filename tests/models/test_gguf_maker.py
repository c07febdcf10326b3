"""A language model made out of a GGUF file and an adapter, with a graph without weights or as safetensors, on a tiny Llama."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from voiceagent.models import gguf_with_adapter_safetensors as hugging_face
from voiceagent.models.gguf_with_adapter import BUNDLED, WEIGHTS, Adapter, GgufFile, in_8_bits, in_rows, make, read_safetensors
from voiceagent.models.makers import Array, Maker

SIZE, HEADS, WIDE, WORDS, POSITIONS = 64, 2, 96, 10, 16
RANDOM = np.random.default_rng(7)
MATRICES: dict[str, Array] = {
    "attn_q": RANDOM.normal(size=(SIZE, SIZE)),
    "attn_k": RANDOM.normal(size=(SIZE // 2, SIZE)),
    "attn_v": RANDOM.normal(size=(SIZE // 2, SIZE)),
    "attn_output": RANDOM.normal(size=(SIZE, SIZE)),
    "ffn_gate": RANDOM.normal(size=(WIDE, SIZE)),
    "ffn_up": RANDOM.normal(size=(WIDE, SIZE)),
    "ffn_down": RANDOM.normal(size=(SIZE, WIDE)),
}


def interleaved(weight: Array, heads: int) -> Array:
    """As llama.cpp writes the rows of an attention matrix."""
    return weight.reshape(heads, 2, weight.shape[0] // heads // 2, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)


def write_gguf(path: Path) -> None:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_embedding_length(SIZE)
    writer.add_feed_forward_length(WIDE)
    writer.add_block_count(1)
    writer.add_context_length(POSITIONS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(1)
    writer.add_rope_freq_base(10_000.0)
    writer.add_token_list([f"word{number}" for number in range(WORDS)])
    writer.add_token_merges(["w o", "wo r"])
    writer.add_tensor("token_embd.weight", RANDOM.normal(size=(WORDS, SIZE)).astype(np.float32))
    writer.add_tensor("output_norm.weight", np.ones(SIZE, np.float32))
    for name, weight in MATRICES.items():
        heads = {"attn_q": HEADS, "attn_k": 1}.get(name)
        stored = interleaved(weight, heads) if heads else weight
        writer.add_tensor(f"blk.0.{name}.weight", np.ascontiguousarray(stored, np.float32))
    writer.add_tensor("blk.0.attn_norm.weight", np.full(SIZE, 2, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_adapter(folder: Path, **tensors: Array) -> None:
    header: dict[str, Any] = {}
    data = b""
    for name, values in tensors.items():
        half = values.astype("<f2").tobytes()
        header[name] = {"dtype": "F16", "shape": list(values.shape), "data_offsets": [len(data), len(data) + len(half)]}
        data += half
    text = json.dumps(header).encode()
    (folder / "adapter_model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    (folder / "adapter_config.json").write_text(json.dumps({"r": 2, "lora_alpha": 4}))


def write_graph(path: Path, **shapes: tuple[int, tuple[int, ...]]) -> None:
    graph = helper.make_graph([], "tiny", [], [])
    offset = 0
    for name, (kind, shape) in shapes.items():
        tensor = graph.initializer.add(name=name, data_type=kind, dims=shape, data_location=TensorProto.EXTERNAL)
        length = int(np.prod(shape)) * (4 if kind == TensorProto.FLOAT else 1)
        for key, value in {"location": WEIGHTS, "offset": offset, "length": length}.items():
            tensor.external_data.add(key=key, value=str(value))
        offset += -(-length // 64) * 64
    onnx.save(helper.make_model(graph), path)


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "sources"
    folder.mkdir()
    write_gguf(folder / "tiny.gguf")
    return folder


@pytest.fixture
def bundled(tmp_path: Path) -> Path:
    folder = tmp_path / "bundled" / BUNDLED
    folder.mkdir(parents=True)
    for name in ("genai_config.json", "tokenizer_config.json", "chat_template.jinja"):
        (folder / name).write_text("{}")
    (folder / "tokenizer_frame.json").write_text('{"model": {"type": "BPE", "vocab": {}, "merges": []}}')
    stem = "base_model.model.model.layers.0.mlp.up_proj"
    down, up = RANDOM.normal(size=(2, SIZE)), RANDOM.normal(size=(WIDE, 2))
    write_adapter(folder, **{f"{stem}.lora_A.weight": down, f"{stem}.lora_B.weight": up})
    blocks = SIZE // 32
    write_graph(
        folder / "graph.onnx",
        **{
            "model.layers.0.input_layernorm.weight": (TensorProto.FLOAT, (SIZE,)),
            "cos_cache": (TensorProto.FLOAT, (POSITIONS, SIZE // HEADS // 2)),
            "model.layers.0.attn.qkv_proj.MatMul.weight_rows": (TensorProto.INT8, (SIZE, 2 * SIZE)),
            "model.layers.0.attn.qkv_proj.MatMul.weight_row_scales": (TensorProto.FLOAT, (2 * SIZE,)),
            "model.layers.0.mlp.up_proj.MatMul.weight_rows": (TensorProto.INT8, (SIZE, WIDE)),
            "model.layers.0.mlp.up_proj.MatMul.weight_row_scales": (TensorProto.FLOAT, (WIDE,)),
            "model.layers.1.final_norm_layernorm.weight": (TensorProto.FLOAT, (SIZE,)),
            "lm_head.MatMul.weight_Q8": (TensorProto.UINT8, (WORDS, blocks, 32)),
            "lm_head.MatMul.weight_scales": (TensorProto.FLOAT, (WORDS, blocks)),
        },
    )
    return folder.parent


def untold(file: str, there: int, size: int) -> None:
    """Nobody watches."""


def weights_of(folder: Path) -> dict[str, Array]:
    """The weights of a made model, those in whole numbers as they were again."""
    graph = onnx.load(str(folder / "model.onnx")).graph
    found: dict[str, Array] = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    for name in [name for name in found if name.endswith("weight_Q8")]:
        stem = name.removesuffix("_Q8")
        numbers = (found[name].astype(np.float32) - 128) * found[f"{stem}_scales"][..., None]
        found[stem] = numbers.reshape(len(numbers), -1)
    for name in [name for name in found if name.endswith("weight_rows")]:
        stem = name.removesuffix("_rows")
        found[stem] = (found[name] * found[f"{stem}_row_scales"]).T
    return found


def test_a_model_is_made_of_the_files_weights_and_the_adapters_change(sources: Path, bundled: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    make(sources, bundled, out, untold)
    made = weights_of(out)
    heads = np.concatenate([MATRICES[name] for name in ("attn_q", "attn_k", "attn_v")])
    np.testing.assert_allclose(made["model.layers.0.attn.qkv_proj.MatMul.weight"], heads, atol=0.02)
    tensors = read_safetensors(bundled / BUNDLED / "adapter_model.safetensors")
    (down,), (up,) = ([values for name, values in tensors.items() if f"lora_{part}" in name] for part in "AB")
    changed = MATRICES["ffn_up"] + 2 * up.astype(np.float64) @ down.astype(np.float64)
    np.testing.assert_allclose(made["model.layers.0.mlp.up_proj.MatMul.weight"], changed, atol=0.1)
    assert made["model.layers.0.input_layernorm.weight"].tolist() == [2] * SIZE
    assert made["model.layers.1.final_norm_layernorm.weight"].tolist() == [1] * SIZE
    np.testing.assert_allclose(made["cos_cache"][3, :2], np.cos([3, 3 * 10_000 ** (-1 / 16)]), atol=1e-6)
    tokenizer = json.loads((out / "tokenizer.json").read_text())
    assert tokenizer["model"]["vocab"]["word9"] == 9
    assert tokenizer["model"]["merges"] == ["w o", "wo r"]


@pytest.mark.parametrize("maker", [make, hugging_face.make])
def test_the_same_bytes_come_out_again(maker: Maker, sources: Path, bundled: Path, tmp_path: Path) -> None:
    outs = [tmp_path / name for name in "ab"]
    for out in outs:
        out.mkdir()
        maker(sources, bundled, out, untold)
    first, second = ({path.name: path.read_bytes() for path in out.iterdir()} for out in outs)
    assert first == second


def in_bfloat16(path: Path) -> dict[str, Array]:
    """The weights of a safetensors file in bfloat16, as float32."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    assert header.pop("__metadata__") == {"format": "pt"}
    assert {entry["dtype"] for entry in header.values()} == {"BF16"}
    places = {name: (8 + length + entry["data_offsets"][0], entry["shape"]) for name, entry in header.items()}
    halves = {name: np.frombuffer(data, "<u2", int(np.prod(shape)), start) for name, (start, shape) in places.items()}
    return {name: (half.astype("<u4") << 16).view("<f4").reshape(places[name][1]) for name, half in halves.items()}


def test_the_same_model_is_made_in_hugging_faces_format(sources: Path, bundled: Path, tmp_path: Path) -> None:
    hugging_face.make(sources, bundled, tmp_path, untold)
    gguf_file, adapter = GgufFile(sources / "tiny.gguf"), Adapter(bundled / BUNDLED)
    made = in_bfloat16(tmp_path / hugging_face.WEIGHTS)
    assert made.keys() == set(gguf_file.names)
    for name, values in made.items():
        np.testing.assert_allclose(values, adapter.merged(name, gguf_file.weight(name)), rtol=2**-8)
    changed = made["model.layers.0.mlp.up_proj.weight"] - MATRICES["ffn_up"]
    assert np.abs(changed).max() > 1, "the adapter's change is not in it"
    config = json.loads((tmp_path / "config.json").read_text())
    assert (config["hidden_size"], config["intermediate_size"], config["num_hidden_layers"]) == (SIZE, WIDE, 1)
    assert (config["num_attention_heads"], config["num_key_value_heads"], config["head_dim"]) == (HEADS, 1, SIZE // HEADS)
    assert (config["vocab_size"], config["rope_theta"], config["rms_norm_eps"]) == (WORDS, 10_000, 1e-5)
    assert json.loads((tmp_path / "tokenizer.json").read_text())["model"]["vocab"]["word9"] == 9
    assert (tmp_path / "chat_template.jinja").is_file()


def test_a_value_is_rounded_to_the_nearest_bfloat16_and_a_tie_to_the_even_one() -> None:
    step = 2.0**-7
    values = np.array([1 + 0.4 * step, 1 + 0.6 * step, 1 + 0.5 * step, 1 + 1.5 * step, -1 - 0.6 * step, 0], np.float32)
    rounded = (hugging_face.in_bfloat16(values).astype("<u4") << 16).view("<f4")
    assert rounded.tolist() == [1, 1 + step, 1, 1 + 2 * step, -1 - step, 0]


def test_an_unknown_weight_is_refused(tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "odd.gguf", "llama")
    writer.add_tensor("blk.0.attn_q_norm.weight", np.ones(SIZE, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(KeyError, match="attn_q_norm"):
        list(GgufFile(tmp_path / "odd.gguf").names)


def test_rows_of_attention_heads_stand_as_hugging_face_has_them(sources: Path) -> None:
    weight = GgufFile(sources / "tiny.gguf").weight("model.layers.0.self_attn.q_proj.weight")
    np.testing.assert_array_equal(weight, MATRICES["attn_q"].astype(np.float32))


def test_a_value_is_at_most_half_a_step_off_in_8_bits() -> None:
    weight = RANDOM.normal(size=(5, 64)).astype(np.float32)
    weight[0, :32] = 0
    steps, scales = in_8_bits(weight)
    back = ((steps.astype(np.float32) - 128) * scales[..., None]).reshape(weight.shape)
    assert (np.abs(back - weight) <= np.repeat(scales, 32, axis=1) / 2 + 1e-7).all()


def test_a_value_is_at_most_half_a_step_off_in_rows() -> None:
    weight = RANDOM.normal(size=(5, 48)).astype(np.float32)
    weight[1] = 0
    steps, scales = in_rows(weight)
    assert steps.shape == (48, 5)
    assert (np.abs(steps.T * scales[:, None] - weight) <= scales[:, None] / 2 + 1e-7).all()


def test_an_adapter_that_is_cut_off_is_refused(bundled: Path) -> None:
    path = bundled / BUNDLED / "adapter_model.safetensors"
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(ValueError, match="does not have the size of its shape"):
        Adapter(bundled / BUNDLED)
