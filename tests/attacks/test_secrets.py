"""A different secret stands in every address, header and variable that the server reads. Whatever fails, and however the other
side fails, none of them is told: not to the client, not in the log, the metrics, the event logs, the turn store or a report."""

from __future__ import annotations

import asyncio
import base64
import logging
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote

import aiohttp
import pytest

from tests.attacks.beside import beside
from tests.attacks.echoing_server import EchoingServer, echoing_server
from tests.attacks.typed import typed_turn
from tests.server_process import ServerProcess, running_server
from voiceagent.addresses import shown
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.context.sources import LimitedSource, Retrieval, Sources
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import Chunk
from voiceagent.logs import Redacting
from voiceagent.redaction import HIDDEN, redacted
from voiceagent.settings.agent import load_agent
from voiceagent.store.database import local_store
from voiceagent.store.event_log import logged_calls
from voiceagent.tools.mcp_server import McpServer
from voiceagent.tools.settings import ToolEntry
from voiceagent.tools.toolset import ToolSet

PROGRAM = Path(__file__).resolve().parents[1] / "tools" / "mcp_program.py"
PLAIN = {"The language model failed; the server's log says why.", "the language model answered with nothing"}
"""All that a client is told of a failure."""
APOLOGY = "No."
IN_VARIABLES = {
    "VOICEAGENT_KEYS": "planted-client-key-1,planted-client-key-2",
    "VOICEAGENT_TURN_SECRET": "planted-turn-secret",
    "MODEL_SERVERS_OWN": "planted-model-key",
    "HOOK_HEADER": "Bearer planted-hook-header",
    "MCP_HEADER": "planted-mcp-header",
    "KITCHEN_KEY": "planted-program-variable",
    "HF_TOKEN": "planted-hub-token",
    "HTTPS_PROXY": "http://planted-proxy-user:planted-proxy-password@127.0.0.1:9",
    "NO_PROXY": "127.0.0.1",
}
SECRETS = (
    "planted-client-key-1",
    "planted-client-key-2",
    "planted-turn-secret",
    "planted-model-key",
    "planted-hook-header",
    "planted-mcp-header",
    "planted-program-variable",
    "planted-hub-token",
    "planted-proxy-user",
    "planted-proxy-password",
    "planted-hook-query",
    "planted mcp query",
)
AGENT = f"""
name: Planted
phrases: {{apology: "{APOLOGY}"}}
llm: {{base_url: "URL/v1", api_key_env: MODEL_SERVERS_OWN, first_token_timeout_s: 0.5, inactivity_timeout_s: 0.3}}
turn: {{tool_timeout_s: 0.5, filler_after_ms: 0}}
ice: {{urls: ["turn:127.0.0.1:9"]}}
tools:
  - webhook:
      name: hook
      description: Ask a hook.
      url: URL/hook?token=planted-hook-query
      parameters: {{type: object, properties: {{dish: {{type: string}}}}}}
      headers_env: {{Authorization: HOOK_HEADER}}
  - mcp: {{url: "URL/mcp?token=planted%20mcp%20query", headers_env: {{X-Key: MCP_HEADER}}}}
  - mcp: {{command: [python, "{PROGRAM}"], env: [KITCHEN_KEY]}}
"""
MODEL_FAULTS = ("401", "403", "404", "400", "429", "500", "malformed", "page", "breaks", "silent", "gives up", "garbage", "stops")
HOOK_FAULTS = ("200", "400", "401", "500", "malformed", "page", "elsewhere", "breaks", "silent")
MCP_FAULTS = ("401", "500", "malformed", "page", "elsewhere", "breaks", "silent", "refused")


def leaked(text: str) -> list[str]:
    """The secrets that stand in the text, in any way of writing them."""
    ways = [(secret, {secret, quote(secret), secret.replace(" ", "+")}) for secret in SECRETS]
    ways.append(("basic auth", {base64.b64encode(b"planted-proxy-user:planted-proxy-password").decode()}))
    return [secret for secret, written in ways if any(one in text for one in written)]


