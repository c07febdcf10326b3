"""Screening services as a guard: one request for a window or an utterance, in the form of Lakera Guard's `POST /v2/guard`, which
self-hosted classifiers can answer, too. The answer says whether the text is flagged, and by which detectors. The guard's caller
holds the deadline."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import msgspec
from typing_extensions import override

from voiceagent.addresses import check_address, is_loopback
from voiceagent.errors import ConfigError
from voiceagent.guard.verdict import ALLOWED, Guard, GuardError, Verdict
from voiceagent.redaction import keep_secret
from voiceagent.untrusted_json import read_struct

MAX_ANSWER_BYTES = 65_536
MAX_CONNECTIONS = 16
"""The most requests at the same time. Others wait, within their deadline."""
MAX_CATEGORIES = 3
KEY_GOES = "put the key into an environment variable (api_key_env) or a file (api_key_file)"
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")
_CATEGORY = re.compile(r"[\w/.-]{1,40}", re.ASCII)


class HttpOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of the guard `http`."""

    url: str
    """The whole address, such as `https://api.lakera.ai/v2/guard`."""
    project_id: str = ""
    """The service's project, whose policy says what is flagged; empty: its default."""
    api_key_env: str = ""
    """The environment variable that holds the key. Empty, without a file: no key is sent."""
    api_key_file: str = ""
    """The file that holds the key, relative to `agent.yaml`."""
    allow_http: bool = False
    """Lets texts and key go unencrypted to another machine."""


class _Detector(msgspec.Struct, frozen=True):
    detector_type: str = ""
    detected: bool = False


class _Answer(msgspec.Struct, frozen=True):
    flagged: bool
    breakdown: tuple[_Detector, ...] | None = None


class HttpGuard(Guard):
    """A service's verdicts, one session of kept connections for all calls. Neither text nor key stands in an error."""

    def __init__(self, options: HttpOptions, base_dir: str) -> None:
        """Raises ConfigError."""
        try:
            check_address(options.url, query=False, secrets_go=KEY_GOES)
        except ValueError as error:
            raise ConfigError(f"guard http: url {error}") from error
        parts = urlsplit(options.url)
        if parts.scheme != "https" and not is_loopback(parts.hostname or "") and not options.allow_http:
            raise ConfigError(
                f"guard http: url is {options.url}, expected https://… (or `allow_http: true` on a network you trust)"
            )
        self._url = options.url
        self._asked = {"breakdown": True, "payload": False, **({"project_id": options.project_id} if options.project_id else {})}
        key = _key(options, Path(base_dir))
        self._http = httpx2.AsyncClient(
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=None,
            limits=httpx2.Limits(max_connections=MAX_CONNECTIONS, max_keepalive_connections=MAX_CONNECTIONS, keepalive_expiry=60),
            follow_redirects=False,
        )

    @override
    async def check_output(self, said: str, window: str, *, last: bool) -> Verdict:
        """The reply's windows so far are one message, so that a hit may begin in an earlier one."""
        return await self._check("assistant", said + window)

    @override
    async def check_input(self, text: str) -> Verdict:
        return await self._check("user", text)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _check(self, role: str, text: str) -> Verdict:
        body = {"messages": [{"role": role, "content": text}], **self._asked}
        try:
            async with self._http.stream("POST", self._url, json=body) as response:
                if response.status_code != 200:
                    raise GuardError(f"it answered with HTTP status {response.status_code}, expected 200")
                answer = read_struct(await _read(response), _Answer)
        except httpx2.HTTPError as error:
            raise GuardError(f"it cannot be reached: {type(error).__name__}") from error
        except ValueError as error:
            raise GuardError("its answer is not in the form of /v2/guard: {flagged: …, breakdown: […]}") from error
        return Verdict(f"http: {_categories(answer)}") if answer.flagged else ALLOWED


def create(options: Mapping[str, object], base_dir: str) -> HttpGuard:
    """The plugin `http` of `voiceagent.guard`. Raises ConfigError."""
    if "api_key" in options:
        raise ConfigError(f"guard http: api_key does not belong into agent.yaml; {KEY_GOES}")
    try:
        chosen = msgspec.convert(dict(options), HttpOptions)
    except msgspec.ValidationError as error:
        raise ConfigError(f"guard http: {error}; docs/guard.md has the options") from error
    return HttpGuard(chosen, base_dir)


def _key(options: HttpOptions, base_dir: Path) -> str:
    variable, file = options.api_key_env, options.api_key_file
    if variable and file:
        raise ConfigError("guard http: api_key_env and api_key_file are both set; expected one")
    if variable and not _VARIABLE.fullmatch(variable):  # the name may be the key itself
        raise ConfigError(f"guard http: api_key_env names no environment variable; {KEY_GOES}")
    if not (variable or file):
        return ""
    try:
        key = (base_dir / file).read_text(encoding="utf-8").strip() if file else os.environ.get(variable, "")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"guard http: api_key_file {file} cannot be read ({type(error).__name__})") from error
    if not re.fullmatch(r"[\x21-\x7e]{1,4096}", key):
        raise ConfigError(f"guard http: {file or variable} holds no key; expected one line of letters, digits and signs")
    keep_secret(key)
    return key


async def _read(response: httpx2.Response) -> bytes:
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > MAX_ANSWER_BYTES:
            raise GuardError(f"it answered with more than {MAX_ANSWER_BYTES} bytes")
    return bytes(body)


def _categories(answer: _Answer) -> str:
    """The detectors that hit, for the rule's name: a few short words, whatever the service writes."""
    names = {each.detector_type for each in answer.breakdown or () if each.detected}
    return ", ".join(sorted(filter(_CATEGORY.fullmatch, names))[:MAX_CATEGORIES]) or "flagged"
