"""Shapes of models against what their makers publish and against sums done by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from voiceagent.capacity.shape import find_model, known_models, kv_bits, read_shape
from voiceagent.errors import ConfigError
from voiceagent.resources import bundled_models_dir

KIB = 1024
SMALL = {
    "hidden_size": 64,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "vocab_size": 1000,
    "torch_dtype": "bfloat16",
}


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("llama-3.1-8b", 8_030_261_248),
        ("llama-3.2-1b", 1_235_814_400),
        ("llama-3.3-70b", 70_553_706_496),
        ("qwen3-8b", 8_190_735_360),
        ("qwen3-30b-a3b", 30_532_122_624),
        ("qwen2.5-7b", 7_615_616_512),
        ("mistral-7b-v0.3", 7_248_023_552),
        ("mixtral-8x7b", 46_702_792_704),
        ("deepseek-v2-lite", 15_706_484_224),
    ],
)
def test_parameters_are_those_that_the_weights_have(name: str, parameters: int) -> None:
    assert find_model(name).shape.parameters == pytest.approx(parameters, rel=1e-4)


@pytest.mark.parametrize(
    ("name", "kib"),
    [
        ("llama-3.1-8b", 128),  # 2 × 32 layers × 8 heads × 128 × 2 bytes
        ("llama-3.2-1b", 32),  # 2 × 16 × 8 × 64 × 2
        ("qwen3-8b", 144),  # 2 × 36 × 8 × 128 × 2
        ("qwen3-30b-a3b", 96),  # 2 × 48 × 4 × 128 × 2
        ("qwen2.5-7b", 56),  # 2 × 28 × 4 × 128 × 2
        ("deepseek-v2-lite", 30.375),  # 27 layers × (512 + 64) × 2: one latent for all heads
    ],
)
def test_a_token_takes_its_keys_and_values_in_every_layer(name: str, kib: float) -> None:
    shape = find_model(name).shape
    assert shape.kv_bytes_per_token(kv_bits(shape, "auto")) == kib * KIB
    assert shape.kv_bytes_per_token(kv_bits(shape, "fp8")) == kib * KIB / 2
    assert find_model("llama-3.1-8b").shape.kv_bytes(8192, 16) == 2**30


def test_a_sliding_window_bounds_what_its_layers_keep() -> None:
    shape = find_model("gemma-3-12b").shape
    assert (shape.layers, shape.windowed_layers, shape.window) == (48, 40, 1024)
    a_layer = 2 * 8 * 256 * 2
    assert shape.kv_bytes(8192, 16) == (8 * 8192 + 40 * 1024) * a_layer
    assert shape.kv_bytes(500, 16) == 48 * 500 * a_layer


def test_layer_types_say_which_layers_have_the_window() -> None:
    types = ["sliding_attention", "full_attention", "sliding_attention", "full_attention"]
    shape = read_shape("m", {**SMALL, "layer_types": types, "sliding_window": 128})
    assert (shape.windowed_layers, shape.window) == (2, 128)
    assert read_shape("m", {**SMALL, "sliding_window": 128, "use_sliding_window": False}).windowed_layers == 0
    assert read_shape("m", {**SMALL, "sliding_window": 128}).windowed_layers == 4


def test_one_sequence_reads_its_experts_and_many_read_all() -> None:
    shape = find_model("qwen3-30b-a3b").shape
    head = 151_936 * 2048
    one_token = shape.flops_per_token(0) / 2
    assert one_token == pytest.approx(3.04e9, rel=0.01)  # 3.3 billion with the embedding, as its maker counts
    assert shape.step_weight_bytes(1) == pytest.approx(2 * one_token)
    assert shape.step_weight_bytes(1000) == pytest.approx(shape.weight_bytes - 2 * head, rel=0.001)
    assert shape.step_weight_bytes(8) < 8 * shape.step_weight_bytes(1)


def test_quantised_layers_are_smaller_and_the_embeddings_are_not() -> None:
    full = find_model("llama-3.1-8b").shape
    assert full.weight_bytes == 2 * full.parameters
    embeddings = 2 * 128_256 * 4096
    fp8 = find_model("llama-3.1-8b", weights="fp8").shape
    assert fp8.weight_bytes == pytest.approx(full.parameters + embeddings, rel=1e-4)
    int4 = find_model("llama-3.1-8b", weights="int4").shape
    assert int4.weight_bytes == pytest.approx(5.73e9, rel=0.01)  # published AWQ files: 5.73 GB


@pytest.mark.parametrize(
    ("quantisation", "weights"),
    [
        ({"quant_method": "fp8"}, "fp8"),
        ({"quant_method": "awq", "bits": 4}, "int4"),
        ({"quant_method": "gptq", "bits": 8}, "int8"),
        ({"quant_method": "mxfp4"}, "mxfp4"),
    ],
)
def test_the_configuration_says_how_it_is_quantised(quantisation: dict[str, Any], weights: str) -> None:
    assert read_shape("m", {**SMALL, "quantization_config": quantisation}).weights == weights


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"hidden_size": None}, "hidden_size is missing"),
        ({"num_hidden_layers": 0}, "num_hidden_layers is 0"),
        ({"num_attention_heads": "many"}, "num_attention_heads is 'many'"),
        ({"torch_dtype": "complex"}, "dtype is 'complex'"),
        ({"quantization_config": {"quant_method": "quip"}}, "--weights"),
        ({"layer_types": ["linear_attention"] * 4}, "linear_attention"),
        ({"num_experts": 8}, "num_experts_per_tok is missing"),
    ],
)
def test_what_cannot_be_planned_is_said(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said) as refused:
        read_shape("m", {**SMALL, **change})
    assert "\n" not in str(refused.value)


def test_every_known_model_has_a_shape() -> None:
    for name, model in known_models().items():
        shape = find_model(name).shape
        assert shape == find_model(model.repository).shape
        assert 1 < shape.weight_bytes / 1e9 < 150


def test_a_folder_is_planned_by_its_own_files() -> None:
    folder = bundled_models_dir() / "lm" / "safetensors"
    found = find_model("micro", folder)
    assert found.file_bytes == sum(file.stat().st_size for file in folder.glob("*.safetensors"))
    assert found.shape.weight_bytes == pytest.approx(found.file_bytes, rel=0.02)
    assert found.shape.kv_bytes_per_token(16) == 2 * 4 * 3 * 64 * 2
    assert find_model(str(folder), weights="int8").file_bytes == 0


@pytest.mark.parametrize("text", ["{", "[1]", "", '"text"', "\x00"])
def test_a_broken_configuration_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ConfigError, match=r"config\.json"):
        find_model(str(tmp_path))


def test_the_language_part_of_a_larger_model_counts(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "vlm", "text_config": SMALL}))
    assert find_model(str(tmp_path)).shape.layers == 4