def voiceagent(data: Path, *arguments: str) -> str:
    """A command's output, standard error too."""
    environment = {**os.environ, **IN_VARIABLES, "VOICEAGENT_DATA": str(data)}
    command = [sys.executable, "-m", "voiceagent", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    return done.stdout + done.stderr


async def told_by(server: ServerProcess, echoing: EchoingServer) -> dict[str, str]:
    """Have everything fail in a call, and what clients are told of it meanwhile."""
    async with Caller(server.url, "planted-client-key-1") as caller, Dialogue(caller, timeout_s=15) as dialogue:
        for echoing.model_fault in MODEL_FAULTS:
            await typed_turn(dialogue, f"Let it fail: {echoing.model_fault}.")
        assert len([error for error in dialogue.errors if error["code"] in ("llm_failed", "empty_reply")]) == len(MODEL_FAULTS)
        echoing.model_fault = ""
        for echoing.tool, faults in (("hook", HOOK_FAULTS), ("cook", ("",))):
            for echoing.hook_fault in faults:
                await typed_turn(dialogue, f"Use {echoing.tool}: {echoing.hook_fault}.")
        events = "\n".join(str(event.data) for event in dialogue.events_since(0))
        assert {error["message"] for error in dialogue.errors} <= PLAIN
    key = {"Authorization": "Bearer planted-client-key-2"}
    told = {"events": events}
    async with aiohttp.ClientSession() as session:
        for path in ("/metrics", "/readyz", "/healthz", "/v1/voiceagent/ice_servers", "/v1/voiceagent/budgets", "/"):
            async with session.get(server.url + path, headers=key) as response:
                told[path] = await response.text()
        async with session.get(f"{server.url}/metrics", headers={"Authorization": "Bearer wrong"}) as response:
            told["wrong key"] = await response.text()
    return told


async def test_no_secret_is_told_whatever_fails(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with echoing_server() as echoing:
        config = tmp_path / "agent.yaml"
        config.write_text(AGENT.replace("URL", echoing.url))
        echoing.mcp_fault = "500"
        environment = {**IN_VARIABLES, "VOICEAGENT_DATA": str(data)}
        options = ("--config", str(config), "--event-logs", "5", "--log-level", "debug")
        async with beside(running_server(tmp_path, *options, environment=environment)) as server:
            told = await told_by(server, echoing)
        said_upstream = "\n".join(echoing.asked)
    for sent in ("planted-model-key", "planted-hook-header", "planted-hook-query", "planted-mcp-header", "planted%20mcp%20query"):
        assert sent in said_upstream, "the other side was told, and could tell"
    told["log"] = (tmp_path / "server.log").read_text()
    assert "reply" in told["log"]
    for kept in data.rglob("*"):
        if kept.is_file():
            told[kept.name] = kept.read_bytes().decode("utf-8", "replace")
    told["report"] = voiceagent(data, "report") + voiceagent(data, "report", "--json")
    told["doctor"] = voiceagent(data, "doctor", "--config", str(config))
    assert {where: leaked(text) for where, text in told.items() if leaked(text)} == {}
    assert len(logged_calls(local_store(data))) == 1


@pytest.mark.parametrize("fault", MCP_FAULTS)
async def test_an_mcp_server_that_fails_is_logged_without_its_secrets(
    tmp_path: Path, fault: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCP_HEADER", IN_VARIABLES["MCP_HEADER"])
    async with echoing_server() as echoing:
        url = "http://127.0.0.1:9" if fault == "refused" else echoing.url
        config = tmp_path / "agent.yaml"
        config.write_text(
            f"tools: [{{mcp: {{url: '{url}/mcp?token=planted%20mcp%20query', headers_env: {{X-Key: MCP_HEADER}}}}}}]"
        )
        echoing.mcp_fault = fault
        (entry,) = load_agent(config).tools
        assert isinstance(entry, ToolEntry)
        assert entry.mcp is not None
        tools = ToolSet(sources=[McpServer(entry.mcp, tmp_path, connect_timeout_s=0.5)])
        with caplog.at_level(logging.DEBUG, "voiceagent"):
            await tools.open()
            await tools.close()
    lines = [Redacting().format(record) for record in caplog.records if record.name.startswith("voiceagent")]
    assert any("tried again" in line for line in lines)
    assert leaked("\n".join(lines)) == []


PASSWORD = "http://planted-hook-query:planted-mcp-header@127.0.0.1:9/v1"
QUERY = "http://127.0.0.1:9/v1?key=planted-hook-query#planted-mcp-header"


@pytest.mark.parametrize(
    "url", [PASSWORD, f"http://127.0.0.1:8000/v1,{PASSWORD}", QUERY, "planted-hook-query:planted-mcp-header@host"]
)
@pytest.mark.parametrize(
    "place",
    [
        "llm: {base_url: 'URL'}",
        "llm: {base_url: 'http://127.0.0.1:9/v1'}\noptions: {llm: {base_url: 'URL'}}",
        "profile: vllm-cpu\n#VOICEAGENT_LLM_URL",
    ],
)
def test_an_address_of_the_language_model_with_a_secret_is_refused_in_one_line(tmp_path: Path, place: str, url: str) -> None:
    config = tmp_path / "agent.yaml"
    config.write_text(f"name: Planted\n{place.replace('URL', url) if 'VOICEAGENT' not in place else place}\n")
    environment = {
        **os.environ,
        "VOICEAGENT_DATA": str(tmp_path / "data"),
        "VOICEAGENT_LLM_URL": url if "VOICEAGENT" in place else "",
    }
    command = [sys.executable, "-m", "voiceagent", "serve", "--config", str(config), "--port", "0"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "base_url" in done.stderr
    assert "api_key_env" in done.stderr
    assert leaked(done.stdout + done.stderr) == []


@pytest.mark.parametrize(
    "entry",
    [
        "webhook: {name: hook, description: d, url: 'URL'}",
        "mcp: {url: 'URL'}",
        "webhook: {name: hook, description: d, url: 'http://127.0.0.1:9/', headers_env: {Authorization: planted-hook-query}}",
    ],
)
@pytest.mark.parametrize("command", ["serve", "doctor"])
def test_a_tool_with_a_secret_where_none_belongs_is_refused_without_it(tmp_path: Path, entry: str, command: str) -> None:
    config = tmp_path / "agent.yaml"
    config.write_text(f"name: Planted\ntools:\n  - {entry.replace('URL', PASSWORD)}\n")
    port = ("--port", "0") if command == "serve" else ()
    said = voiceagent(tmp_path / "data", command, "--config", str(config), *port)
    assert "headers_env" in said or "environment variable" in said
    assert leaked(said) == []


def test_a_key_in_place_of_its_variables_name_is_refused_without_it(tmp_path: Path) -> None:
    config = tmp_path / "agent.yaml"
    config.write_text("llm: {base_url: 'http://127.0.0.1:9/v1', api_key_env: planted-model-key}\n")
    said = voiceagent(tmp_path / "data", "serve", "--config", str(config), "--port", "0")
    assert "api_key_env names no environment variable" in said
    assert leaked(said) == []


async def test_a_source_of_context_that_fails_is_logged_without_its_secrets(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    url = "http://reader:planted-proxy-password@127.0.0.1:9/search?q=x&sig=planted-hook-query"
    config = tmp_path / "agent.yaml"
    config.write_text(f"context:\n  - {{source: search, options: {{url: '{url}', api_key: planted-model-key}}}}\n")
    load_agent(config)

    class Failing:
        async def chunks(self, query: str) -> AsyncIterator[Chunk]:
            raise OSError(f"{url} says no to planted-model-key")
            yield Chunk("", "")

    sources = Sources([LimitedSource("search", Failing(), 3, 500.0)])
    async with asyncio.TaskGroup() as group:
        start = lambda owner, work: group.create_task(work)  # noqa: E731
        retrieval = Retrieval(sources, 5000.0, lambda: 0.0, start, lambda event: None)
        retrieval.hear(ev.Transcript(0.0, 1, "opening hours tomorrow morning", ""))
    (record,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    line = Redacting().format(record)
    assert HIDDEN in line
    assert leaked(line) == []


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://a:b@h:1/p?q=1#f", "http://h:1/p"),
        ("http://h/p?q=1", "http://h/p"),
        ("a:b@h", "h"),
        ("http://a:b//c@h/p", "http://h/p"),
        ("?k=//v", ""),
        ("ws://[::1]:2/p", "ws://[::1]:2/p"),
    ],
)
def test_an_address_is_told_without_name_password_query_and_fragment(url: str, told: str) -> None:
    assert shown(url) == told


def test_short_words_are_never_taken_for_secrets(tmp_path: Path) -> None:
    config = tmp_path / "agent.yaml"
    config.write_text("context: [{source: x, options: {token: 'a', password: 'the'}}]\n")
    load_agent(config)
    assert redacted("a cat in the hat") == "a cat in the hat"
