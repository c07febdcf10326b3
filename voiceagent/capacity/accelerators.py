"""Figures of accelerators: a table from vendors' data sheets (`accelerators.yaml`), and machines that the user describes."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Annotated

import msgspec

from voiceagent.errors import ConfigError, UnknownNameError
from voiceagent.settings_file import did_you_mean

Positive = Annotated[float, msgspec.Meta(gt=0, le=1e6)]


class Accelerator(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One card, or another machine that runs a language model."""

    memory_gb: Positive
    """In 10⁹ bytes, as data sheets state it. Cards have up to 7 % more, which is left as a margin."""
    bandwidth_gbs: Positive
    """Memory bandwidth, in 10⁹ bytes a second."""
    tflops: Positive
    """10¹² operations a second, dense, 16-bit operands."""
    tflops_fp8: Positive | None = None
    """The same with 8-bit operands; None: it has no such unit."""
    source: str = "given by hand"
    name: str = "machine"


@functools.cache
def accelerators() -> dict[str, Accelerator]:
    """The known cards, by name."""
    data = (Path(__file__).parent / "accelerators.yaml").read_bytes()
    found = msgspec.yaml.decode(data, type=dict[str, Accelerator])
    return {name: msgspec.structs.replace(card, name=name) for name, card in found.items()}


def accelerator(
    name: str, memory_gb: float | None = None, bandwidth_gbs: float | None = None, tflops: float | None = None
) -> Accelerator:
    """The card of a name (`L40S`, `RTX 4090`); figures that are given override the card's. Without a name all three must be
    given. Raises ConfigError, which names the known cards."""
    given = {"memory_gb": memory_gb, "bandwidth_gbs": bandwidth_gbs, "tflops": tflops}
    chosen = {key: value for key, value in given.items() if value is not None}
    if not name:
        missing = ", ".join("--" + key.replace("_", "-") for key, value in given.items() if value is None)
        if missing:
            raise ConfigError(f"no GPU is named; give --gpu ({', '.join(accelerators())}), or also {missing}")
        return msgspec.convert(chosen, Accelerator)
    card = accelerators().get("-".join(name.lower().split()))
    if card is None:
        raise UnknownNameError(
            f"there is no GPU {name!r:.40} in the table ({', '.join(accelerators())}){did_you_mean(name, accelerators())}; "
            "name one of these, or describe it with --memory-gb, --bandwidth-gbs and --tflops"
        )
    return msgspec.structs.replace(card, **chosen)
