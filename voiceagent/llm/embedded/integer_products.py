"""How onnxruntime must multiply 8-bit integers on this CPU. An x86 CPU without VNNI adds pairs of products in 16 bits. They
overflow, and the model writes nonsense. onnxruntime has a slower method without overflow, which must be chosen (onnxruntime, docs
"Quantize ONNX models": U8S8 on x86-64). A CPU with VNNI would be half as fast with it."""

from __future__ import annotations

from pathlib import Path

CPU = Path("/proc/cpuinfo")
WITH_VNNI = {"avx512_vnni", "avx_vnni"}
SLOWER = {"session.x64quantprecision": "1"}


def session_options(cpu: Path = CPU) -> dict[str, str]:
    """Options of an onnxruntime session. They choose the slower method on an x86 CPU without VNNI, or if the CPU is unknown."""
    try:
        lines = cpu.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return SLOWER
    flags = next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), None)
    return SLOWER if flags is not None and WITH_VNNI.isdisjoint(flags) else {}
