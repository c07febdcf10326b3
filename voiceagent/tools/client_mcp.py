"""MCP servers that the client of a call names in its session, and their tools in that call. Only addresses that the operator
allows (`http.client_mcp_servers`) are connected to. Redirects are not followed. The credentials that a client gives are neither
shown nor logged."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from typing_extensions import override

from voiceagent.addresses import check_address, shown
from voiceagent.errors import ConfigError, ProtocolError
from voiceagent.json_types import JsonObject
from voiceagent.tools.settings import McpSettings
from voiceagent.tools.tool import NAME, RunScope, Tool, ToolError, ToolPolicy

if TYPE_CHECKING:
    from voiceagent.tools.mcp_server import McpServer

log = logging.getLogger(__name__)

MAX_SERVERS = 4
MAX_HEADERS = 16
MAX_HEADER_CHARACTERS = 4096
MAX_URL_CHARACTERS = 2000
MAX_NAMED_TOOLS = 128
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_OURS = {"host", "connection", "content-length", "content-type", "accept", "transfer-encoding", "upgrade"}
"""Headers that belong to the connection, in lower case."""
_KNOWN = {
    "type",
    "server_label",
    "server_url",
    "server_description",
    "authorization",
    "headers",
    "allowed_tools",
    "require_approval",
}


@dataclass(frozen=True, slots=True)
class Approval:
    """A client's answer to the question whether a tool may run."""

    is_given: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Filter:
    """Some tools of a server."""

    names: tuple[str, ...] | None = None
    """None: any name."""
    read_only: bool | None = None
    """True: those that change nothing, as the server says; false: the others; None: both."""

    def holds(self, name: str, *, reads_only: bool) -> bool:
        """True if the tool is one of them."""
        return (self.names is None or name in self.names) and self.read_only in (None, reads_only)


@dataclass(frozen=True, slots=True)
class ClientMcpEntry:
    """A server as the client described it."""

    label: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    shown: JsonObject
    """The entry without its credentials."""
    allowed: Filter
    asks: Filter | None
    """The tools that need an approval; None: none does."""
    spared: Filter | None
    """Tools that need none, whatever `asks` says."""

    def needs_approval(self, name: str, *, reads_only: bool) -> bool:
        """True if the client must be asked before the tool runs."""
        if self.spared is not None and self.spared.holds(name, reads_only=reads_only):
            return False
        return self.asks is not None and self.asks.holds(name, reads_only=reads_only)


def read_entry(raw: JsonObject, allowed: Sequence[str]) -> ClientMcpEntry:
    """A tool of type `mcp`. `allowed` are the addresses that clients may name. Raises ProtocolError."""
    label = raw.get("server_label")
    if not isinstance(label, str) or not NAME.fullmatch(label):
        raise ProtocolError("An mcp tool needs a server_label of letters, digits, _ and - (at most 64).")
    who = f"The mcp server {label}"
    unknown = [name for name, value in raw.items() if name not in _KNOWN and value is not None]
    if unknown:
        raise ProtocolError(f"{who} has a field {unknown[0][:40]!r}, which is not supported; use {', '.join(sorted(_KNOWN))}.")
    url = raw.get("server_url")
    if not isinstance(url, str) or len(url) > MAX_URL_CHARACTERS:
        raise ProtocolError(f"{who} needs a server_url of at most {MAX_URL_CHARACTERS} characters.")
    if not _is_allowed(url, allowed):
        raise ProtocolError(
            f"{who} is at {shown(url)[:200]!r}, which this server may not connect to, or has a query; "
            "its operator can add the address to http.client_mcp_servers in agent.yaml."
        )
    asks, spared = _approval(who, raw.get("require_approval"))
    secrets = {"authorization", "headers"}
    return ClientMcpEntry(
        label,
        url,
        _headers(who, raw),
        {name: value for name, value in raw.items() if name not in secrets and value is not None},
        Filter() if raw.get("allowed_tools") is None else _filter(f"{who}: allowed_tools", raw["allowed_tools"]),
        asks,
        spared,
    )


def allow(addresses: Sequence[str]) -> None:
    """Prepare for the addresses of `http.client_mcp_servers`, before the first call. Raises ConfigError for one that is none."""
    for url in addresses:
        try:
            check_address(url, query=False, secrets_go="clients give their own in `headers`")
        except ValueError as error:
            raise ConfigError(f"http.client_mcp_servers: an address {error}") from error
    if addresses:
        _mcp_server()


def _mcp_server() -> type[McpServer]:
    """The class. Its first import takes most of a second, which nobody pays whose clients may name no server."""
    from voiceagent.tools.mcp_server import McpServer

    return McpServer


