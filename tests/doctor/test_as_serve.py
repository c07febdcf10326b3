"""What `serve` would refuse or warn of, `voiceagent doctor` tells, once."""

from __future__ import annotations

import http.server
import json
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.conftest import Outcome
from voiceagent.doctor import examine
from voiceagent.doctor.finding import Finding, Settings
from voiceagent.models.choice import profile_of, registry_of
from voiceagent.models.fitness import foreign_models
from voiceagent.server.monitoring.about import about
from voiceagent.settings.agent import load_agent

Run = Callable[..., Outcome]
KEY = "the-key-of-the-server"


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOICEAGENT_DATA", str(tmp_path / "data"))


def problems(tmp_path: Path, agent: str, profile: str = "embedded") -> list[Finding]:
    config = tmp_path / "agent.yaml"
    config.write_text(f"name: Test\n{agent}")
    found = list(examine(Settings(port=0, config=config, profile=profile)))
    return [one for one in found if one.status != "ok" and one.name not in ("processors", "browser for tests")]


def failures(tmp_path: Path, agent: str, profile: str = "embedded") -> list[str]:
    return [one.detail for one in problems(tmp_path, agent, profile) if one.status == "fail"]


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ("language: de\n", "language is 'de'; the recogniser whisper understands English only"),
        ("context: [{folder: nowhere}]\n", "nowhere: no such folder"),
        ("speech: {clips: {greeting: none.wav}}\nphrases: {greeting: Hello}\n", "none.wav"),
        ("options: {llm: {max_sesions: 3}}\n", "max_sesions"),
        ("options: {tts: {speaker_id: 7}}\n", "speaker_id is 7"),
    ],
)
def test_what_serve_refuses_is_told_once(tmp_path: Path, voiceagent: Run, agent: str, said: str) -> None:
    (told,) = failures(tmp_path, agent)
    assert said in told
    refused = voiceagent("serve", "--port", "0", "--profile", "embedded", "--config", str(tmp_path / "agent.yaml"))
    assert (refused.code, refused.err.splitlines()[-1]) == (1, f"error: {told}")


@pytest.mark.parametrize("agent", ["languge: de\n", "tools: [missing.py]\n", "profile: cpuu\n", "name: Again\n"])
def test_one_mistake_is_told_once(tmp_path: Path, agent: str) -> None:
    assert len(failures(tmp_path, agent, profile="")) == 1


def test_a_tool_that_destroys_something_unasked_is_warned_of(tmp_path: Path) -> None:
    (tmp_path / "own_tools.py").write_text(
        "from voiceagent.tools import tool\n@tool\ndef drop_order(number: str) -> str:\n    '''Cancel an order.'''\n    return ''"
    )
    [found] = [finding for finding in problems(tmp_path, "tools: [own_tools.py]") if "destroys something" in finding.detail]
    assert (found.status, found.name) == ("warn", "start")
    assert 'confirm="Shall I' in found.advice


def test_an_agents_good_file_starts(tmp_path: Path) -> None:
    assert failures(tmp_path, "language: en\n") == []


@contextmanager
def model_server() -> Iterator[str]:
    """Lists one model, `served`, to who has the key, and answers nothing else."""

    class Models(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            allowed = self.headers.get("authorization") == f"Bearer {KEY}"
            body = {"data": [{"id": "served", "object": "model", "owned_by": "x"}]} if allowed else {"error": {"message": "no"}}
            self.send_response(200 if allowed else 401)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Models) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


def test_a_language_models_server_that_is_down_or_refuses_fails_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (told,) = failures(tmp_path, "llm: {base_url: 'http://127.0.0.1:9/v1'}\n")
    assert "no language model answers there" in told
    with model_server() as url:
        monkeypatch.setenv("SERVERS_KEY", "another-key")
        (told,) = failures(tmp_path, f"llm: {{base_url: '{url}', model: served, api_key_env: SERVERS_KEY}}\n")
        assert "401" in told or "key" in told
        assert "another-key" not in told
        monkeypatch.setenv("SERVERS_KEY", KEY)
        (told,) = failures(tmp_path, f"llm: {{base_url: '{url}', model: absent, api_key_env: SERVERS_KEY}}\n")
        assert "there is no model 'absent', it has served" in told
        (told,) = failures(tmp_path, f"llm: {{base_url: '{url}', model: served, api_key_env: SERVERS_KEY}}\n")
        assert "the language model does not answer yet" in told  # it lists its models, and refuses to write


