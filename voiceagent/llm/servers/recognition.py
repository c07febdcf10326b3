"""Recognises a language model server by what it answers: where its API is, what kind of server it is, and which model it has.

vLLM tells its version at `/version` (docs.vllm.ai, "OpenAI-Compatible Server"), Ollama at `/api/version` (docs.ollama.com, "Get
version"), llama.cpp at `/props` (tools/server/README.md). Any other server is recognised by the owner that it names for its
models, if at all."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from types import TracebackType

import httpx2

from voiceagent.addresses import check_address
from voiceagent.errors import ConfigError, EngineError
from voiceagent.llm.servers.dialects import UNKNOWN, Server, server_named, server_of
from voiceagent.redaction import keep_secret, redacted
from voiceagent.settings_file import did_you_mean
from voiceagent.untrusted_json import read_loose_json

KEY_VARIABLE = "VOICEAGENT_LLM_API_KEY"
ANSWER_S = 5.0
"""The longest wait for an answer that takes no language model."""
MAX_BYTES = 4_000_000
MAX_MODELS = 2000
SHOWN_MODELS = 8
_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_API = re.compile(r"/(chat/completions|completions|models)$")
_PAGE = re.compile(rb"\s*<(!doctype|html)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RecognisedServer:
    """A server that answers, and the model to ask for there."""

    base_url: str
    """The address of its API, which mostly ends in /v1."""
    kind: Server
    version: str
    """Empty if it does not tell."""
    model: str
    longest_tokens: int = 0
    """Most tokens of a prompt and its reply; 0 if it does not tell."""

    @property
    def model_name(self) -> str:
        """The model's name, for messages."""
        return _shown(self.model)

    @property
    def kind_and_version(self) -> str:
        """The kind of the server, with its version if it tells one."""
        return f"{self.kind.name} {self.version}".strip()

    def __str__(self) -> str:
        longest = f", {self.longest_tokens} tokens at most" if self.longest_tokens else ""
        return f"{self.model_name} by {self.kind_and_version} at {self.base_url}{longest}"


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """An answer by HTTP."""

    status: int
    value: object
    """Its JSON; None if it is none."""
    is_page: bool = False
    """True if it is a web page."""

    def get(self, *keys: str) -> object:
        """The part of its JSON that these keys lead to; None if there is none."""
        value = self.value
        for key in keys:
            value = value.get(key) if isinstance(value, Mapping) else None
        return value


class ServerQuestions:
    """Asks a server, with the key of an environment variable. `async with` closes its connections."""

    def __init__(self, key_env: str = KEY_VARIABLE) -> None:
        self.key_env = key_env
        key = os.environ.get(key_env, "")
        self.has_key = bool(key)
        keep_secret(key)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        # each request has a connection of its own: some servers close theirs after an error, and a client may not notice in time
        limits = httpx2.Limits(max_keepalive_connections=0)
        self._http = httpx2.AsyncClient(timeout=httpx2.Timeout(None, connect=ANSWER_S), limits=limits, headers=headers)

    async def __aenter__(self) -> ServerQuestions:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._http.aclose()

    async def ask(self, url: str, body: Mapping[str, object] | None = None, timeout_s: float = 0) -> ServerAnswer:
        """GET, or with a `body` POST. Raises EngineError if nothing answers in time, `ANSWER_S` where none is given."""
        try:
            async with (
                asyncio.timeout(timeout_s or ANSWER_S),
                self._http.stream("GET" if body is None else "POST", url, json=body) as answer,
            ):
                data = b""
                async for piece in answer.aiter_bytes():
                    data += piece
                    if len(data) > MAX_BYTES:
                        raise EngineError(
                            f"{url}: sends more than {MAX_BYTES} bytes; is it a language model server?", "unreadable"
                        )
        except (TimeoutError, httpx2.TimeoutException) as error:
            raise EngineError(
                f"{url}: no answer within {timeout_s or ANSWER_S:g} s; is the server overloaded?", "too_late"
            ) from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise unreachable(url, error) from error
        try:
            value = read_loose_json(data)
        except ValueError:
            value = None
        return ServerAnswer(answer.status_code, value, _PAGE.match(data) is not None)

    async def lines(self, url: str, body: Mapping[str, object]) -> AsyncIterator[str | None]:
        """The lines of an answer as they come; only None if the request is refused. Raises EngineError."""
        count = 0
        try:
            async with self._http.stream("POST", url, json=body) as answer:
                if answer.status_code != 200:
                    yield None
                    return
                async for line in answer.aiter_lines():
                    count += len(line)
                    if count > MAX_BYTES:
                        return
                    yield line
        except httpx2.HTTPError as error:
            raise unreachable(url, error) from error

    async def ask_quietly(self, url: str, body: Mapping[str, object] | None = None) -> ServerAnswer:
        """The same, with an empty answer where nothing answers."""
        try:
            return await self.ask(url, body)
        except EngineError:
            return ServerAnswer(0, None)


