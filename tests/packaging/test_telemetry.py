"""The libraries of voiceagent tell nobody what runs here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from voiceagent import REPORTS_OFF

LOADS = """
from voiceagent.llm.genai import Model
from voiceagent.models.registry import resolve
import onnxruntime, pathlib
model = resolve("micro-lm")
Model(model, "{}").generator({"max_length": 64}).append_tokens([5, 6, 7])
onnxruntime.InferenceSession(next(pathlib.Path(model).glob("*.onnx")))
"""


def test_onnxruntime_keeps_no_reports_for_its_maker(tmp_path: Path) -> None:
    """Where it reports, it keeps a device's id and a database of reports to send in the user's folders."""
    left_out = {"CI", *REPORTS_OFF}  # it does not report from CI
    homes = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_DATA_HOME": str(tmp_path / "data")}
    environment = {name: value for name, value in os.environ.items() if name not in left_out} | homes
    subprocess.run([sys.executable, "-c", LOADS], env=environment, check=True, timeout=120)
    assert [path.name for path in tmp_path.rglob("*")] == []
