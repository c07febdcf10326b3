"""The shape of a language model, read from its `config.json` (Hugging Face format): how many parameters it has, how many bytes
a step reads, and how much KV cache a conversation takes. Pure arithmetic; every formula names its source.

A shape comes from the table of well-known models (`models.yaml`), or from a folder with a `config.json`."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from voiceagent.errors import ConfigError, UnknownNameError
from voiceagent.json_types import JsonObject
from voiceagent.settings_file import did_you_mean
from voiceagent.untrusted_json import read_loose_json

WEIGHT_BITS = {
    "fp32": 32.0,
    "bf16": 16.0,
    "fp16": 16.0,
    "fp8": 8.0,
    "int8": 8.0,
    "int4": 4.16,
    "mxfp4": 4.25,
}
"""Bits of a weight by its type, scales included. int4 (AWQ, GPTQ) has a scale of 16 bits and a zero point of 4 for each group of
128; mxfp4 has a scale of 8 bits for each 32 (OCP Microscaling Formats 1.0)."""
_DTYPES = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}
_QUANTISED = {
    "fp8": "fp8",
    "fbgemm_fp8": "fp8",
    "awq": "int4",
    "gptq": "int4",
    "mxfp4": "mxfp4",
    "bitsandbytes": "int4",
    "compressed-tensors": "",
}


@dataclass(frozen=True, slots=True)
class Experts:
    """The experts of a mixture (MoE), the same in each sparse layer."""

    count: int
    active: int
    """Experts that a token is sent to."""
    intermediate: int
    """The inner width of one expert."""
    shared_intermediate: int
    """The inner width of the shared part that every token also passes; 0: none."""
    dense_layers: int
    """The number of first layers that have no experts."""


@dataclass(frozen=True, slots=True)
class Latent:
    """Multi-head latent attention: for each token, one compressed vector for all heads is cached (arXiv 2405.04434 §2.1)."""

    kv_rank: int
    rope_dim: int
    nope_dim: int
    value_dim: int
    query_rank: int
    """0: queries are not compressed."""


@dataclass(frozen=True, slots=True)
class ModelShape:
    """Features of a model that capacity depends on."""

    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocabulary: int
    tied: bool
    """True if the embedding is also the output matrix."""
    dtype: str
    """The type of what is not quantised: bf16, fp16 or fp32."""
    weights: str
    """The type of the layers' weights: a key of `WEIGHT_BITS`."""
    experts: Experts | None = None
    latent: Latent | None = None
    window: int = 0
    """Tokens that a layer with a sliding window keeps."""
    windowed_layers: int = 0

    @property
    def _attention_parameters(self) -> int:
        """Parameters of one layer."""
        if self.latent is None:
            return self.hidden * self.head_dim * (self.heads + 2 * self.kv_heads) + self.heads * self.head_dim * self.hidden
        latent = self.latent
        query = self.heads * (latent.nope_dim + latent.rope_dim)
        queries = self.hidden * latent.query_rank + latent.query_rank * query if latent.query_rank else self.hidden * query
        compress = self.hidden * (latent.kv_rank + latent.rope_dim)
        expand = latent.kv_rank * self.heads * (latent.nope_dim + latent.value_dim)
        return queries + compress + expand + self.heads * latent.value_dim * self.hidden

    def _layer_parameters(self, experts_used: float) -> float:
        """Parameters of all layers' matrices, with so many experts of each sparse layer (a gated MLP has three matrices)."""
        attention = self.layers * self._attention_parameters
        if self.experts is None:
            return attention + self.layers * 3 * self.hidden * self.intermediate
        experts = self.experts
        sparse_layers = self.layers - experts.dense_layers
        width = experts_used * experts.intermediate + experts.shared_intermediate
        router = self.hidden * experts.count
        dense = experts.dense_layers * 3 * self.hidden * self.intermediate
        return attention + dense + sparse_layers * (3 * self.hidden * width + router)

    @property
    def _all_layers(self) -> float:
        return self._layer_parameters(self.experts.count if self.experts else 0)

    @property
    def _active_layers(self) -> float:
        return self._layer_parameters(self.experts.active if self.experts else 0)

    @property
    def parameters(self) -> int:
        """All parameters except biases (below 0.1 %)."""
        embeddings = self.vocabulary * self.hidden * (1 if self.tied else 2)
        norms = (2 * self.layers + 1) * self.hidden
        return round(self._all_layers + embeddings + norms)

    @property
    def weight_bytes(self) -> int:
        """Bytes in memory: the layers in their type; embeddings, output matrix and norms in `dtype`."""
        other = self.parameters - self._all_layers
        return round((self._all_layers * WEIGHT_BITS[self.weights] + other * WEIGHT_BITS[self.dtype]) / 8)

    def step_weight_bytes(self, sequences: float) -> float:
        """Bytes of the weights that a decoding step for that many sequences reads. A sequence uses each expert of a mixture with
        the chance active / count; the step reads every expert that any sequence uses."""
        used = 0.0
        if self.experts is not None:
            used = self.experts.count * (1 - (1 - self.experts.active / self.experts.count) ** sequences)
        head = self.vocabulary * self.hidden * WEIGHT_BITS[self.dtype]
        return (self._layer_parameters(used) * WEIGHT_BITS[self.weights] + head) / 8

    def flops_per_token(self, context_tokens: int) -> float:
        """Operations to read or write one token behind `context_tokens` others: two per weight that it passes (arXiv 2001.08361
        §2.1), and for attention two for each of query × key and score × value."""
        keys = self.heads * (self.head_dim if self.latent is None else self.latent.nope_dim + self.latent.rope_dim)
        full = self.layers - self.windowed_layers
        seen = full * context_tokens + self.windowed_layers * min(context_tokens, self.window)
        return 2 * (self._active_layers + self.vocabulary * self.hidden) + 4 * keys * seen

    def _kv_values_of_layer(self) -> int:
        """Numbers that one layer caches for a token: a key and a value for each KV head (GQA, arXiv 2305.13245), or the
        latent."""
        if self.latent is not None:
            return self.latent.kv_rank + self.latent.rope_dim
        return 2 * self.kv_heads * self.head_dim

    def kv_bytes_per_token(self, kv_bits: float) -> float:
        """KV cache bytes of one more token, at so many bits a number. Every layer counts, as long as a conversation is shorter
        than the sliding window."""
        return self.layers * self._kv_values_of_layer() * kv_bits / 8

    def kv_bytes(self, context_tokens: int, kv_bits: float) -> float:
        """KV cache bytes of a conversation of that many tokens: layers with a sliding window keep no more than the window."""
        full = (self.layers - self.windowed_layers) * context_tokens
        windowed = self.windowed_layers * min(context_tokens, self.window)
        return (full + windowed) * self._kv_values_of_layer() * kv_bits / 8


