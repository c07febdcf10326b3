"""How onnxruntime is told to multiply 8-bit whole numbers on this CPU. An x86 CPU without VNNI adds up pairs of such products in
16 bits, which overflow and make a model write nonsense; onnxruntime has a slower way for it, which it takes only when it is asked
(onnxruntime, docs "Quantize ONNX models": U8S8 on x86-64). A CPU with VNNI would be half as fast with it."""

from __future__ import annotations

from pathlib import Path

CPU = Path("/proc/cpuinfo")
WITH_VNNI = {"avx512_vnni", "avx_vnni"}
SLOWER = {"session.x64quantprecision": "1"}


def session_options(cpu: Path = CPU) -> dict[str, str]:
    """Of an onnxruntime session: what an x86 CPU without VNNI needs, and one that cannot be looked at."""
    try:
        lines = cpu.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return SLOWER
    flags = next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), None)
    return SLOWER if flags is not None and WITH_VNNI.isdisjoint(flags) else {}