def unreachable(url: str, error: Exception) -> EngineError:
    """The error of a server that does not answer."""
    reason = redacted(" ".join(str(error).split()))[:120] or type(error).__name__
    return EngineError(
        f"{url}: no language model server answers there ({reason}); start it, or correct the address", "unreachable"
    )


async def recognise(url: str, model: str = "", key_env: str = KEY_VARIABLE) -> RecognisedServer:
    """Recognise the server at an address, with or without its /v1. `model` is the model to ask for; empty: its only one. Raises
    EngineError in one line, and ConfigError for what is no address."""
    address = _address(url)
    async with ServerQuestions(key_env) as questions:
        base_url, listed = await _api(questions, address)
        owners = {str(one["id"]): one for one in listed if isinstance(one.get("id"), str)}
        root = base_url.removesuffix("/v1")
        paths = ("/version", "/api/version", "/props")
        vllm, ollama, llama = await asyncio.gather(*(questions.ask_quietly(f"{root}{path}") for path in paths))
        kind = next(iter({server_of(str(one.get("owned_by") or "")) for one in owners.values()} - {UNKNOWN}), UNKNOWN)
        if isinstance(ollama.get("version"), str) and kind in (UNKNOWN, server_named("Ollama")):
            kind, version = server_named("Ollama"), str(ollama.get("version"))
        elif isinstance(llama.get("build_info"), str) and kind in (UNKNOWN, server_named("llama.cpp")):
            kind, version = server_named("llama.cpp"), str(llama.get("build_info"))
            version = "" if "unknown" in version else version
        else:
            version = str(vllm.get("version") or "") if kind is server_named("vLLM") else ""
    chosen = _chosen(list(owners), model, base_url, kind)
    told = ServerAnswer(200, owners[chosen])
    lengths = (told.get("max_model_len"), told.get("meta", "n_ctx"), llama.get("default_generation_settings", "n_ctx"))
    longest = next((value for value in lengths if isinstance(value, int) and not isinstance(value, bool) and value > 0), 0)
    return RecognisedServer(base_url, kind, version[:40], chosen, longest)


def api_address(url: str) -> str:
    """The address at which a server's API mostly is. Raises ConfigError for what is no address."""
    address = _address(url)
    return address if address.endswith("/v1") else f"{address}/v1"


def _address(url: str) -> str:
    """The address, with its scheme and without what belongs to a single request. Raises ConfigError."""
    address = url.strip()
    address = address if _SCHEME.match(address) else f"http://{address}"
    try:
        check_address(address, query=False, secrets_go=f"put the key into ${KEY_VARIABLE}")
    except ValueError as error:
        raise ConfigError(f"the language model's address {error}") from error
    return _API.sub("", address.rstrip("/")).rstrip("/")


async def _api(questions: ServerQuestions, address: str) -> tuple[str, list[Mapping[str, object]]]:
    """The address of the API and the models that it lists. Raises EngineError."""
    tried = [address] if address.endswith("/v1") else [f"{address}/v1", address]
    found = ""
    for base_url in tried:
        answer = await questions.ask(f"{base_url}/models")
        if answer.status in (401, 403):
            told = "refuses the key in" if questions.has_key else "wants a key; put it into"
            raise EngineError(f"{base_url}: the server {told} ${questions.key_env}", "key_refused")
        listed = answer.get("data")
        if answer.status == 200 and isinstance(listed, list):
            return base_url, [one for one in listed[:MAX_MODELS] if isinstance(one, dict)]
        what = "a web page" if answer.is_page else "no JSON" if answer.value is None else "other JSON"
        found = found or (f"answers with {what}" if answer.status == 200 else f"answers {answer.status}")
    problem = f"{tried[0]}/models {found}, so no OpenAI-compatible API is there"
    raise EngineError(f"{problem}; give the address of the API, which mostly ends in /v1", "unreadable")


def _chosen(names: list[str], wanted: str, base_url: str, kind: Server) -> str:
    """The model to ask for. Raises EngineError."""
    if not names:
        advice = "ollama pull NAME fetches one" if kind.name == "Ollama" else "load one there"
        raise EngineError(f"{base_url}: the server has no model; {advice}", "no_such_model")
    shown = ", ".join(map(_shown, names[:SHOWN_MODELS])) + (", …" if len(names) > SHOWN_MODELS else "")
    if not wanted:
        if len(names) > 1:
            problem = f"{base_url}: the server has several models; name one with --llm-model or llm.model: {shown}"
            raise EngineError(problem, "no_such_model")
        return names[0]
    found = next((name for name in names if name in (wanted, f"{wanted}:latest") or PurePath(name).name == wanted), "")
    if not found:
        near = did_you_mean(wanted, [_shown(name) for name in names])
        raise EngineError(f"{base_url}: there is no model {wanted!r:.80}, it has {shown}{near}", "no_such_model")
    return found


def _shown(model: str) -> str:
    """A model's name, for messages. llama.cpp names a model by the path of its file."""
    return PurePath(model).name if model.startswith("/") else model
