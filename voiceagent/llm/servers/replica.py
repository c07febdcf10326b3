"""One OpenAI-compatible server: its kind, what it understands, how busy it is, and streams from it. Requests and deltas use the
official client. Every error becomes one line, with a remedy."""

from __future__ import annotations

import asyncio
import enum
import os
import re
import time
from collections.abc import AsyncGenerator, Sequence

import httpx2
import openai
from openai import AsyncOpenAI, DefaultAsyncHttpxClient
from openai.types import Model
from openai.types.chat import ChatCompletionChunk

from voiceagent.conversation.history import Message
from voiceagent.errors import EngineError
from voiceagent.json_types import JsonObject
from voiceagent.llm.endings import SPREAD_TOKENS
from voiceagent.llm.engine import KvCapacity, ToolSchema, Urgency
from voiceagent.llm.servers.chat_wire import Delta, read_delta, read_ending, wire_message, wire_tool
from voiceagent.llm.servers.dialects import UNKNOWN, Server, server_of
from voiceagent.llm.servers.server_load import ServerLoad, read_kv_capacity
from voiceagent.redaction import keep_secret, redacted

MAX_CONNECTIONS = 512
KEEP_ALIVE_S = 4.0
"""Less than the 5 s after which uvicorn, which most of these servers use, closes an idle connection."""
CONNECT_TIMEOUT_S = 3.0
COOL_DOWN_S = 5.0
"""The time for which a server that failed is asked only if no other is left."""
GOES_ON = {"continue_final_message": True, "add_generation_prompt": False}
"""The answer continues the caller's words (docs.vllm.ai, "OpenAI-Compatible Server", extra parameters)."""
ENDING, USAGE = "ending", "usage"
_OVERFLOW = re.compile(
    r"context.{0,20}length|context window|max_model_len|maximum model length|too (long|many tokens)|exceeds? .{0,40}context", re.I
)


class Remedy(enum.Enum):
    """Remedies for an error before the first output."""

    NONE = "nothing"
    AGAIN = "asking this server again"
    ELSEWHERE = "asking another server"
    SHORTER = "a shorter prompt"


class ReplicaError(EngineError):
    """A server failed; `remedy` says what may help."""

    def __init__(self, message: str, remedy: Remedy = Remedy.NONE, kind: str = "refused") -> None:
        super().__init__(message, kind)
        self.remedy = remedy


