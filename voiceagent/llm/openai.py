"""Any OpenAI-compatible server as the language model (vllm serve first; SGLang, TensorRT-LLM, Dynamo, LiteLLM and Ollama speak
the same API, see `servers`), or several that serve the same model. Text streams; tool calls are given out when they are complete;
the stream is always closed, which is what makes the server stop.

What goes wrong before anything was said is tried again: on another server, with a shorter conversation. What goes wrong
later ends the reply: what was said stays said. A reply that takes too long as a whole is ended like one that is too long."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec

from voiceagent.addresses import check_address
from voiceagent.conversation.history import Message
from voiceagent.errors import ConfigError
from voiceagent.llm.answer import Answer
from voiceagent.llm.chat_wire import ToolCalls
from voiceagent.llm.engine import Generated, KvCapacity, ToolSchema, Urgency
from voiceagent.llm.replica import Remedy, Replica, ReplicaError
from voiceagent.llm.thoughts import BegunThoughts
from voiceagent.llm.trimming import Trimming

log = logging.getLogger(__name__)

WORTH_PREFILL = 60
"""Characters: prefix caches work in blocks of 16 tokens or so, and less than that fills none."""
ENDING_TIMEOUT_S = 1.0
"""What is told later of a pause comes too late for it."""
MAX_CALLS = 4096
MAX_SHORTENINGS = 4


class OpenAiOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of a profile's `llm`."""

    base_url: str
    """Such as http://127.0.0.1:8000/v1; several servers of the same model, separated by commas."""
    served_model: str = ""
    """The model to ask for; empty: the first that the server lists."""
    api_key_env: str = "VOICEAGENT_LLM_API_KEY"
    temperature: float = 0.0
    max_tokens: int = 200
    first_token_timeout_s: float = 10.0
    """A server that has sent nothing for so long is given up, and another one asked."""
    inactivity_timeout_s: float = 3.0
    """A reply that has begun and gains neither text nor a tool call for so long is given up; what was said stays said."""
    total_timeout_s: float = 60.0
    """A reply that takes longer is ended there, as one that is too long is."""
    busy_generations: int = 32
    """With so many generations at a time nothing speculative is begun: the server has enough to do."""
    enable_thinking: bool | None = None
    """Given to the server's chat template where set."""
    thinks_first: bool = False
    """Every reply begins inside a thought that the server's template opened, and that the server passes on as text; `</think>`
    ends it. Without this setting the first such reply tells."""
    long_tokens: int | None = None
    """A conversation of more, by estimate and without the instructions, loses its older half. None: when the server finds it too
    long."""
    request: dict[str, Any] = {}
    """Further fields of every request that the server knows, such as top_k or repetition_penalty."""

    @property
    def base_urls(self) -> list[str]:
        """The servers' addresses."""
        return [url.strip() for url in self.base_url.split(",") if url.strip()]


