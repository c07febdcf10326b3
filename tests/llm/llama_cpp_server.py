"""A real llama.cpp server in a process of its own, with the starter's language model: its GGUF file, and our adapter in GGUF's
format. `LLAMA_CPP` names the Python that has llama.cpp; `make test-llama-cpp` makes it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from gguf import GGUFWriter

from voiceagent.models.gguf_with_adapter import LAYER, read_safetensors
from voiceagent.models.makers import Array

PYTHON = os.environ.get("LLAMA_CPP", "")
HEADS = {"attn_q": 9, "attn_k": 3}
"""Of SmolLM2-135M."""
CONTEXT_TOKENS = 2048
SLOTS = 2


@contextmanager
def serving(gguf: Path, adapter: Path, folder: Path) -> Iterator[str]:
    """Serve until the block ends; the address of its OpenAI-compatible API. Raises RuntimeError if it does not start."""
    write_adapter(adapter, folder / "adapter.gguf")
    log = folder / "llama.log"
    command = [PYTHON, "-c", _PROGRAM, str(gguf), str(folder / "adapter.gguf"), str(adapter / "chat_template.jinja")]
    with (
        log.open("wb") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        assert process.stdout is not None
        try:
            # llama.cpp logs to the same pipe.
            addresses = (line.strip() for line in process.stdout if line.startswith("http://"))
            address = next(addresses, "")
            if not address:
                raise RuntimeError(f"llama.cpp did not start: {log.read_text()[-1000:]}")
            yield f"{address}/v1"
        finally:
            process.kill()


def write_adapter(folder: Path, to: Path) -> None:
    """A LoRA adapter in PEFT's format, written as GGUF (llama.cpp, convert_lora_to_gguf.py)."""
    config = json.loads((folder / "adapter_config.json").read_text(encoding="utf-8"))
    writer = GGUFWriter(to, "llama")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", config["lora_alpha"])
    short = {hub: gguf for gguf, hub in LAYER.items()}
    for name, values in read_safetensors(folder / "adapter_model.safetensors").items():
        layer, part, matrix, side = name.removeprefix("base_model.model.model.layers.").removesuffix(".weight").split(".")
        weight = short[f"{part}.{matrix}"]
        rows = _interleaved(values, HEADS[weight]) if side == "lora_B" and weight in HEADS else values
        writer.add_tensor(f"blk.{layer}.{weight}.weight.{side.lower()}", np.ascontiguousarray(rows, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _interleaved(values: Array, heads: int) -> Array:
    """The rows in the order that GGUF's rotary embedding wants, see `gguf_with_adapter`."""
    half = values.shape[0] // heads // 2
    return values.reshape(heads, 2, half, values.shape[1]).swapaxes(1, 2).reshape(values.shape)


_PROGRAM = f"""
import sys, xllamacpp
from pathlib import Path
asked = xllamacpp.CommonParams()
asked.model.path, adapter, template = sys.argv[1:]
asked.lora_adapters = [xllamacpp.CommonAdapterLoraInfo(adapter, 1.0)]
asked.chat_template = Path(template).read_text()
asked.n_ctx, asked.n_parallel, asked.port = {CONTEXT_TOKENS * SLOTS}, {SLOTS}, 0
asked.use_jinja = asked.endpoint_metrics = True
asked.cpuparams.n_threads = asked.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(asked)
print(server.listening_address, flush=True)
sys.stdin.read()
"""