def read_shape(name: str, config: JsonObject, weights: str = "") -> ModelShape:
    """The shape that a `config.json` describes. With `weights`, the layers' weights have that type. For a model that also sees or
    hears, it is the shape of the language model alone. Raises ConfigError, which names the key that is missing or cannot be
    planned."""
    reader = _Reader(name, {**config, **config["text_config"]} if isinstance(config.get("text_config"), Mapping) else config)
    hidden = reader.positive("hidden_size")
    layers = reader.positive("num_hidden_layers")
    heads = reader.positive("num_attention_heads")
    windowed_layers, window = reader.windows(layers)
    dtype = reader.dtype()
    return ModelShape(
        name=name,
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=reader.positive("num_key_value_heads", heads),
        head_dim=reader.positive("head_dim", max(1, hidden // heads)),
        intermediate=reader.positive("intermediate_size"),
        vocabulary=reader.positive("vocab_size"),
        tied=reader.tied(),
        dtype=dtype,
        weights=weights or reader.weights(dtype),
        experts=reader.experts(),
        latent=reader.latent(),
        window=window,
        windowed_layers=windowed_layers,
    )


class _Reader:
    """Reads the keys of one configuration."""

    def __init__(self, name: str, config: dict[str, object]) -> None:
        self._name = name
        self._config = config

    def positive(self, key: str, default: int | None = None, *, least: int = 1) -> int:
        value = self._config.get(key)
        if value is None and default is not None:
            return default
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= 10**9:
            found = "is missing" if value is None else f"is {value!r:.40}"
            raise ConfigError(
                f"{self._name}: {key} {found}, expected a number of {least} or more; give --model the folder or config.json "
                "of a decoder in Hugging Face format"
            )
        return value

    def dtype(self) -> str:
        found = self._config.get("dtype") or self._config.get("torch_dtype") or "bfloat16"
        if found not in _DTYPES:
            raise ConfigError(f"{self._name}: dtype is {found!r:.40}, expected one of {', '.join(_DTYPES)}")
        return _DTYPES[found]

    def weights(self, dtype: str) -> str:
        quantisation = self._config.get("quantization_config")
        if not isinstance(quantisation, Mapping):
            return dtype
        method = quantisation.get("quant_method")
        bits = quantisation.get("bits")
        known = {8: "int8", 4: "int4"}.get(bits) if isinstance(bits, int) else _QUANTISED.get(str(method))
        if not known:
            raise ConfigError(
                f"{self._name}: is quantised by {method!r:.40}, which does not say how many bits a weight has; "
                f"say it with --weights ({', '.join(WEIGHT_BITS)})"
            )
        return known

    def tied(self) -> bool:
        # Gemma's configurations leave out values that are their default; others write them.
        default = str(self._config.get("model_type", "")).startswith("gemma")
        return bool(self._config.get("tie_word_embeddings", default))

    def experts(self) -> Experts | None:
        names = ("num_experts", "num_local_experts", "n_routed_experts")
        key = next((name for name in names if self._config.get(name)), "")
        if not key:
            return None
        count = self.positive(key)
        active = self.positive("experts_per_token" if "experts_per_token" in self._config else "num_experts_per_tok")
        intermediate = self.positive("moe_intermediate_size", self.positive("intermediate_size"))
        shared = self.positive("shared_expert_intermediate_size", 0, least=0)
        shared += self.positive("n_shared_experts", 0, least=0) * intermediate
        dense_layers = self.positive("first_k_dense_replace", 0, least=0)
        return Experts(count, min(active, count), intermediate, shared, min(dense_layers, self.positive("num_hidden_layers")))

    def latent(self) -> Latent | None:
        if not self._config.get("kv_lora_rank"):
            return None
        return Latent(
            kv_rank=self.positive("kv_lora_rank"),
            rope_dim=self.positive("qk_rope_head_dim"),
            nope_dim=self.positive("qk_nope_head_dim"),
            value_dim=self.positive("v_head_dim"),
            query_rank=self.positive("q_lora_rank", 0),
        )

    def windows(self, layers: int) -> tuple[int, int]:
        """The number of layers with a sliding window, and the window's tokens."""
        types = self._config.get("layer_types")
        window = self._config.get("sliding_window")
        if isinstance(types, list):
            strange = sorted({str(kind) for kind in types} - {"full_attention", "sliding_attention"})
            if strange:
                raise ConfigError(
                    f"{self._name}: has layers of {', '.join(strange)[:80]}, whose memory is not planned here; "
                    "expected full_attention and sliding_attention"
                )
            windowed = types.count("sliding_attention")
            return (windowed, self.positive("sliding_window")) if windowed else (0, 0)
        if not window or self._config.get("use_sliding_window") is False:
            return 0, 0
        every = self.positive("sliding_window_pattern", 0, least=0)
        return layers - (layers // every if every else 0), self.positive("sliding_window")


def kv_bits(shape: ModelShape, kv_dtype: str) -> float:
    """Bits of a number in the KV cache: `auto` is the model's own type, else a key of `WEIGHT_BITS`."""
    return WEIGHT_BITS[shape.dtype if kv_dtype == "auto" else kv_dtype]


MAX_CONFIG_BYTES = 4_000_000


class KnownModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A well-known model."""

    repository: str
    config: dict[str, object]
    """The values of its `config.json` on which its shape depends."""


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A model whose shape was found."""

    shape: ModelShape
    source: str
    """The repository or file it was found in."""
    file_bytes: int
    """The size of its weights' files, which is what a server keeps in memory; 0: they are not here, or are to be quantised
    anew."""


@functools.cache
def known_models() -> dict[str, KnownModel]:
    """The table, by name."""
    return msgspec.yaml.decode((Path(__file__).parent / "models.yaml").read_bytes(), type=dict[str, KnownModel])


def find_model(name: str, folder: Path | None = None, weights: str = "") -> FoundModel:
    """A model by its name, its repository, its folder or its `config.json`. `folder` is where the registry keeps a model of that
    name. With `weights`, its layers are planned in that type. Raises ConfigError, which names the known models."""
    place = folder if folder is not None else Path(name)
    if (place / "config.json").is_file():
        place /= "config.json"
    if place.is_file():
        shape = read_shape(name, _read_config(place), weights)
        files = 0 if weights else sum(file.stat().st_size for file in place.parent.glob("*.safetensors"))
        return FoundModel(shape, str(place), files)
    for known, model in known_models().items():
        if name.lower() in (known, model.repository.lower()):
            return FoundModel(read_shape(known, model.config, weights), model.repository, 0)
    raise UnknownNameError(
        f"there is no model {name!r:.80}; expected a folder with a config.json in Hugging Face format, "
        f"or one of {', '.join(known_models())}{did_you_mean(name, known_models())}"
    )


def _read_config(path: Path) -> dict[str, object]:
    try:
        with path.open("rb") as file:
            data = read_loose_json(file.read(MAX_CONFIG_BYTES))
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{path}: cannot be read ({' '.join(str(error).split())[:80]}); expected a model's config.json"
        ) from error
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: holds {type(data).__name__}, expected a model's configuration, a JSON object")
    return data
