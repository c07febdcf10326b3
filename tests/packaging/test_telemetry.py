"""The libraries of voiceagent tell nobody what runs here."""

from __future__ import annotations

from pathlib import Path

from tests.unmarked_process import output

LOADS = """
from voiceagent.llm.embedded.genai import LoadedModel
from voiceagent.models.registry import resolve
import onnxruntime, pathlib
model = resolve("micro-lm")
LoadedModel(model, "{}").generator({"max_length": 64}).append_tokens([5, 6, 7])
onnxruntime.InferenceSession(next(pathlib.Path(model).glob("*.onnx")))
"""


def test_onnxruntime_keeps_no_reports_for_its_maker(tmp_path: Path) -> None:
    """Where it reports, it keeps an id of the device and the reports to send in the user's folders."""
    output(LOADS, HOME=str(tmp_path), XDG_CACHE_HOME=str(tmp_path / "cache"), XDG_DATA_HOME=str(tmp_path / "data"))
    assert [path.name for path in tmp_path.rglob("*")] == []
