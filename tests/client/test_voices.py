"""Which voice speaks for a caller who is no person."""

from __future__ import annotations

from pathlib import Path

import pytest

from voiceagent.client.voices import VoiceError, best_voice, named_voice
from voiceagent.json_types import JsonObject
from voiceagent.models.registry import registry

STARTER: JsonObject = {"language": "en", "models": [{"part": "stt", "name": "whisper-tiny.en"}]}


def install(folder: Path, *names: str) -> None:
    """Files of the right sizes, which is all that is looked at."""
    for name in names:
        model = registry().model(name)
        for file in model.files:
            path = model.folder(folder) / file.name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as made:
                made.truncate(file.size)


@pytest.fixture(autouse=True)
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VOICEAGENT_MODELS", str(tmp_path))
    return tmp_path


def test_a_published_voice_speaks_to_a_published_recogniser(models: Path) -> None:
    install(models, "piper-ljspeech")
    assert (best_voice(registry(), STARTER).name, best_voice(registry(), STARTER).remark) == ("piper-ljspeech", "")
    install(models, "piper-joe")
    assert best_voice(registry(), STARTER).name == "piper-joe"
    assert best_voice(registry(), {}).name == "piper-joe"
    assert best_voice(registry(), {"language": "auto"}).name == "piper-joe"


def test_the_bundled_voice_speaks_to_the_bundled_recogniser(models: Path) -> None:
    install(models, "piper-joe")
    about = {"language": "en", "models": [{"part": "stt", "name": "micro-whisper"}]}
    assert best_voice(registry(), about).name == "micro-voice"


def test_where_no_published_voice_is_the_bundled_one_speaks_and_says_so() -> None:
    chosen = best_voice(registry(), STARTER)
    assert chosen.name == "micro-voice"
    assert "voiceagent models pull piper-joe" in chosen.remark


def test_a_voice_of_another_language_is_told(models: Path) -> None:
    install(models, "piper-joe")
    chosen = best_voice(registry(), {**STARTER, "language": "de"})
    assert (chosen.name, "it speaks en, the agent de" in chosen.remark) == ("piper-joe", True)


def test_a_voice_is_chosen_by_its_name_or_its_file(models: Path) -> None:
    install(models, "piper-joe")
    assert named_voice(registry(), "piper-joe").spec.model == "piper-joe"
    assert named_voice(registry(), "micro-voice").name == "micro-voice"
    own = models / "own.onnx"
    own.touch()
    with pytest.raises(VoiceError, match=r"own.onnx.json beside it is missing"):
        named_voice(registry(), str(own))
    (models / "own.onnx.json").touch()
    assert named_voice(registry(), str(own)).spec.path == str(own)


def test_an_unknown_voice_names_the_nearest() -> None:
    with pytest.raises(VoiceError, match="piper-ljspeech"):
        named_voice(registry(), "piper-ljspech")