def _is_allowed(url: str, allowed: Sequence[str]) -> bool:
    """True for an address of the list, and for any at an origin that stands there without a path."""
    try:
        check_address(url, query=False, secrets_go="")
        parts = urlsplit(url)
        for one in map(urlsplit, allowed):
            same = (parts.scheme, parts.hostname, _port(parts.scheme, parts.port)) == (
                one.scheme,
                one.hostname,
                _port(one.scheme, one.port),
            )
            if same and (one.path in ("", "/") or parts.path == one.path):
                return True
    except ValueError:
        return False
    return False


def _port(scheme: str, port: int | None) -> int:
    return port or (443 if scheme == "https" else 80)


def _headers(who: str, raw: JsonObject) -> dict[str, str]:
    given = {} if raw.get("headers") is None else raw["headers"]
    token = raw.get("authorization")
    if not isinstance(given, dict) or len(given) > MAX_HEADERS or not isinstance(token, str | None):
        raise ProtocolError(f"{who}: headers must be an object of at most {MAX_HEADERS} texts, and authorization a text.")
    if token is not None:
        given = {**given, "Authorization": token if " " in token else f"Bearer {token}"}
    for name, value in given.items():  # neither is repeated in the message: a client may have mixed them up
        if not _HEADER.fullmatch(name) or name.lower() in _OURS:
            raise ProtocolError(f"{who}: the name of a header cannot be used.")
        if not isinstance(value, str) or not value.isascii() or not value.isprintable() or len(value) > MAX_HEADER_CHARACTERS:
            raise ProtocolError(f"{who}: the value of a header must be one line of at most {MAX_HEADER_CHARACTERS} characters.")
    return dict(given)


def _filter(what: str, raw: object) -> Filter:
    given = {"tool_names": raw} if isinstance(raw, list) else raw
    if not isinstance(given, dict) or given.keys() - {"tool_names", "read_only"}:
        raise ProtocolError(f"{what} must be a list of names, or an object with tool_names and read_only.")
    names, read_only = given.get("tool_names"), given.get("read_only")
    is_list = isinstance(names, list) and len(names) <= MAX_NAMED_TOOLS and all(isinstance(name, str) for name in names)
    if not (names is None or is_list) or not isinstance(read_only, bool | None):
        raise ProtocolError(f"{what} must hold tool_names, at most {MAX_NAMED_TOOLS} texts, and read_only, true or false.")
    return Filter(None if names is None else tuple(names), read_only)


def _approval(who: str, raw: object) -> tuple[Filter | None, Filter | None]:
    """The tools that need an approval, and those that are spared. All need one unless the client says otherwise."""
    if raw in (None, "always"):
        return Filter(), None
    if raw == "never":
        return None, None
    if not isinstance(raw, dict) or raw.keys() - {"always", "never"}:
        raise ProtocolError(f'{who}: require_approval must be "always", "never", or an object with always and never.')
    asks, spared = (raw.get(name) and _filter(f"{who}: require_approval.{name}", raw[name]) for name in ("always", "never"))
    return (Filter() if not asks or spared else asks), spared or None


class ClientMcpServer:
    """A server that a client named: connected for the call, as long as the session has it."""

    def __init__(self, entry: ClientMcpEntry) -> None:
        self.entry = entry
        self.is_begun = False
        """True once somebody connects it."""
        self.dropped = asyncio.Event()
        """Set when the session has it no more."""
        self._server = _mcp_server()(McpSettings(url=entry.url), Path(), headers=entry.headers)

    async def open(self) -> str:
        """Connect, and read its tools. Returns why that failed, or an empty text."""
        try:
            await self._server.open()
        except ConfigError as error:
            return str(error)
        return "" if self._server.is_connected else "it cannot be reached, or refuses the credentials"

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Those that the client allows."""
        return tuple(tool for tool in self._server.tools if self.entry.allowed.holds(tool.name, reads_only=_reads_only(tool)))

    def needs_approval(self, tool: Tool) -> bool:
        """True if the client must be asked before the tool runs."""
        return self.entry.needs_approval(tool.name, reads_only=_reads_only(tool))

    async def close(self) -> None:
        """Disconnect."""
        await self._server.close()


def _reads_only(tool: Tool) -> bool:
    return tool.policy.effect == "none"


class ApprovedTool(Tool):
    """One run of a tool of a client's server, which waits for the client's approval first. It is taken to leave something behind,
    so that it never runs before its turn is over."""

    def __init__(self, tool: Tool, approval: asyncio.Future[Approval] | None = None) -> None:
        """`approval` is None where none is needed."""
        self.name, self.description, self.parameters = tool.name, tool.description, tool.parameters
        self.policy = ToolPolicy()
        self._tool = tool
        self._approval = approval

    @override
    def parse(self, arguments: str) -> dict[str, object]:
        return self._tool.parse(arguments)

    @override
    async def run(self, given: dict[str, object], scope: RunScope) -> object:
        if self._approval is not None:
            approval = await self._approval
            if not approval.is_given:
                raise ToolError(f"The caller did not approve it. {approval.reason[:300]}".strip())
        return await self._tool.run(given, scope)
