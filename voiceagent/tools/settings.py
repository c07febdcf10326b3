"""The entries under `tools:` in agent.yaml that are no Python files: MCP servers and webhooks. Secrets are never in the file:
it names environment variables that hold them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from itertools import takewhile
from typing import Annotated

import msgspec

from voiceagent.addresses import check_address, shown
from voiceagent.errors import ConfigError
from voiceagent.tools.tool import Effect, ToolPolicy, policy_of

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def checked_url(owner: str, url: str) -> str:
    """The address. Raises ConfigError unless it is an http(s) URL without user name and password."""
    try:
        return check_address(url, secrets_go="name the variable that holds it with headers_env")
    except ValueError as error:
        raise ConfigError(f"{owner}: url {error}") from error


def headers_from(owner: str, headers_env: Mapping[str, str]) -> dict[str, str]:
    """Each header from the environment variable that is named for it. Raises ConfigError when one is not set."""
    headers: dict[str, str] = {}
    for header, variable in headers_env.items():
        if not _VARIABLE.fullmatch(variable):  # the name may be the secret itself
            raise ConfigError(f"{owner}: the header {header} names no environment variable; expected a name such as API_TOKEN")
        value = os.environ.get(variable, "")
        if not value or not value.isprintable():
            raise ConfigError(f"{owner}: the header {header} comes from the environment variable {variable}; set it to one line")
        headers[header] = value
    return headers


def variables_from(owner: str, names: tuple[str, ...]) -> dict[str, str]:
    """The environment variables of these names. Raises ConfigError when one is not set."""
    missing = [name for name in names if name not in os.environ]
    if missing:
        raise ConfigError(f"{owner}: wants the environment variable {missing[0]}; set it, or take it out of `env`")
    return {name: os.environ[name] for name in names}


Name = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]


class RuleSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Settings of a tool's runs, with the same words as `@tool(...)`."""

    effect: Effect | None = None
    """None: as its server says, else `external`."""
    filler: str | tuple[str, ...] = ()
    confirm: str | bool = ""
    """False: nothing is asked, also where the tool destroys something."""
    timeout_s: float | None = None

    def policy(self, effect: Effect = "external") -> ToolPolicy:
        """The policy, with `effect` where none is set."""
        fillers = (self.filler,) if isinstance(self.filler, str) else self.filler
        return policy_of(self.effect or effect, fillers, self.confirm, self.timeout_s)


class McpSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An MCP server: a program to start, or an address."""

    command: tuple[str, ...] = ()
    """The program and its arguments; it speaks over its standard input and output, and runs in agent.yaml's folder."""
    env: tuple[str, ...] = ()
    """The environment variables that the program is given, besides a few such as PATH and HOME."""
    url: str = ""
    """The address of a server that answers by streamable HTTP."""
    headers_env: dict[str, str] = {}
    """Headers to send there: each from the environment variable named."""
    call: bool = False
    """True if each request carries the facts of its call, such as the caller's number, as `_meta`."""
    only: tuple[str, ...] = ()
    """The tools to take; empty: all."""
    rules: dict[str, RuleSettings] = {}
    """Settings of single tools' runs, by the tool's name."""

    def __post_init__(self) -> None:
        if bool(self.command) == bool(self.url):
            raise ValueError("an mcp entry names either `command` (a list) or `url`")
        if self.command and self.headers_env:
            raise ValueError("headers_env goes with `url`; a program is given `env`")
        if self.url and self.env:
            raise ValueError("env goes with `command`; an address is given `headers_env`")

    @property
    def label(self) -> str:
        """Its name in messages and in the log: an address without parts that may be a password or a token, a program without its
        options."""
        return shown(self.url).partition("//")[2] or " ".join(takewhile(lambda word: word[:1] != "-", self.command))[:80]


class WebhookSettings(RuleSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A tool that is one HTTP request: its arguments are posted as JSON, the answer is its result."""

    name: Name
    description: Annotated[str, msgspec.Meta(min_length=1, max_length=2000)]
    url: str
    parameters: dict[str, object] = {}
    """JSON schema of the arguments."""
    headers_env: dict[str, str] = {}
    """Headers to send: each from the environment variable named."""
    call: bool = False
    """True if the body holds the facts of the call, with its parameters, as `call`."""


class ToolEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An entry that is no Python file: just one of these."""

    mcp: McpSettings | None = None
    webhook: WebhookSettings | None = None

    def __post_init__(self) -> None:
        if (self.mcp is None) == (self.webhook is None):
            raise ValueError("an entry of `tools` is a Python file or module, or has one key: `mcp` or `webhook`")
