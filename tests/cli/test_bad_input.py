"""Wrong input on purpose: one clear line on stderr, an exit code that means something, never a traceback."""

from __future__ import annotations

import http.server
import re
import shutil
import socket
import threading
import wave
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.cli.conftest import Outcome
from tests.speech import said as spoken
from voiceagent.media import audio_cleaner
from voiceagent.models import model
from voiceagent.resources import bundled_models_dir

Run = Callable[..., Outcome]


def refused(outcome: Outcome, *said: str) -> None:
    """The outcome is one line that says all of `said`."""
    assert outcome.code in (1, 2)
    lines = [line for line in outcome.err.splitlines() if not line.startswith(("Usage:", "Try "))]
    assert len([line for line in lines if line]) == 1, outcome.err
    for text in said:
        assert re.search(text, outcome.err), outcome.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name: [unclosed", ("agent.yaml:", "YAML")),
        ("- a list", ("agent.yaml", "mapping")),
        ("colour: red", ("colour",)),
        ("turn: {fixed_endpointing_delay_ms: soon}", ("fixed_endpointing_delay_ms",)),
        ("turn: {fixed_endpointing_delay_ms: -1}", ("fixed_endpointing_delay_ms",)),
        ("turn: {min_endpointing_delay_ms: 900, max_endpointing_delay_ms: 800}", ("min_endpointing_delay_ms", "900", "800")),
        ("profile: enormous", ("enormous", "embedded")),
        ("tools: [missing.py]", ("missing.py",)),
        ("tools: [raises.py]", ("raises.py", "on purpose")),
        ("tools: [empty.py]", ("empty.py",)),
        ("options: {video: {}}", ("video",)),
        ("options: {stt: {stream: {policy: hope}}}", ("stt engine whisper", "policy")),
        ("options: {stt: {stream: {polcy: hope}}}", ("stt engine whisper", "polcy", r"\$.stream`; did you mean policy\?")),
        ("options: {llm: {max_sesions: 3}}", ("llm engine embedded", "max_sesions", r"; did you mean max_sessions\?")),
        ("options: {tts: {lenght_scale: 2.0}}", ("tts engine piper", r"; did you mean length_scale\?")),
        ("options: {tts: {speaker_id: 7}}", ("speaker_id is 7",)),
        ("llm: {model: larger}", ("llm.model", "larger", "llm.base_url")),
        ("llm: {total_timeout_s: 0}", ("total_timeout_s",)),
        ("turn: {tool_timeout_s: 0}", ("tool_timeout_s",)),
    ],
)
def test_a_bad_agent_is_refused(voiceagent: Run, tmp_path: Path, text: str, said: tuple[str, ...]) -> None:
    agent = tmp_path / "agent.yaml"
    agent.write_text(text + "\n")
    (tmp_path / "raises.py").write_text("raise RuntimeError('on purpose')\n")
    (tmp_path / "empty.py").write_text("")
    refused(voiceagent("serve", "--port", "0", "--config", str(agent)), *said)


def test_a_setting_that_needs_an_absent_package_is_refused(
    voiceagent: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audio_cleaner, "is_installed", lambda: False)
    agent = tmp_path / "agent.yaml"
    agent.write_text("media: {telephone: {noise_suppression: on}}\n")
    said = (r"media\.telephone\.noise_suppression is on", r"pip install 'voiceagent\[noise\]'")
    refused(voiceagent("serve", "--port", "0", "--config", str(agent)), *said)


@pytest.mark.parametrize("option", ["--config", "--budgets"])
def test_a_missing_file_is_refused(voiceagent: Run, option: str) -> None:
    refused(voiceagent("serve", "--port", "0", option, "/nowhere/file.yaml"), "/nowhere/file.yaml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("embedded: {thinking: {p50: 1 ms}}", ("budgets.yaml:1", "thinking")),
        ("embedded: {vad: {p50: 10}}", ("budgets.yaml:1",)),
        ("embedded: [", ("budgets.yaml",)),
    ],
)
def test_bad_budgets_are_refused(voiceagent: Run, tmp_path: Path, text: str, said: tuple[str, ...]) -> None:
    budgets = tmp_path / "budgets.yaml"
    budgets.write_text(text + "\n")
    refused(voiceagent("serve", "--port", "0", "--budgets", str(budgets)), *said)


