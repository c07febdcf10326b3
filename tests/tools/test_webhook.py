"""Webhooks against a real HTTP server: whatever it answers, the model gets JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.loopback import on_loopback
from voiceagent.errors import ConfigError
from voiceagent.settings.agent import load_agent
from voiceagent.tools.settings import ToolEntry, WebhookSettings
from voiceagent.tools.tool import ToolPolicy
from voiceagent.tools.toolset import ToolSet

PARAMETERS = {
    "type": "object",
    "properties": {"city": {"type": "string", "pattern": "^[A-Z]"}, "days": {"type": "integer", "maximum": 7}},
    "required": ["city"],
    "additionalProperties": False,
}


class Hook:
    """A server whose answer a test sets."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[tuple[dict[str, str], Any]] = []
        self.answer: web.StreamResponse | None = web.json_response({"sky": "blue"})

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append((dict(request.headers), await request.json()))
        if self.answer is None:
            await asyncio.Event().wait()
            raise AssertionError
        answer, self.answer = self.answer, web.json_response({"moved": True})
        return answer


@pytest.fixture
async def hook() -> AsyncIterator[Hook]:
    hook = Hook()
    app = web.Application()
    app.router.add_post("/{tail:.*}", hook.handle)
    async with on_loopback(app) as url:
        hook.url = f"{url}/hook"
        yield hook


async def run(hook: Hook, arguments: str = '{"city": "Oslo"}', **settings: Any) -> tuple[Any, bool]:
    fields = {"name": "weather", "description": "Tell the weather.", "url": hook.url, "parameters": PARAMETERS} | settings
    tools = ToolSet.from_config([ToolEntry(webhook=WebhookSettings(**fields))], ".")
    await tools.open()
    try:
        outcome = await tools.run("weather", arguments, 5)
    finally:
        await tools.close()
    return json.loads(outcome.output), outcome.ok


async def test_the_arguments_are_posted_with_a_header_from_the_environment(hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEATHER_KEY", "Bearer k")
    given = '{"city": "Oslo", "days": "3"}'
    assert await run(hook, given, headers_env={"Authorization": "WEATHER_KEY"}) == ({"sky": "blue"}, True)
    headers, posted = hook.requests[0]
    assert headers["Authorization"] == "Bearer k"
    assert posted == {"city": "Oslo", "days": 3}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("{", "not valid JSON"),
        ("[]", "must be a JSON object"),
        ("{}", "'city' is a required property"),
        ('{"city": "oslo"}', "city: 'oslo' does not match"),
        ('{"city": "Oslo", "days": 8}', "days: 8 is greater than the maximum of 7"),
        ('{"city": "Oslo", "wind": 1}', "'wind' was unexpected"),
    ],
)
async def test_wrong_arguments_go_back_to_the_model_and_nowhere_else(hook: Hook, arguments: str, said: str) -> None:
    output, ok = await run(hook, arguments)
    assert not ok
    assert said in output["error"]
    assert hook.requests == []


def text(kind: str, body: str | bytes) -> web.Response:
    return web.Response(body=body, content_type=kind)


def redirect(status: int, location: str) -> web.Response:
    return web.Response(status=status, headers={"Location": location})


NOT_FOLLOWED = "The tool weather was sent to another place, which is not followed."


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda: text("text/html", "<html>"), {"error": "The tool weather answered with text/html, expected JSON."}),
        (lambda: text("a/b", b"\xff\xfe{"), {"error": "The tool weather answered with a/b, expected JSON."}),
        (lambda: text("a/b", "[" * 100_000), {"error": "The tool weather answered with a/b, expected JSON."}),
        (lambda: web.Response(status=500, text="Traceback"), {"error": "The tool weather failed with HTTP status 500."}),
        (lambda: web.json_response({"error": "No such city."}, status=422), {"error": "No such city."}),
        (lambda: web.json_response(["x" * 300_000]), {"error": "The tool weather answered with more than 262144 bytes."}),
        (lambda: web.json_response(["x" * 30_000]), {"error": "The tool's result is too long."}),
        (lambda: web.Response(status=204), {"result": None}),
        (lambda: web.json_response([1, 2]), {"result": [1, 2]}),
        (lambda: redirect(307, "/elsewhere"), {"moved": True}),
        (lambda: redirect(302, "/elsewhere"), {"error": NOT_FOLLOWED}),
        (lambda: redirect(307, "http://127.0.0.1:1/"), {"error": NOT_FOLLOWED}),
    ],
)
async def test_whatever_is_answered_the_model_gets_json(hook: Hook, answer: Any, said: Any) -> None:
    hook.answer = answer()
    output, ok = await run(hook)
    assert output == said
    assert ok == ("error" not in said)


async def test_a_server_that_does_not_answer_or_is_not_there_is_told(hook: Hook) -> None:
    hook.answer = None
    assert await run(hook, timeout_s=0.1) == ({"error": "The tool weather took too long."}, False)
    assert await run(hook, url="http://127.0.0.1:1/") == ({"error": "The tool weather cannot be reached: ConnectError."}, False)


def test_agent_yaml_names_webhooks_and_servers(tmp_path: Path) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text(
        """
tools:
  - webhook:
      name: book
      description: Book a table.
      url: https://example.com/book
      parameters: {type: object, properties: {people: {type: integer}}}
      filler: [One moment.]
      confirm: For {people} people?
  - mcp: {command: [server, --fast]}
"""
    )
    agent = load_agent(file)
    tools = ToolSet.from_config(agent.tools[:1], tmp_path)
    assert tools.policy("book") == ToolPolicy("external", ("One moment.",), "For {people} people?")


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{webhook: {name: a, description: b, url: file:///etc/passwd}}", "expected http://"),
        ("{webhook: {name: a b, description: b, url: 'http://h/'}}", "expected a name of letters"),
        (
            "{webhook: {name: a, description: b, url: 'http://h/', parameters: {type: array}}}",
            "is of type 'array', expected object",
        ),
        ("{webhook: {name: a, description: b, url: 'http://h/', effect: some}}", "Invalid enum value 'some'"),
        (
            "{webhook: {name: a, description: b, url: 'http://h/', headers_env: {X: NOT_SET_ANYWHERE}}}",
            "NOT_SET_ANYWHERE; set it",
        ),
        ("{webhook: {name: a, description: b, url: 'http://h/', headers: {X: secret}}}", "unknown field `headers`"),
        ("{webhook: {name: a, description: b, url: 'http://me:s3cret@h/'}}", "expected http://"),
        ("{mcp: {url: 'http://me:s3cret@h/mcp?key=s3cret'}}", "expected http://"),
        ("{mcp: {}}", "names either `command`"),
        ("{mcp: {command: [x], url: 'http://h/'}}", "names either `command`"),
        ("{}", "has one key: `mcp` or `webhook`"),
    ],
)
def test_an_entry_that_cannot_be_used_is_one_line(tmp_path: Path, entry: str, said: str) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text(f"tools: [{entry}]")
    with pytest.raises(ConfigError, match=said) as caught:
        ToolSet.from_config(load_agent(file).tools, tmp_path)
    assert "\n" not in str(caught.value)
    assert "s3cret" not in str(caught.value)
