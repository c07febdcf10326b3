"""Any OpenAI-compatible server as the language model, or several servers of the same model. It is made for vllm serve. SGLang,
TensorRT-LLM, Dynamo, LiteLLM, llama.cpp and Ollama have the same API, see `dialects`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

import msgspec
from typing_extensions import override

from voiceagent.addresses import check_address
from voiceagent.conversation.history import Message, ToolCall
from voiceagent.errors import ConfigError, EngineError
from voiceagent.json_types import JsonObject
from voiceagent.llm.chat.call_prompt import LeftOut
from voiceagent.llm.chat.prompt import Answer
from voiceagent.llm.chat.thoughts import BegunThoughts
from voiceagent.llm.engine import Generated, HistoryLimits, KvCapacity, LlmEngine, Lull, TokenCount, ToolSchema, Urgency
from voiceagent.llm.lulls import SignsOfLife, with_lulls
from voiceagent.llm.servers.chat_wire import Delta, ToolCalls
from voiceagent.llm.servers.replica import Remedy, Replica, ReplicaError
from voiceagent.settings_file import options_of


class OpenAiOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of a profile's `llm`."""

    base_url: str
    """An address such as http://127.0.0.1:8000/v1, or those of several servers of the same model, separated by commas."""
    served_model: str = ""
    """The model's name. Empty: the first that the server lists."""
    api_key_env: str = "VOICEAGENT_LLM_API_KEY"
    temperature: float = 0.0
    max_tokens: int = 200
    first_token_timeout_s: float = 10.0
    """After this time without a token, the server is given up and another one is asked."""
    inactivity_timeout_s: float = 3.0
    """After this time without more text or a tool call, a reply that has begun is given up. Its beginning stays said."""
    total_timeout_s: float = 60.0
    """A longer reply is cut off there, like one with too many tokens."""
    busy_generations: int = 32
    """From this many generations at a time on, no speculative work begins."""
    enable_thinking: bool | None = None
    """Passed to the server's chat template if set."""
    thinks_first: bool = False
    """True if every reply begins inside a thought that the server's template opened and the server passes on as text, up to
    `</think>`. Without this setting it is learned from the first such reply."""
    long_history_tokens: int | None = None
    """A conversation with more estimated tokens, without instructions and tools, is too long for the model. It is the default of
    an agent's `llm.long_history_tokens`. None: the model needs no such limit."""
    request: dict[str, object] = {}
    """Further fields of every request that the server knows, such as top_k or repetition_penalty."""

    @property
    def base_urls(self) -> list[str]:
        """The servers' addresses."""
        return [url.strip() for url in self.base_url.split(",") if url.strip()]


log = logging.getLogger(__name__)

WORTH_PREFILL = 60
"""In characters. Prefix caches work in blocks of about 16 tokens. Less text than this fills no block."""
MAX_SHORTENINGS = 4


@dataclass(slots=True)
class Servers:
    """State that all sessions of an engine share: the servers, and what was learned about them."""

    options: OpenAiOptions
    replicas: list[Replica]
    thought: BegunThoughts
    generations: int = 0
    """Generations that run now."""
    retries: int = 0
    """Requests that were repeated, on another server or shorter."""
    cut_replies: int = 0
    """Replies that took too long as a whole."""
    ending_timeout_s: float = 1.0
    """Longest wait for the chance of an ending. A later answer would come too late for the pause."""

    @property
    def load(self) -> float:
        """See `LlmEngine.load`. It is the greater of two: this process's requests, and what the least busy server reports of its
        queue and KV cache."""
        return max(self.generations / self.options.busy_generations, min(replica.load for replica in self.replicas))

    def request(self, max_tokens: int, *, must_call: bool = False) -> JsonObject:
        """The fields of every request. `must_call`: the answer is a tool call."""
        extra = dict(self.options.request)
        if must_call:
            extra["tool_choice"] = "required"
        if self.options.enable_thinking is not None:
            extra["chat_template_kwargs"] = {"enable_thinking": self.options.enable_thinking}
        return {"temperature": self.options.temperature, "max_tokens": max_tokens, "extra_body": extra}

    async def timed(
        self, replica: Replica, deltas: AsyncGenerator[Delta, None], thinking: Callable[[], bool]
    ) -> AsyncGenerator[Delta, None]:
        """The deltas, within the timeouts. `thinking` says whether the text so far ends inside a thought: the turn engine bounds
        the time of thoughts. Raises ReplicaError."""
        options, loop = self.options, asyncio.get_running_loop()
        ends_s = loop.time() + options.total_timeout_s
        until_s, begun = loop.time() + options.first_token_timeout_s, False
        async with aclosing(deltas):
            while True:
                try:
                    async with asyncio.timeout_at(min(until_s, ends_s)):
                        delta = await anext(deltas, None)
                except TimeoutError as error:
                    if begun and loop.time() >= ends_s:
                        self.cut_replies += 1
                        return
                    raise replica.explained(error) from error
                if delta is None:
                    return
                begun = begun or bool(delta.text or delta.calls)
                yield delta
                if delta.thinks or thinking():
                    until_s = loop.time() + options.first_token_timeout_s
                    ends_s = loop.time() + options.total_timeout_s
                elif delta.text or delta.calls:
                    until_s = loop.time() + options.inactivity_timeout_s
                elif not begun:
                    until_s = loop.time() + options.first_token_timeout_s


