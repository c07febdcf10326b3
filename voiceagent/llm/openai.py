"""Any OpenAI-compatible server as the language model (vllm serve first; SGLang, TensorRT-LLM, Ollama … speak the same API),
through the official client. Text streams; tool calls are given out when they are complete; the stream is always closed, which
is what makes the server stop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import openai
from openai import AsyncOpenAI

from voiceagent.conversation.history import Message, ToolCall
from voiceagent.errors import ConfigError, EngineError
from voiceagent.llm.engine import Generated, GeneratedText, KvCapacity, ToolSchema
from voiceagent.llm.hermes import random_call_id
from voiceagent.llm.kv_capacity import read_kv_capacity

WORTH_READING_AHEAD = 60
"""Characters: prefix caches work in blocks of 16 tokens or so, and less than that fills none."""
MAX_TOOL_CALLS = 16
MAX_ARGUMENT_CHARACTERS = 20_000


class OpenAiOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of a profile's `llm`."""

    base_url: str
    """Such as http://127.0.0.1:8000/v1."""
    served_model: str = ""
    """The model to ask for; empty: the first that the server lists."""
    api_key_env: str = "VOICEAGENT_LLM_API_KEY"
    temperature: float = 0.0
    max_tokens: int = 200
    first_token_timeout_s: float = 10.0
    inactivity_timeout_s: float = 10.0
    busy_generations: int = 32
    """With so many generations at a time nothing is guessed: the server has enough to do."""
    enable_thinking: bool | None = None
    """Given to the server's chat template where set."""


