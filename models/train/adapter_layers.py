"""A frozen linear layer with a low-rank change that learns (LoRA, Hu et al. 2021). The frozen weight has 8 bits a value. On a CPU
with VNNI it runs in 8-bit integers, forward and backward, each row of its input scaled by itself: twice as fast as float32. On a
CPU with AMX it runs in bfloat16, as all the model does: 1.4 times as fast as that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import torch
from torch import nn
from transformers import LlamaForCausalLM

RANK, ALPHA = 16, 32
ATTENTION, FEED_FORWARD = ("q_proj", "k_proj", "v_proj", "o_proj"), ("gate_proj", "up_proj", "down_proj")
LORA_NAMES = {"down": "lora_A", "up": "lora_B"}
"""Of an adapted layer's own weights, as Hugging Face's PEFT calls them."""
INTEGER_ENGINE = "onednn"
Arithmetic: TypeAlias = Literal["float32", "bfloat16", "integers"]
"""Of the frozen weights; float32 has them as they are."""


def fastest() -> Arithmetic:
    """On this CPU."""
    return "bfloat16" if torch.cpu._is_amx_tile_supported() else "integers"


class _InIntegers(torch.autograd.Function):
    """x W and, for the gradient, g W^T."""

    @staticmethod
    def forward(ctx: Any, values: torch.Tensor, weight: Any, transposed: Any) -> torch.Tensor:
        ctx.transposed = transposed
        return _product(values, weight)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        return _product(gradients[0].contiguous(), ctx.transposed), None, None


def _product(values: torch.Tensor, weight: Any) -> torch.Tensor:
    scale = values.abs().amax(-1, keepdim=True).clamp_min(1e-20)
    return torch.ops.quantized.linear_dynamic(values / scale, weight, False) * scale


def _scales(weight: torch.Tensor) -> torch.Tensor:
    """Of each row of a weight in 8 bits."""
    return (weight.abs().amax(1) / 127).clamp_min(1e-9)


def _packed(weight: torch.Tensor) -> Any:
    zeros = torch.zeros(len(weight), dtype=torch.long)
    whole = torch.quantize_per_channel(weight.contiguous(), _scales(weight).double(), zeros, 0, torch.qint8)
    return torch.ops.quantized.linear_prepack(whole, None)


def _rounded(weight: torch.Tensor) -> torch.Tensor:
    scales = _scales(weight)[:, None]
    return (torch.round(weight / scales) * scales).bfloat16()


class Adapted(nn.Module):
    """A linear layer that is frozen, and its change: `down` [rank, inputs] and `up` [outputs, rank]."""

    def __init__(self, linear: nn.Linear, arithmetic: Arithmetic) -> None:
        super().__init__()
        weight = linear.weight.data.float()
        self._packed = (_packed(weight), _packed(weight.t())) if arithmetic == "integers" else None
        frozen = _rounded(weight) if arithmetic == "bfloat16" else weight if arithmetic == "float32" else None
        self.register_buffer("_frozen", frozen, persistent=False)
        self.down = nn.Parameter(torch.randn(RANK, linear.in_features) * 0.02)
        self.up = nn.Parameter(torch.zeros(linear.out_features, RANK))

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """Outputs [..., outputs] of [..., inputs]."""
        if self._packed is not None:
            frozen = _InIntegers.apply(values, *self._packed)
        else:
            frozen = nn.functional.linear(values, self._frozen)
        change = (values.bfloat16() @ self.down.bfloat16().t()) @ (self.up * (ALPHA / RANK)).bfloat16().t()
        return frozen + change


def peft_tensors(layers: Mapping[str, Mapping[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    """The adapter in 16 bits, by PEFT's names, of each layer's state by its name."""
    return {
        f"base_model.model.{layer}.{LORA_NAMES[part]}.weight": values.to("cpu", torch.float16).contiguous()
        for layer, parts in layers.items()
        for part, values in parts.items()
    }


def adapt(model: LlamaForCausalLM, arithmetic: Arithmetic) -> dict[str, Adapted]:
    """Freeze the model and put an adapted layer into the place of each linear one; these by their names."""
    if arithmetic == "bfloat16":
        model.bfloat16()
    torch.backends.quantized.engine = INTEGER_ENGINE
    model.requires_grad_(False)
    found = {}
    for number, layer in enumerate(model.model.layers):
        for part, names in (("self_attn", ATTENTION), ("mlp", FEED_FORWARD)):
            for name in names:
                adapted = Adapted(getattr(getattr(layer, part), name), arithmetic)
                setattr(getattr(layer, part), name, adapted)
                found[f"model.layers.{number}.{part}.{name}"] = adapted
    return found
