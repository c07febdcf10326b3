"""What `voiceagent serve` answers with: the best models that are here, or one's own."""

import json
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Outcome
from tests.server_process import ServerProcess, running_server
from voiceagent.models.choice import PROFILE_VARIABLE, STARTER
from voiceagent.resources import bundled_models_dir

Run = Callable[..., Outcome]
UNREACHABLE = {
    "HF_ENDPOINT": "http://127.0.0.1:9",
    "PIP_CONFIG_FILE": "/dev/null",
    "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
    "PIP_EXTRA_INDEX_URL": "",
    "PIP_FIND_LINKS": "",
}
OWN = """
name: Own
profile: mine
models: models.yaml
stt: {path: ears}
options: {stt: {margin_frames: 10, suppress_tokens: []}}
"""
MODELS = """
profiles:
  mine:
    description: a voice by its path, a model by its name
    budgets: cpu
    stt: {engine: faster-whisper, model: whisper-small.en}
    llm: {engine: embedded, model: micro-lm}
    tts: {engine: piper, path: voice/voice.onnx}
"""


def budgets(server: ServerProcess) -> dict[str, Any]:
    with urllib.request.urlopen(f"{server.url}/v1/voiceagent/budgets", timeout=10) as answer:
        told: dict[str, Any] = json.load(answer)
        return told


@pytest.fixture
def own(tmp_path: Path) -> Path:
    (tmp_path / "ears").symlink_to(bundled_models_dir() / "whisper")
    (tmp_path / "voice").symlink_to(bundled_models_dir() / "voice")
    (tmp_path / "models.yaml").write_text(MODELS)
    (tmp_path / "agent.yaml").write_text(OWN)
    return tmp_path / "agent.yaml"


def test_without_the_models_of_the_starter_the_bundled_ones_answer_and_it_is_said(tmp_path: Path) -> None:
    environment = {PROFILE_VARIABLE: "", "VOICEAGENT_MODELS": str(tmp_path / "models")}
    with running_server(tmp_path, environment=environment) as server:
        assert budgets(server)["profile"] == "embedded"
    (said,) = server.said()
    assert f"profile {STARTER} needs whisper-tiny.en" in said
    assert said.endswith(f"`voiceagent models pull --profile {STARTER}`; until then embedded answers")


def test_models_that_cannot_be_fetched_cost_one_line_and_the_bundled_ones_answer(tmp_path: Path) -> None:
    environment = {**UNREACHABLE, PROFILE_VARIABLE: "", "VOICEAGENT_MODELS": str(tmp_path / "models")}
    with running_server(tmp_path, "--pull", environment=environment) as server:
        assert budgets(server)["profile"] == "embedded"
    (said,) = server.said()
    assert said.startswith(f"serving embedded, the bundled micro models, as those of {STARTER} cannot be fetched (")
    assert "127.0.0.1:9 cannot be reached" in said


def test_a_named_profile_whose_models_cannot_be_fetched_is_refused(
    voiceagent: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**UNREACHABLE, "VOICEAGENT_MODELS": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    outcome = voiceagent("serve", "--port", "0", "--pull", "--profile", STARTER)
    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert "whisper-tiny.en: http://127.0.0.1:9 cannot be reached" in outcome.err


def test_an_own_profile_answers_with_own_models_and_anothers_budgets(own: Path, tmp_path: Path) -> None:
    with running_server(tmp_path, "--config", str(own)) as server:
        told = budgets(server)
    assert told["profile"] == "mine"
    whole = next(stage for stage in told["stages"] if stage["stage"] == "voice_to_voice")
    assert whole["p50_ms"] == 1500


def test_own_models_are_named_on_the_command_line_too(tmp_path: Path) -> None:
    voice, ears = bundled_models_dir() / "voice" / "voice.onnx", bundled_models_dir() / "whisper"
    options = ("--tts", str(voice), "--stt", str(ears), "--llm", str(bundled_models_dir() / "lm" / "onnx"))
    with running_server(tmp_path, *options) as server:
        assert budgets(server)["profile"] == "embedded"


def test_a_folder_that_is_no_such_model_is_refused_in_one_line(voiceagent: Run, tmp_path: Path) -> None:
    outcome = voiceagent("serve", "--port", "0", "--stt", str(tmp_path))
    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert f"stt.path: {tmp_path} is not a Whisper in CTranslate2 format: model.bin, config.json" in outcome.err


def test_an_own_profile_without_budgets_is_told_how_to_get_some(voiceagent: Run, own: Path) -> None:
    (own.parent / "models.yaml").write_text(MODELS.replace("    budgets: cpu\n", ""))
    outcome = voiceagent("serve", "--port", "0", "--config", str(own))
    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert "no budgets for profile 'mine'" in outcome.err
    assert "add `mine: {extends: cpu}` to a file of yours for --budgets, or `budgets: cpu` to your profile" in outcome.err
    mine = own.parent / "budgets.yaml"
    mine.write_text("mine: {extends: cpu}\n")
    assert "latency budgets: " + str(mine) in voiceagent("doctor", "--config", str(own), "--budgets", str(mine)).out


def test_the_doctor_knows_what_an_agent_brings(voiceagent: Run, own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOICEAGENT_MODELS", str(own.parent / "cache"))
    said = voiceagent("doctor", "--config", str(own)).out
    assert f"profile: mine: a voice by its path, a model by its name; its stt is {own.parent / 'ears'}; its tts is" in said
    assert "models of profiles: embedded, vllm-cpu, vllm-inside are here; `voiceagent models pull --profile NAME`" in said
    assert "mine (486 MB)" in said


def test_models_of_an_own_file_are_listed_and_pulled_by_name(voiceagent: Run, own: Path) -> None:
    listed = voiceagent("models", "list", "--models", str(own.parent / "models.yaml"))
    assert "a voice by its path, a model by its name" in listed.out
    outcome = voiceagent("models", "pull", "--profile", "mine")
    assert "no profile 'mine'" in outcome.err