def test_an_unknown_profile_is_refused(voiceagent: Run) -> None:
    refused(voiceagent("serve", "--port", "0", "--profile", "enormous"), "enormous", "embedded")


def test_a_profile_without_its_models_says_which_command_fetches_them(
    voiceagent: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VOICEAGENT_MODELS", str(tmp_path))
    refused(voiceagent("serve", "--port", "0", "--profile", "cpu"), "voiceagent models pull --profile cpu", "GB")


def test_a_busy_port_is_refused(voiceagent: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refused(voiceagent("serve", "--port", port), port, "in use", "--port")


def test_an_open_address_without_keys_is_refused(voiceagent: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VOICEAGENT_KEYS", raising=False)
    refused(voiceagent("serve", "--port", "0", "--host", "0.0.0.0"), "0.0.0.0", "VOICEAGENT_KEYS")


@pytest.mark.parametrize("file", ["whisper/model.bin", "lm/onnx/model.onnx", "lm/onnx/tokenizer.json", "voice/voice.onnx"])
def test_a_corrupt_model_is_refused(voiceagent: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str) -> None:
    bundled = tmp_path / "bundled"
    shutil.copytree(bundled_models_dir(), bundled)
    (bundled / file).write_bytes(b"corrupt")
    monkeypatch.setattr(model, "bundled_models_dir", lambda: bundled)
    refused(voiceagent("serve", "--port", "0"), file.split("/")[0], "voiceagent models (verify|pull)")


def test_a_call_to_nobody_is_refused(voiceagent: Run) -> None:
    refused(voiceagent("call", "--url", "http://127.0.0.1:9", "--say", "Hello."), "127.0.0.1:9", "voiceagent serve")


def test_a_call_to_no_url_is_refused(voiceagent: Run) -> None:
    refused(voiceagent("call", "--url", "nonsense", "--say", "Hello."), "nonsense")


def test_a_missing_wav_is_refused(voiceagent: Run) -> None:
    refused(voiceagent("call", "--say", "/nowhere/speech.wav"), "/nowhere/speech.wav", "WAV")


def test_a_wav_of_another_kind_is_refused(voiceagent: Run, tmp_path: Path) -> None:
    path = tmp_path / "8bit.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(1)
        file.setframerate(8000)
        file.writeframes(bytes(8000))
    refused(voiceagent("call", "--say", str(path)), "8bit.wav", "no speech|only 1.0 s")
    path.write_text("no WAV")
    refused(voiceagent("call", "--say", str(path)), "8bit.wav", "WAV")


@pytest.mark.parametrize("option", ["--record", "--json"])
def test_a_file_that_cannot_be_written_is_refused_before_the_call(voiceagent: Run, tmp_path: Path, option: str) -> None:
    (tmp_path / "file").write_text("not a folder")
    for path in ("/nowhere/call.wav", str(tmp_path), str(tmp_path / "file" / "call.wav"), str(tmp_path / ("x" * 300))):
        outcome = voiceagent("call", "--say", "Hello.", option, path)
        assert outcome.code == 2
        refused(outcome, re.escape(path[-200:]))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_looking_whether_a_file_can_be_written_leaves_it_as_it_was(voiceagent: Run, tmp_path: Path) -> None:
    (tmp_path / "call.json").write_text("kept")
    files = ("--json", str(tmp_path / "call.json"), "--record", str(tmp_path / "call.wav"))
    refused(voiceagent("call", "--url", "http://127.0.0.1:9", "--say", "Hello.", *files), "no server there")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("call.json", "kept")]


def test_a_recording_is_not_written_to_a_file_named_minus(
    voiceagent: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused(voiceagent("call", "--say", "Hello.", "--record", "-"), "--record -", "standard output")
    refused(voiceagent("call", "--url", "http://127.0.0.1:9", "--say", "Hello.", "--json", "-"), "no server there")
    assert list(tmp_path.iterdir()) == []


def test_one_file_is_not_both_recording_and_json(voiceagent: Run, tmp_path: Path) -> None:
    path = str(tmp_path / "call")
    refused(voiceagent("call", "--say", "Hello.", "--record", path, "--json", path), "one file")


@pytest.mark.parametrize("text", ["", "   ", "-", "…", "?!", "👋"])
def test_nothing_to_say_is_refused_before_the_call(voiceagent: Run, text: str) -> None:
    outcome = voiceagent("call", "--url", "http://127.0.0.1:9", "--say", "Hello.", "--say", text)
    assert outcome.code == 2
    refused(outcome, "holds no words")


@pytest.mark.parametrize(
    ("voice", "said"),
    [
        ("piper-jo", ("no voice 'piper-jo'", "piper-joe")),
        ("micro-lm", ("no voice 'micro-lm'", "micro-voice")),
        ("/nowhere/voice.onnx", ("no voice '/nowhere/voice.onnx'",)),
        ("piper-ljspeech", ("not on this machine", "voiceagent models pull piper-ljspeech")),
    ],
)
def test_a_voice_that_is_not_here_is_refused_before_the_call(
    voiceagent: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, voice: str, said: tuple[str, ...]
) -> None:
    monkeypatch.setenv("VOICEAGENT_MODELS", str(tmp_path))
    outcome = voiceagent("call", "--url", "http://127.0.0.1:9", "--say", "Hello.", "--voice", voice)
    assert outcome.code == 2
    refused(outcome, *said)


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8080", "ftp://127.0.0.1", "http://", "http://[", "http://a b", "http://127.0.0.1:99999", ""]
)
def test_a_call_to_what_is_no_url_is_refused(voiceagent: Run, url: str) -> None:
    refused(voiceagent("call", "--url", url, "--say", "Hello."))


class Another(http.server.BaseHTTPRequestHandler):
    """A web server that is no voiceagent."""

    def do_GET(self) -> None:
        self._answer(404, b"<html>Not here.</html>")

    def do_POST(self) -> None:
        self._answer(404, b"<html>Not here.</html>")

    def log_message(self, *_: object) -> None:
        pass

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body)


def test_a_call_to_another_web_server_is_refused(voiceagent: Run) -> None:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Another) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_address[1]
        refused(voiceagent("call", "--url", f"http://127.0.0.1:{port}", "--say", "Hello."), "404", "no voiceagent server")
        refused(voiceagent("call", "--url", f"https://127.0.0.1:{port}", "--say", "Hello."), "TLS")
        server.shutdown()