class OpenAiSession:
    """One conversation: implements `LlmSession` over HTTP. Servers keep their own prefix caches, so a session stays with the
    server that knows it. Text streams; tool calls are yielded when complete. The stream is always closed, which makes the server
    stop.

    An error before the first output leads to a retry, on another server or with a shorter conversation. A later error ends the
    reply; its beginning stays said. A reply that takes too long as a whole is cut off, like one with too many tokens."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        self._home: Replica | None = None
        self._prefilled = -WORTH_PREFILL
        """Characters of the prompt that the server has read."""
        self._left_out = LeftOut()

    async def generate(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], urgency: Urgency = Urgency.REPLY, must_call: str = ""
    ) -> AsyncGenerator[Generated, None]:
        """See `LlmSession.generate`. A tool that must be called is offered alone, because some servers understand `required` but
        no name. A server without the right parser leaves tool calls in the text. They are found here and
        not spoken. The model's thoughts are not spoken either."""
        servers = self._servers
        tools = [tool for tool in tools if tool["function"]["name"] == must_call] or tools
        servers.generations += 1
        self._prefilled = _characters(messages)
        try:
            written: list[ToolCall] = []
            calls, answer, signs, has_thought = ToolCalls(), Answer(None, tools, servers.thought.closer), SignsOfLife(), False
            count: TokenCount | None = None
            request = servers.request(servers.options.max_tokens, must_call=bool(must_call))
            asked = self._deltas(messages, tools, urgency, request, lambda: answer.thoughts.inside)
            async with aclosing(with_lulls(asked)) as deltas:
                async for delta in deltas:
                    if isinstance(delta, Lull):
                        yield delta
                        continue
                    pieces = answer.feed(delta.text)
                    if delta.calls and not calls.begun:
                        pieces += answer.begin_call()
                        pieces += [Lull(writes_call=True)] if answer.thoughts.said else []
                    for piece in pieces:
                        if isinstance(piece, ToolCall):
                            written.append(piece)
                        else:
                            yield piece
                    calls.add(delta.calls)
                    count = delta.count or count
                    has_thought |= delta.thinks
                    if delta.calls or delta.thinks or answer.silent:
                        for sign in signs.more():
                            yield sign
            complete = calls.complete()
            servers.thought.learn(answer.thoughts)
            for piece in self._left(answer, written, complete):
                yield piece
            if has_thought and not complete and not answer.called:
                answer.thoughts.check_said()
            if count is not None:
                yield count
        finally:
            servers.generations -= 1

    def _left(self, answer: Answer, written: list[ToolCall], complete: list[ToolCall]) -> list[Generated]:
        """The pieces yielded at a generation's end. Calls `written` into the text do not count beside calls of the API: they are
        the same ones. Raises EngineError."""
        try:
            left = answer.finish(called=bool(complete))
        except EngineError as error:
            if not complete:
                raise
            log.warning("beside its tool calls: %s", error)
            return [*complete]
        texts = [piece for piece in left if not isinstance(piece, ToolCall)]
        return [*texts, *(complete or [*written, *(piece for piece in left if isinstance(piece, ToolCall))])]

    async def prefill(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> None:
        """See `LlmSession.prefill`. It is a request for one token, which fills the server's prefix cache. None is made if less
        than a block of the cache is new, or while other requests wait."""
        length = _characters(messages)
        if abs(length - self._prefilled) < WORTH_PREFILL or self._servers.load >= 1:
            return
        self._prefilled = length
        async with aclosing(self._deltas(messages, tools, Urgency.AHEAD, self._servers.request(1), lambda: False)) as deltas:
            async for _ in deltas:
                pass

    async def ending_chance(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> float | None:
        """See `LlmSession.ending_chance`. It is a request for one token, if the server can give probabilities."""
        if self._servers.load >= 1 or not messages or not messages[-1].content:
            return None
        replica = self._choose([])
        try:
            async with asyncio.timeout(self._servers.ending_timeout_s):
                return await replica.ending_chance(self._left_out.kept(messages), tools, self._servers.request(1))
        except TimeoutError as error:
            raise replica.explained(error) from error

    async def _deltas(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSchema],
        urgency: Urgency,
        request: JsonObject,
        thinking: Callable[[], bool],
    ) -> AsyncGenerator[Delta, None]:
        """A reply's deltas, from the first server that gives any."""
        shortenings = 0
        tried: list[Replica] = []
        again = True
        while True:
            replica = self._choose(tried)
            begun = False
            try:
                stream = replica.stream(self._left_out.kept(messages), tools, urgency, request)
                async with aclosing(self._servers.timed(replica, stream, thinking)) as deltas:
                    async for delta in deltas:
                        begun = begun or bool(delta.text or delta.calls)
                        yield delta
                return
            except ReplicaError as error:
                if begun or urgency is Urgency.AHEAD:
                    raise
                if error.remedy is Remedy.SHORTER and shortenings < MAX_SHORTENINGS and self._left_out.leave_out(messages):
                    shortenings += 1
                elif error.remedy is Remedy.AGAIN and again:
                    again = False
                elif error.remedy in (Remedy.AGAIN, Remedy.ELSEWHERE):
                    replica.failed()
                    tried.append(replica)
                    if len(tried) == len(self._servers.replicas):
                        raise
                else:
                    raise
                self._servers.retries += 1
                log.warning("asked again: %s", error)

    def _choose(self, tried: Sequence[Replica]) -> Replica:
        """The session's own server, else the least busy one. Servers that failed a moment ago come last."""
        replicas = self._servers.replicas
        if self._home is None or self._home in tried or (self._home.cooling and len(replicas) > 1):
            left = [replica for replica in replicas if replica not in tried]
            self._home = min(left, key=lambda replica: (replica.cooling, replica.load + replica.running))
        return self._home

    async def close(self) -> None:
        """See `LlmSession.close`. A server overwrites its cache when it needs room."""


def _characters(messages: Sequence[Message]) -> int:
    return sum(len(message.prompted) for message in messages)


class OpenAiEngine(LlmEngine):
    """Implements `LlmEngine` over HTTP."""

    def __init__(self, options: OpenAiOptions) -> None:
        """Raises ConfigError when no server is named."""
        self.options = options
        for url in options.base_urls:
            try:
                check_address(url, query=False, secrets_go="put the key into the environment variable that api_key_env names")
            except ValueError as error:
                raise ConfigError(f"llm engine openai: base_url, of llm or $VOICEAGENT_LLM_URL, {error}") from error
        timeout_s = max(options.first_token_timeout_s, options.inactivity_timeout_s)
        self.replicas = [Replica(url, options.served_model, options.api_key_env, timeout_s) for url in options.base_urls]
        if not self.replicas:
            raise ConfigError("llm engine openai: base_url is empty; expected an address such as http://127.0.0.1:8000/v1")
        self.servers = Servers(options, self.replicas, BegunThoughts("</think>" if options.thinks_first else ""))

    @override
    def open(self, call_id: str) -> OpenAiSession:
        return OpenAiSession(self.servers)

    @property
    @override
    def load(self) -> float:
        return self.servers.load

    @property
    def limits(self) -> HistoryLimits:
        """See `LlmEngine.limits`. A server reports itself when a prompt is too long."""
        return HistoryLimits(history_tokens=self.options.long_history_tokens)

    @property
    def no_forcing(self) -> str:
        """See `voiceagent.llm.engine.no_forcing`. A server that was not asked yet is taken to be able to."""
        cannot = next((replica for replica in self.replicas if not replica.server.forces_tools), None)
        return "" if cannot is None else f"{cannot.server.name}, which serves it, cannot make it call a tool"

    @property
    @override
    def problems(self) -> dict[str, int]:
        unread = sum(replica.unread_gauges for replica in self.replicas)
        return {"asked_again": self.servers.retries, "reply_cut": self.servers.cut_replies, "gauges_unread": unread}

    async def kv_capacity(self) -> KvCapacity | None:
        """See `LlmEngine.kv_capacity`. It is the sum of all servers."""
        each = [await replica.kv_capacity() for replica in self.replicas]
        known = [capacity for capacity in each if capacity is not None]
        if len(known) < len(each):
            return None
        return KvCapacity(sum(one.tokens for one in known), min(one.longest_tokens for one in known), is_servers=True)

    async def check(self) -> None:
        """See `llm.engine.check`. One of the servers is enough."""
        outcomes = await asyncio.gather(*(replica.check() for replica in self.replicas), return_exceptions=True)
        failures = [outcome for outcome in outcomes if outcome is not None]
        if len(failures) == len(self.replicas):
            raise failures[0]

    @override
    async def close(self) -> None:
        for replica in self.replicas:
            await replica.close()


def create(path: Path | None, options: Mapping[str, object]) -> OpenAiEngine:
    """The plugin `openai` of `voiceagent.llm`. It loads no files. Raises ConfigError."""
    return OpenAiEngine(options_of(options, OpenAiOptions, "llm engine openai"))