def wire_message(message: Message) -> dict[str, Any]:
    """A message as the chat completions API takes it."""
    data: dict[str, Any] = {"role": message.role, "content": message.prompted}
    if message.tool_calls:
        data["tool_calls"] = [
            {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.tool_call_id:
        data["tool_call_id"] = message.tool_call_id
    return data


class OpenAiEngine:
    """Implements `LlmEngine` over HTTP. The server keeps its own prefix cache; of a call only a number is kept here."""

    def __init__(self, options: OpenAiOptions) -> None:
        self.options = options
        self._model = options.served_model
        self._generations = 0
        self._read_ahead: dict[str, int] = {}
        """By call: how many characters of its prompt the server has read."""
        key = os.environ.get(options.api_key_env) or "none"
        timeout = openai.Timeout(options.first_token_timeout_s, connect=5.0)
        self._client = AsyncOpenAI(base_url=options.base_url, api_key=key, timeout=timeout, max_retries=0)

    async def generate(
        self, call_id: str, messages: Sequence[Message], tools: Sequence[ToolSchema]
    ) -> AsyncGenerator[Generated, None]:
        """See `LlmEngine.generate`."""
        options = self.options
        self._generations += 1
        self._read_ahead[call_id] = sum(len(message.prompted) for message in messages)
        try:
            async with asyncio.timeout(options.first_token_timeout_s) as waiting:
                stream = await self._open(messages, tools)
                async with stream:
                    calls = _ToolCalls()
                    async for chunk in stream:
                        waiting.reschedule(asyncio.get_running_loop().time() + options.inactivity_timeout_s)
                        if not chunk.choices:
                            continue
                        delta = chunk.choices[0].delta
                        calls.add(delta.tool_calls or ())
                        if delta.content:
                            yield GeneratedText(delta.content)
                    for call in calls.complete():
                        yield call
        except TimeoutError as error:
            raise EngineError(f"{options.base_url}: the language model sent nothing in time; is it overloaded?") from error
        except (openai.OpenAIError, httpx2.HTTPError, ValueError) as error:
            raise EngineError(self._explained(error)) from error
        finally:
            self._generations -= 1

    async def prefill(self, call_id: str, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> None:
        """See `LlmEngine.prefill`: a request for one token, which fills the server's prefix cache. What is too little to fill a
        block of it is left to the generation."""
        length = sum(len(message.prompted) for message in messages)
        if abs(length - self._read_ahead.get(call_id, -WORTH_READING_AHEAD)) < WORTH_READING_AHEAD:
            return
        self._read_ahead[call_id] = length
        try:
            async with asyncio.timeout(self.options.first_token_timeout_s):
                async with await self._open(messages, tools, max_tokens=1) as stream:
                    async for _ in stream:
                        pass
        except TimeoutError as error:
            raise EngineError(f"{self.options.base_url}: the language model sent nothing in time") from error
        except (openai.OpenAIError, httpx2.HTTPError, ValueError) as error:
            raise EngineError(self._explained(error)) from error

    @property
    def load(self) -> float:
        """See `LlmEngine.load`; of this process's requests only."""
        return self._generations / self.options.busy_generations

    async def _open(self, messages: Sequence[Message], tools: Sequence[ToolSchema], *, max_tokens: int = 0) -> Any:
        if not self._model:
            listed = await self._client.models.list()
            if not listed.data:
                raise EngineError(f"{self.options.base_url}: the server lists no model; name one with llm.model")
            self._model = listed.data[0].id
        request: dict[str, Any] = {
            "model": self._model,
            "messages": [wire_message(message) for message in messages],
            "temperature": self.options.temperature,
            "max_tokens": max_tokens or self.options.max_tokens,
            "stream": True,
        }
        if tools:
            request["tools"] = list(tools)
        if self.options.enable_thinking is not None:
            request["extra_body"] = {"chat_template_kwargs": {"enable_thinking": self.options.enable_thinking}}
        return await self._client.chat.completions.create(**request)

    def _explained(self, error: Exception) -> str:
        """One line: what went wrong at which server, and what to do."""
        where = self.options.base_url
        match error:
            case openai.APITimeoutError():
                return f"{where}: the language model sent nothing in time; is the server overloaded?"
            case openai.APIConnectionError() if isinstance(error.__cause__, httpx2.ConnectError):
                return f"{where}: no language model answers there ({error.__cause__ or error}); start it, or change llm.base_url"
            case openai.AuthenticationError() | openai.PermissionDeniedError():
                return f"{where}: the server refuses the key in ${self.options.api_key_env}; set it to a valid one"
            case openai.NotFoundError():
                return f"{where}: there is no model {self._model!r}; name one that the server has with llm.model"
            case openai.APIStatusError():
                return f"{where}: the server refused the request ({error.status_code}): {_line(error.message)}"
            case httpx2.HTTPError() | openai.APIConnectionError():
                return f"{where}: the connection broke in the middle of a reply ({_line(str(error)) or type(error).__name__})"
        return f"{where}: the server's answer cannot be read ({_line(str(error))}); is it an OpenAI-compatible server?"

    async def kv_capacity(self) -> KvCapacity | None:
        """See `LlmEngine.kv_capacity`: what a vLLM server tells of itself; None of others, and while it does not answer."""
        root = str(self._client.base_url).rstrip("/").removesuffix("/v1")
        try:
            listed = await self._client.models.list()
            model = next((model for model in listed.data if model.id == (self._model or model.id)), None)
            longest = (model.model_extra or {}).get("max_model_len") if model else None
            metrics = await self._client.get(f"{root}/metrics", cast_to=httpx2.Response)
        except (openai.OpenAIError, httpx2.HTTPError, ValueError):
            return None
        return read_kv_capacity(metrics.text, longest if isinstance(longest, int) else None)

    async def forget(self, call_id: str) -> None:
        """See `LlmEngine.forget`."""
        self._read_ahead.pop(call_id, None)

    async def close(self) -> None:
        """See `LlmEngine.close`."""
        await self._client.close()


class _ToolCalls:
    """Tool calls in the making: servers send them in pieces, by index."""

    def __init__(self) -> None:
        self._parts: dict[int, dict[str, str]] = {}

    def add(self, deltas: Sequence[Any]) -> None:
        for delta in deltas:
            if delta.index not in self._parts and len(self._parts) >= MAX_TOOL_CALLS:
                raise EngineError(f"the language model asked for more than {MAX_TOOL_CALLS} tools at once")
            part = self._parts.setdefault(delta.index, {"id": "", "name": "", "arguments": ""})
            part["id"] = delta.id or part["id"]
            if delta.function is not None:
                part["name"] += delta.function.name or ""
                part["arguments"] += delta.function.arguments or ""
            if len(part["arguments"]) > MAX_ARGUMENT_CHARACTERS:
                raise EngineError(f"the language model wrote arguments of over {MAX_ARGUMENT_CHARACTERS} characters")

    def complete(self) -> list[ToolCall]:
        ordered = [self._parts[index] for index in sorted(self._parts)]
        return [
            ToolCall(part["id"] or random_call_id(), part["name"], part["arguments"] or "{}") for part in ordered if part["name"]
        ]


def _line(text: str) -> str:
    return " ".join(text.split())[:200]


def create(path: Path | None, options: Mapping[str, Any]) -> OpenAiEngine:
    """The plugin `openai` of `voiceagent.llm`; it loads no files. Raises ConfigError."""
    try:
        return OpenAiEngine(msgspec.convert(dict(options), OpenAiOptions))
    except msgspec.ValidationError as error:
        raise ConfigError(f"llm engine openai: {error}") from error
