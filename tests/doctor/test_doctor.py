import importlib.metadata
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Outcome
from voiceagent.doctor import CHECKS, examine, machine
from voiceagent.doctor.finding import Finding, Settings
from voiceagent.media import audio_cleaner
from voiceagent.models.checksums import write_sums

Run = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOICEAGENT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("VOICEAGENT_MODELS", str(tmp_path / "models"))


def found(settings: Settings) -> dict[str, Finding]:
    return {finding.name: finding for finding in examine(settings)}


def test_every_check_reports_once_and_what_this_machine_has_works() -> None:
    findings = found(Settings(port=free_port()))
    assert list(findings) == [check.name for check in CHECKS]
    for name in ("Opus", "espeak-ng", "language model engine", "agent", "latency budgets", "UDP", "port", "data folder"):
        assert findings[name].status == "ok", findings[name]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_busy_port_fails_and_another_is_proposed(voiceagent: Run) -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        outcome = voiceagent("doctor", "--port", str(port))
    assert outcome.code == 1
    assert f"port: 127.0.0.1:{port} cannot be used (Address already in use)" in outcome.out
    assert f"voiceagent serve --port {port + 1}" in outcome.out


def test_a_wrong_configuration_fails_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "agent.yaml").write_text("name: [")
    (tmp_path / "budgets.yaml").write_text("embedded: 1")
    findings = found(Settings(config=tmp_path / "agent.yaml", budgets=tmp_path / "budgets.yaml", profile="embedded"))
    assert "agent.yaml:1" in findings["agent"].detail
    assert "budgets.yaml:1: expected a mapping of stages" in findings["latency budgets"].detail
    assert {findings["agent"].status, findings["latency budgets"].status} == {"fail"}


def test_a_profile_without_its_models_names_the_command() -> None:
    finding = found(Settings(profile="cpu"))["profile"]
    assert finding.status == "fail"
    assert "voiceagent models pull --profile cpu" in finding.detail
    assert "expected one of embedded, starter, real-speech, light, cpu, gpu" in found(Settings(profile="tpu"))["profile"].detail


def test_an_agent_that_the_language_model_was_not_made_for_is_told_the_way_out(tmp_path: Path) -> None:
    name = "language model and agent"
    assert found(Settings())[name].status == "ok"
    (tmp_path / "agent.yaml").write_text("name: Front desk\n")
    finding = found(Settings(config=tmp_path / "agent.yaml"))[name]
    assert (finding.status, "voiceagent models pull --profile" in finding.advice) == ("warn", True)
    assert "micro-lm was not made for this agent" in finding.detail
    assert name not in found(Settings(config=tmp_path / "agent.yaml", profile="cpu"))  # its models are not here
    (tmp_path / "agent.yaml").write_text("tools: [{mcp: {command: [orders]}}]\n")
    assert "when the agent is started" in found(Settings(config=tmp_path / "agent.yaml"))[name].detail


def test_what_cleans_callers_audio_is_looked_for_where_it_is_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "noise and echo"
    assert "heard as it comes" in found(Settings())[name].detail
    config = tmp_path / "agent.yaml"
    config.write_text("media: {telephone: {echo_cancellation: on}}\n")
    assert found(Settings(config=config))[name].detail == (
        f"livekit {importlib.metadata.version('livekit')} cleans the audio of media.telephone"
    )
    monkeypatch.setattr(audio_cleaner, "is_installed", lambda: False)
    finding = found(Settings(config=config))[name]
    assert finding.status == "fail"
    assert "media.telephone.echo_cancellation is on, but it needs the package livekit" in finding.detail


def test_a_corrupt_bundled_model_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "bundled_models_dir", lambda: tmp_path)
    (tmp_path / "voice").mkdir()
    (tmp_path / "voice" / "voice.onnx").write_bytes(b"voice")
    write_sums(tmp_path)
    assert found(Settings())["bundled models"].status == "ok"
    (tmp_path / "voice" / "voice.onnx").write_bytes(b"noise")
    finding = found(Settings())["bundled models"]
    assert finding.status == "fail"
    assert finding.detail.startswith("voice/voice.onnx: is corrupt")


def test_an_unwritable_data_folder_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("VOICEAGENT_DATA", str(tmp_path / "file"))
    assert found(Settings())["data folder"].status == "warn"


def test_a_store_that_cannot_be_reached_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(Settings())["store"].status == "ok"
    monkeypatch.setenv("VOICEAGENT_STORE", "postgresql://voice:secret-word@127.0.0.1:9/calls")
    finding = found(Settings())["store"]
    assert finding.status == "warn"
    assert "secret-word" not in finding.detail
    monkeypatch.setenv("VOICEAGENT_STORE", "mysql://h/x")
    assert "expected postgresql://" in found(Settings())["start"].detail


def test_a_public_address_needs_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VOICEAGENT_KEYS", raising=False)
    assert found(Settings())["keys"].status == "ok"
    finding = found(Settings(host="0.0.0.0"))["keys"]
    assert finding.status == "fail"
    assert "VOICEAGENT_KEYS" in finding.detail
    monkeypatch.setenv("VOICEAGENT_KEYS", "the-first-of-two-keys, the-other-of-two-keys")
    assert found(Settings(host="0.0.0.0"))["keys"].detail.startswith("2 ")


def test_a_turn_server_without_its_secret_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VOICEAGENT_TURN_SECRET", raising=False)
    (tmp_path / "agent.yaml").write_text("ice: {urls: ['turn:turn.example.org:3478']}")
    assert "VOICEAGENT_TURN_SECRET" in found(Settings(config=tmp_path / "agent.yaml"))["agent"].detail


def test_a_public_address_needs_https_for_the_microphone() -> None:
    assert found(Settings(host="0.0.0.0"))["microphone"].status == "warn"