class OpenAiEngine:
    """Implements `LlmEngine` over HTTP. Servers keep their own prefix caches: a call stays with the server that knows it. Of a
    call only numbers are kept here."""

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
        self._generations = 0
        self._thought = BegunThoughts("</think>" if options.thinks_first else "")
        self._prefilled: OrderedDict[str, int] = OrderedDict()
        """By call: how many characters of its prompt the server has read."""
        self._homes: OrderedDict[str, Replica] = OrderedDict()
        self._trimming = Trimming(options.long_tokens)
        self.retries = 0
        """Requests that were made again, elsewhere or shorter."""
        self.cut_replies = 0
        """Replies that took too long as a whole."""

    async def generate(
        self, call_id: str, messages: Sequence[Message], tools: Sequence[ToolSchema], urgency: Urgency = Urgency.REPLY
    ) -> AsyncGenerator[Generated, None]:
        """See `LlmEngine.generate`. A tool call that the server's parser took for text, or that it has no parser for, is found in
        the text: it must not be spoken. No more is what the model thinks aloud, in its text or beside it."""
        self._generations += 1
        _keep(self._prefilled, call_id, _characters(messages))
        try:
            calls, answer = ToolCalls(), Answer(None, tools, self._thought.closer)
            async with aclosing(self._deltas(call_id, messages, tools, urgency, self.options.max_tokens)) as deltas:
                async for delta in deltas:
                    calls.add(delta.tool_calls or ())
                    for piece in answer.feed(delta.content or ""):
                        yield piece
            complete = calls.complete()
            self._thought.learn(answer.thoughts)
            for piece in [*answer.finish(), *complete]:
                yield piece
        finally:
            self._generations -= 1

    async def prefill(self, call_id: str, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> None:
        """See `LlmEngine.prefill`: a request for one token, which fills the server's prefix cache. What is too little to fill a
        block of it is left to the generation, and all of it while others wait."""
        length = _characters(messages)
        known = self._prefilled.get(call_id, -WORTH_PREFILL)
        if abs(length - known) < WORTH_PREFILL or self.load >= 1:
            return
        _keep(self._prefilled, call_id, length)
        async with aclosing(self._deltas(call_id, messages, tools, Urgency.AHEAD, 1)) as deltas:
            async for _ in deltas:
                pass

    async def ending_chance(self, call_id: str, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> float | None:
        """See `LlmEngine.ending_chance`: a request for one token, where the server can tell how likely it was."""
        if self.load >= 1 or not messages or not messages[-1].content:
            return None
        replica = self._choose(call_id, [])
        try:
            async with asyncio.timeout(ENDING_TIMEOUT_S):
                return await replica.ending_chance(self._trimming.fitted(call_id, messages), tools, self._request(1))
        except TimeoutError as error:
            raise replica.explained(error) from error

    async def _deltas(
        self, call_id: str, messages: Sequence[Message], tools: Sequence[ToolSchema], urgency: Urgency, max_tokens: int
    ) -> AsyncGenerator[Any, None]:
        """A reply's deltas, from the first server that gives any."""
        request = self._request(max_tokens)
        shortenings = 0
        tried: list[Replica] = []
        again = True
        while True:
            replica = self._choose(call_id, tried)
            begun = False
            try:
                fitted = self._trimming.fitted(call_id, messages)
                async with aclosing(self._timed(replica, replica.stream(fitted, tools, urgency, request))) as deltas:
                    async for delta in deltas:
                        begun = begun or bool(delta.content or delta.tool_calls)
                        yield delta
                return
            except ReplicaError as error:
                if begun or urgency is Urgency.AHEAD:
                    raise
                if error.remedy is Remedy.SHORTER and shortenings < MAX_SHORTENINGS and self._trimming.shorten(call_id, messages):
                    shortenings += 1
                elif error.remedy is Remedy.AGAIN and again:
                    again = False
                elif error.remedy in (Remedy.AGAIN, Remedy.ELSEWHERE):
                    replica.failed()
                    tried.append(replica)
                    if len(tried) == len(self.replicas):
                        raise
                else:
                    raise
                self.retries += 1
                log.warning("asked again: %s", error)

    async def _timed(self, replica: Replica, deltas: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
        """Deltas within the timeouts. Raises ReplicaError."""
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
                begun = begun or bool(delta.content or delta.tool_calls)
                yield delta
                if delta.content or delta.tool_calls:
                    until_s = loop.time() + options.inactivity_timeout_s
                elif not begun:  # it thinks
                    until_s = loop.time() + options.first_token_timeout_s

    def _choose(self, call_id: str, tried: Sequence[Replica]) -> Replica:
        """The call's own server, else the one with the least to do; those that failed a moment ago come last."""
        home = self._homes.get(call_id)
        if home is None or home in tried or (home.cooling and len(self.replicas) > 1):
            left = [replica for replica in self.replicas if replica not in tried]
            home = min(left, key=lambda replica: (replica.cooling, replica.load + replica.running))
            _keep(self._homes, call_id, home)
        return home

    def _request(self, max_tokens: int) -> dict[str, Any]:
        extra = dict(self.options.request)
        if self.options.enable_thinking is not None:
            extra["chat_template_kwargs"] = {"enable_thinking": self.options.enable_thinking}
        return {"temperature": self.options.temperature, "max_tokens": max_tokens, "extra_body": extra}

    @property
    def load(self) -> float:
        """See `LlmEngine.load`: this process's requests, and what the least busy server says of its queue and its KV cache."""
        return max(self._generations / self.options.busy_generations, min(replica.load for replica in self.replicas))

    @property
    def problems(self) -> dict[str, int]:
        """See `LlmEngine.problems`."""
        unread = sum(replica.unread_gauges for replica in self.replicas)
        return {"asked_again": self.retries, "reply_cut": self.cut_replies, "gauges_unread": unread}

    async def kv_capacity(self) -> KvCapacity | None:
        """See `LlmEngine.kv_capacity`: of all servers together."""
        each = [await replica.kv_capacity() for replica in self.replicas]
        known = [capacity for capacity in each if capacity is not None]
        if len(known) < len(each):
            return None
        return KvCapacity(sum(one.tokens for one in known), min(one.longest_tokens for one in known))

    async def forget(self, call_id: str) -> None:
        """See `LlmEngine.forget`."""
        self._prefilled.pop(call_id, None)
        self._homes.pop(call_id, None)
        self._trimming.forget(call_id)

    async def close(self) -> None:
        """See `LlmEngine.close`."""
        for replica in self.replicas:
            await replica.close()


def _characters(messages: Sequence[Message]) -> int:
    return sum(len(message.prompted) for message in messages)


def _keep(calls: OrderedDict[str, Any], call_id: str, value: Any) -> None:
    """Note something of a call, and forget it of the calls that were longest silent."""
    calls[call_id] = value
    calls.move_to_end(call_id)
    while len(calls) > MAX_CALLS:
        calls.popitem(last=False)


def create(path: Path | None, options: Mapping[str, Any]) -> OpenAiEngine:
    """The plugin `openai` of `voiceagent.llm`; it loads no files. Raises ConfigError."""
    try:
        return OpenAiEngine(msgspec.convert(dict(options), OpenAiOptions))
    except msgspec.ValidationError as error:
        raise ConfigError(f"llm engine openai: {error}") from error