class Replica:
    """A server, identified by its address."""

    def __init__(self, base_url: str, model: str, api_key_env: str, read_timeout_s: float) -> None:
        """`model` is the model to ask for. Empty: the first that the server lists."""
        self.base_url = base_url
        self.model = ""
        self.server: Server = UNKNOWN
        self.longest_tokens = 0
        """Most tokens of a prompt and its reply. 0 if the server does not report it."""
        self.failed_s = float("-inf")
        """The time of its last failure, on the monotonic clock."""
        self.running = 0
        """Open streams."""
        self._wanted = model
        self._key_env = api_key_env
        self._refused: set[str] = set()
        """Features that this server refused: `priority`, `strict`, `ENDING`, `USAGE`."""
        timeout = httpx2.Timeout(read_timeout_s, connect=CONNECT_TIMEOUT_S)
        limits = httpx2.Limits(max_connections=MAX_CONNECTIONS, keepalive_expiry=KEEP_ALIVE_S)
        self._http = DefaultAsyncHttpxClient(timeout=timeout, limits=limits)
        key = os.environ.get(api_key_env) or "none"
        keep_secret(key)
        self._client = AsyncOpenAI(base_url=base_url, api_key=key, timeout=timeout, max_retries=0, http_client=self._http)
        self._load: ServerLoad | None = None
        self._known = False
        self._probing = asyncio.Lock()

    @property
    def cooling(self) -> bool:
        """True for `COOL_DOWN_S` after the server failed."""
        return time.monotonic() - self.failed_s < COOL_DOWN_S

    @property
    def load(self) -> float:
        """See `LlmEngine.load`, by the server's own gauges."""
        if self._load is None:
            return 0.0
        self._load.refresh()
        return self._load.value

    @property
    def unread_gauges(self) -> int:
        """The number of times that its gauges could not be read."""
        return self._load.failures if self._load else 0

    async def probe(self) -> None:
        """Find out which models it serves, unless that is known. Raises ReplicaError."""
        async with self._probing:
            if self._known:
                return
            model = await self._find_model()
            longest = getattr(model, "max_model_len", None)
            self.model = str(model.id)
            self.server = server_of(str(model.owned_by or ""))
            self.longest_tokens = longest if isinstance(longest, int) else 0
            self._refused.clear()
            if self._load is None and self.server.gauges is not None:
                self._load = ServerLoad(self.base_url, self.server.gauges, self._http)
            self._known = True

    async def _find_model(self) -> Model:
        """The model that is wanted, as the server lists it. Raises ReplicaError."""
        try:
            listed = [(str(one.id), one) for one in (await self._client.models.list()).data]
        except (openai.OpenAIError, httpx2.HTTPError, ValueError) as error:
            raise self.explained(error) from error
        except (AttributeError, TypeError) as error:  # the client accepts whatever the server writes, even a web page
            raise self.explained(ValueError("its list of models is none")) from error
        model = next((one for name, one in listed if self._wanted in ("", name)), None)
        if model is None:
            have = ", ".join(name for name, _ in listed[:5]) or "none"
            problem = f"{self.base_url}: there is no model {self._wanted!r}, it has {have}; name one with llm.model"
            raise ReplicaError(problem, kind="no_such_model")
        return model

    async def check(self) -> None:
        """Look whether the server answers, takes the key and has the model. Raises ReplicaError."""
        await self._find_model()

    async def kv_capacity(self) -> KvCapacity | None:
        """See `LlmEngine.kv_capacity`. Known only of vLLM servers that answer; else None."""
        try:
            await self.probe()
            return read_kv_capacity(await self._load.text(), self.longest_tokens or None) if self._load else None
        except (ReplicaError, httpx2.HTTPError, TimeoutError):
            return None

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], urgency: Urgency, request: JsonObject
    ) -> AsyncGenerator[Delta, None]:
        """The deltas of one reply. Closing the generator closes the connection, which makes the server stop. `request` has the
        other fields of the body. Raises ReplicaError."""
        await self.probe()
        self.running += 1
        try:
            async with await self._open(messages, tools, urgency, request) as chunks:
                async for chunk in chunks:
                    delta = read_delta(chunk)
                    if delta is not None:
                        yield delta
        except (openai.OpenAIError, httpx2.HTTPError, ValueError) as error:
            raise self.explained(error) from error
        finally:
            self.running -= 1

    async def ending_chance(self, messages: Sequence[Message], tools: Sequence[ToolSchema], request: JsonObject) -> float | None:
        """See `LlmSession.ending_chance`. None if the server refuses; it is then not asked again. Raises ReplicaError."""
        await self.probe()
        asked = {**request, "extra_body": {**request["extra_body"], **GOES_ON}, "logprobs": True, "top_logprobs": SPREAD_TOKENS}
        self.running += 1
        try:
            while self.server.goes_on and ENDING not in self._refused:
                body, optional = self._body(messages, tools, Urgency.SPECULATIVE, asked)
                try:
                    return read_ending(await self._client.chat.completions.create(**body, stream=False))
                except openai.BadRequestError as error:
                    if _OVERFLOW.search(error.message):
                        raise
                    self._refused.add(next((part for part in optional if _speaks_of(part, error.message)), ENDING))
                except ValueError:
                    self._refused.add(ENDING)
            return None
        except (openai.OpenAIError, httpx2.HTTPError) as error:
            raise self.explained(error) from error
        finally:
            self.running -= 1

    async def _open(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], urgency: Urgency, request: JsonObject
    ) -> openai.AsyncStream[ChatCompletionChunk]:
        """Open a stream. Optional parts that the server refuses are left out from then on."""
        while True:
            body, optional = self._body(messages, tools, urgency, request, counts=urgency is not Urgency.AHEAD)
            await asyncio.sleep(0)  # the prompt is made, and the client writes the request: other calls' audio may go in between
            try:
                return await self._client.chat.completions.create(**body, stream=True)
            except openai.BadRequestError as error:
                refused = next((part for part in optional if _speaks_of(part, error.message)), None)
                if refused is None or _OVERFLOW.search(error.message):
                    raise
                self._refused.add(refused)

    def _body(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSchema],
        urgency: Urgency,
        request: JsonObject,
        *,
        counts: bool = False,
    ) -> tuple[JsonObject, set[str]]:
        """The request's body, and which of its parts are optional. `counts`: the server tells tokens. Messages and tools stand
        in `extra_body`, where the official client does not check each of their fields: that holds the event loop for
        milliseconds."""
        optional: set[str] = set()
        extra = dict(request["extra_body"])
        if self.server.priority and "priority" not in self._refused:
            optional.add("priority")
            extra.update(self.server.priority_field(urgency))
        extra["messages"] = [wire_message(message) for message in messages]
        if tools:
            strict = self.server.strict_tools and "strict" not in self._refused
            optional |= {"strict"} if strict else set()
            extra["tools"] = [wire_tool(tool, strict=strict) for tool in tools]
        asked = {**request, "model": self.model, "messages": [], "extra_body": extra}
        if counts and USAGE not in self._refused:
            optional.add(USAGE)
            asked["stream_options"] = {"include_usage": True}
        return asked, optional

    def explained(self, error: Exception) -> ReplicaError:
        """The error as one line: what went wrong at which server, and what to do."""
        where = self.base_url
        match error:
            case TimeoutError() | openai.APITimeoutError() | httpx2.TimeoutException():
                problem = f"{where}: the language model sent nothing in time; is the server overloaded?"
                return ReplicaError(problem, Remedy.ELSEWHERE, "too_late")
            case openai.APIConnectionError() if isinstance(error.__cause__, httpx2.ConnectError):
                problem = f"{where}: no language model answers there ({error.__cause__}); start it, or change llm.base_url"
                return ReplicaError(problem, Remedy.ELSEWHERE, "unreachable")
            case openai.APIStatusError():
                return self._refusal(error)
            case httpx2.HTTPError() | openai.APIConnectionError():
                problem = f"{where}: the connection broke in the middle of a reply ({_line(str(error)) or type(error).__name__})"
                return ReplicaError(problem, Remedy.AGAIN, "broken_off")
            case openai.APIError():
                return ReplicaError(f"{where}: the server gave the reply up ({_line(error.message)})", Remedy.AGAIN, "given_up")
        problem = f"{where}: the server's answer cannot be read ({_line(str(error))}); is it an OpenAI-compatible server?"
        return ReplicaError(problem, Remedy.ELSEWHERE, "unreadable")

    def _refusal(self, error: openai.APIStatusError) -> ReplicaError:
        where = self.base_url
        match error:
            case openai.AuthenticationError() | openai.PermissionDeniedError():
                problem = f"{where}: the server refuses the key in ${self._key_env}; set it to a valid one"
                return ReplicaError(problem, kind="key_refused")
            case openai.NotFoundError():
                problem = f"{where}: there is no model {self.model!r}; name one that the server has with llm.model"
                return ReplicaError(problem, kind="no_such_model")
            case openai.BadRequestError() if _OVERFLOW.search(error.message):
                problem = f"{where}: the conversation is too long for it ({_line(error.message)})"
                return ReplicaError(problem, Remedy.SHORTER, "too_long")
        remedy = Remedy.ELSEWHERE if error.status_code == 429 or error.status_code >= 500 else Remedy.NONE
        problem = f"{where}: the server refused the request ({error.status_code}): {_line(error.message)}"
        return ReplicaError(problem, remedy)

    def failed(self) -> None:
        """Note that the server failed now. When it is back, it may serve another model."""
        self.failed_s = time.monotonic()
        self._known = False

    async def close(self) -> None:
        """Close its connections."""
        if self._load is not None:
            await self._load.close()
        await self._client.close()


def _speaks_of(part: str, message: str) -> bool:
    words = {
        "priority": ("priority", "nvext"),
        "strict": ("strict", "schema", "grammar", "structural", "xgrammar"),
        USAGE: ("stream_options", "include_usage"),
    }
    return any(word in message.lower() for word in words[part])


def _line(text: str) -> str:
    return redacted(" ".join(text.split()))[:200]
