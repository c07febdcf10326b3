"""Which CPUs are told to multiply whole numbers the slower way."""

from __future__ import annotations

from pathlib import Path

import pytest

from voiceagent.llm.embedded.genai import SLOWER, session_options


@pytest.mark.parametrize(
    ("told", "options"),
    [
        ("processor\t: 0\nflags\t\t: fpu sse2 avx2 fma\n", SLOWER),
        ("processor\t: 0\nflags\t\t: fpu avx2 avx512f avx512_vnni\n", {}),
        ("processor\t: 0\nflags\t\t: fpu avx2 avx_vnni\n", {}),
        ("processor\t: 0\nFeatures\t: fp asimd asimddp\n", {}),
    ],
    ids=["without VNNI", "AVX-512 VNNI", "AVX VNNI", "no x86"],
)
def test_only_an_x86_cpu_without_vnni_multiplies_the_slower_way(told: str, options: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "cpuinfo"
    path.write_text(told, encoding="utf-8")
    assert session_options(path) == options


def test_a_cpu_that_cannot_be_looked_at_multiplies_the_slower_way(tmp_path: Path) -> None:
    assert session_options(tmp_path / "none") == SLOWER