RATE_HZ = 16_000
NOISE = np.random.default_rng(7).normal(0, 3000, 2 * RATE_HZ)
TONE = 8000 * np.sin(np.arange(2 * RATE_HZ) * 2 * np.pi * 440 / RATE_HZ)
CLICKS = np.where(np.arange(2 * RATE_HZ) % 4000 < 8, 20_000, 0)


@pytest.mark.parametrize(
    ("samples", "said"),
    [
        (np.zeros(0), "holds no audio"),
        (np.zeros(RATE_HZ), "only 1.0 s of silence"),
        (NOISE, "no speech is heard in its 2.0 s"),
        (NOISE / 100, "no speech is heard in its 2.0 s"),
        (NOISE[:100], "no speech is heard"),
        (TONE, "no speech is heard in its 2.0 s"),
        (CLICKS, "no speech is heard in its 2.0 s"),
    ],
    ids=["empty", "silence", "noise", "soft noise", "too short", "tone", "clicks"],
)
def test_a_wav_without_speech_is_refused_before_it_is_sent(
    voiceagent: Run, tmp_path: Path, samples: NDArray[np.float64], said: str
) -> None:
    path = tmp_path / "say.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE_HZ)
        file.writeframes(samples.astype("<i2").tobytes())
    refused(voiceagent("call", "--url", "http://127.0.0.1:9", "--say", str(path)), "say.wav", said)


def test_a_wav_of_speech_is_taken(voiceagent: Run, tmp_path: Path) -> None:
    path = tmp_path / "say.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE_HZ)
        file.writeframes(spoken("What time is it?").astype("<i2").tobytes())
    refused(voiceagent("call", "--url", "http://127.0.0.1:9", "--say", str(path)), "no server there")
