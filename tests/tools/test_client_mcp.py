"""What a client may name of MCP servers, before anything is connected to."""

from __future__ import annotations

from typing import Any

import pytest

from voiceagent.errors import ConfigError, ProtocolError
from voiceagent.tools.call_tools import CallTools
from voiceagent.tools.client_mcp import allow, read_entry
from voiceagent.tools.toolset import ToolSet

ALLOWED = ("https://mcp.example", "http://127.0.0.1:9000/mcp")
ENTRY: dict[str, Any] = {"type": "mcp", "server_label": "kitchen", "server_url": "https://mcp.example/any/path"}


@pytest.mark.parametrize("url", ["https://mcp.example", "https://mcp.example:443/a", "http://127.0.0.1:9000/mcp"])
def test_an_address_that_the_operator_allows_is_taken(url: str) -> None:
    assert read_entry({**ENTRY, "server_url": url}, ALLOWED).url == url


@pytest.mark.parametrize(
    "url",
    [
        "http://mcp.example/",
        "https://mcp.example:8443/",
        "https://mcp.example.evil/",
        "https://evil/?https://mcp.example",
        "https://mcp.example@evil/",
        "https://mcp.example/?token=hidden",
        "http://127.0.0.1:9000/admin",
        "http://127.0.0.1:9000/mcp/../admin",
        "http://127.0.0.1/mcp",
        "http://localhost:9000/mcp",
        "http://[::1]:9000/mcp",
        "http://169.254.169.254/latest/meta-data",
        "file:///etc/passwd",
        "https://mcp.example:0/",
        "",
        7,
    ],
)
def test_any_other_address_is_refused_and_its_secrets_are_not_repeated(url: object) -> None:
    with pytest.raises(ProtocolError) as refused:
        read_entry({**ENTRY, "server_url": url}, ALLOWED)
    assert "hidden" not in str(refused.value)
    assert "server_url" in str(refused.value) or "http.client_mcp_servers" in str(refused.value)


def test_no_address_is_allowed_unless_the_operator_says_so() -> None:
    tools = CallTools(ToolSet())
    with pytest.raises(ProtocolError, match=r"http\.client_mcp_servers"):
        tools.offer([ENTRY])
    assert tools.new_servers() == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"server_label": "my kitchen"},
        {"server_label": None},
        {"connector_id": "connector_gmail"},
        {"tunnel_id": "t"},
        {"defer_loading": True},
        {"headers": ["a"]},
        {"headers": {"Host": "evil"}},
        {"headers": {"X-Key": "hidden\r\nHost: evil"}},
        {"headers": {"X Key": "hidden"}},
        {"headers": {"X-Key": "hidden" * 1000}},
        {"headers": {f"X-{number}": "hidden" for number in range(17)}},
        {"authorization": 7},
        {"authorization": "hidden\nhidden"},
        {"allowed_tools": "add"},
        {"allowed_tools": {"names": []}},
        {"require_approval": "sometimes"},
        {"require_approval": {"always": {"read_only": 1}}},
        {"require_approval": {"often": {}}},
    ],
)
def test_an_entry_that_cannot_be_used_is_refused_by_its_label(wrong: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError) as refused:
        read_entry({**ENTRY, **wrong}, ALLOWED)
    assert "hidden" not in str(refused.value)
    assert "kitchen" in str(refused.value) or "server_label" in str(refused.value)


def test_credentials_are_sent_and_not_shown() -> None:
    entry = read_entry({**ENTRY, "authorization": "hidden", "headers": {"X-Key": "also hidden"}}, ALLOWED)
    assert entry.headers == {"Authorization": "Bearer hidden", "X-Key": "also hidden"}
    assert "hidden" not in repr(entry)
    assert entry.shown == ENTRY


@pytest.mark.parametrize(
    ("require_approval", "asked"),
    [
        (None, ["add", "cook"]),
        ("always", ["add", "cook"]),
        ("never", []),
        ({"never": {"read_only": True}}, ["cook"]),
        ({"never": {"tool_names": ["cook"]}}, ["add"]),
        ({"always": {"tool_names": ["cook"]}}, ["cook"]),
        ({"always": {"tool_names": ["cook"]}, "never": {"tool_names": ["note"]}}, ["add", "cook"]),
    ],
)
def test_an_approval_is_needed_unless_the_client_says_otherwise(require_approval: object, asked: list[str]) -> None:
    entry = read_entry({**ENTRY, "require_approval": require_approval}, ALLOWED)
    assert [name for name in ("add", "cook") if entry.needs_approval(name, reads_only=name == "add")] == asked


def test_a_server_that_stays_in_the_session_is_not_connected_again() -> None:
    tools = CallTools(ToolSet(), (), ALLOWED)
    function = {"type": "function", "name": "get_time"}
    tools.offer([ENTRY, function])
    (server,) = tools.new_servers()
    assert [tool.get("name") or tool["server_label"] for tool in tools.offered] == ["get_time", "kitchen"]
    tools.offer([ENTRY])
    assert tools.new_servers() == []
    assert not server.dropped.is_set()
    tools.offer([{**ENTRY, "authorization": "other"}])
    assert server.dropped.is_set()
    assert len(tools.new_servers()) == 1


@pytest.mark.parametrize("count", [2, 5])
def test_servers_are_few_and_have_names_of_their_own(count: int) -> None:
    entries = [{**ENTRY, "server_label": "kitchen" if count == 2 else f"kitchen{number}"} for number in range(count)]
    with pytest.raises(ProtocolError):
        CallTools(ToolSet(), (), ALLOWED).offer(entries)


@pytest.mark.parametrize("address", ["mcp.example", "https://key@mcp.example", "https://mcp.example/?key=1", "*"])
def test_the_operators_list_holds_addresses(address: str) -> None:
    with pytest.raises(ConfigError, match=r"http\.client_mcp_servers"):
        allow([address])