def test_a_server_that_is_down_is_a_warning_where_a_fallback_answers(tmp_path: Path) -> None:
    found = problems(tmp_path, "llm: {base_url: 'http://127.0.0.1:9/v1', fallback: embedded}\n")
    server = next(one for one in found if one.name == "language model's server")
    assert (server.status, server.advice) == ("warn", "until then the fallback, embedded, answers")


def test_json_is_a_list_of_findings(voiceagent: Run, tmp_path: Path) -> None:
    (tmp_path / "agent.yaml").write_text("languge: de\n")
    outcome = voiceagent("doctor", "--json", "--port", "1", "--config", str(tmp_path / "agent.yaml"))
    found = json.loads(outcome.out)
    assert outcome.code == 1
    assert all(one.keys() == {"name", "status", "detail", "advice"} for one in found)
    assert "did you mean language?" in next(one["detail"] for one in found if one["status"] == "fail" and one["name"] == "agent")


def test_models_of_another_language_are_told_at_the_start_in_doctor_and_to_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "agent.yaml"
    config.write_text("language: de\nprofile: embedded\n")
    agent = load_agent(config)
    known = registry_of(agent)
    voice, model = foreign_models(agent, profile_of(agent, known), known)
    assert voice.startswith("the voice micro-voice speaks English, and the agent German")
    assert model.startswith("the language model micro-lm was made for English, and the agent speaks German")
    assert {voice, model} <= set(about(agent, [])["limits"])  # type: ignore[call-overload]
    assert {voice, model} <= {one.detail for one in problems(tmp_path, "language: de\n") if one.status == "warn"}


def test_an_own_voice_says_which_language_it_speaks(tmp_path: Path) -> None:
    config = tmp_path / "agent.yaml"
    (tmp_path / "anna.onnx").write_bytes(b"")
    (tmp_path / "anna.onnx.json").write_text('{"espeak": {"voice": "de"}}')
    (tmp_path / "bob.onnx").write_bytes(b"")
    (tmp_path / "bob.onnx.json").write_text('{"espeak": {"voice": "en-GB-x-rp"}}')
    server = "profile: embedded\nllm: {base_url: 'http://127.0.0.1:9/v1'}\n"

    def told(agent: str) -> tuple[str, ...]:
        config.write_text(server + agent)
        loaded = load_agent(config)
        known = registry_of(loaded)
        return foreign_models(loaded, profile_of(loaded, known), known)

    assert told("language: de\ntts: {path: anna.onnx}\n") == ()
    assert told("language: en\ntts: {path: bob.onnx}\n") == ()
    assert "bob.onnx speaks English, and the agent German" in told("language: de\ntts: {path: bob.onnx}\n")[0]
    assert "anna.onnx speaks German, and the agent English" in told("language: en\ntts: {path: anna.onnx}\n")[0]
    assert told("language: auto\nvoices: {de: anna.onnx}\n") == ()
    assert "bob.onnx speaks English, and the agent German" in told("language: auto\nvoices: {de: bob.onnx}\n")[0]


async def test_the_start_logs_a_line_for_a_foreign_model(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    from voiceagent.agent_service import log_weakness
    from voiceagent.llm.engine import HistoryLimits
    from voiceagent.loaded_agent import tell_of_unfit_models
    from voiceagent.tools.toolset import ToolSet

    (tmp_path / "agent.yaml").write_text("language: de\nprofile: embedded\nllm: {base_url: 'http://127.0.0.1:9/v1'}\n")
    agent = load_agent(tmp_path / "agent.yaml")
    tools = ToolSet.from_config(agent.tools, agent.base_dir)
    with caplog.at_level(logging.WARNING):
        tell_of_unfit_models(agent, tools, HistoryLimits(), log_weakness)
    assert [line.split(",")[0] for line in caplog.messages] == ["the voice micro-voice speaks English"]


def test_a_model_named_by_path_is_looked_at_as_serve_looks_at_it(voiceagent: Run) -> None:
    told = voiceagent("doctor", "--port", "0", "--profile", "embedded", "--tts", "/nowhere/voice.onnx")
    assert told.code == 1
    assert "fail profile: tts.path: there is no /nowhere/voice.onnx" in told.out
    assert told.out.count("fail") == 1
