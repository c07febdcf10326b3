"""Any OpenAI-compatible server as the language model, or several servers of the same model. It is made for vllm serve. SGLang,
TensorRT-LLM, Dynamo, LiteLLM, llama.cpp and Ollama have the same API, see `servers`. `openai_session` is a conversation
with it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from typing_extensions import override

from voiceagent.addresses import check_address
from voiceagent.errors import ConfigError
from voiceagent.llm.chat.thoughts import BegunThoughts
from voiceagent.llm.engine import HistoryLimits, KvCapacity, LlmEngine
from voiceagent.llm.servers.openai_session import OpenAiOptions, OpenAiSession, Servers
from voiceagent.llm.servers.replica import Replica
from voiceagent.settings_file import options_of


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
        return KvCapacity(sum(one.tokens for one in known), min(one.longest_tokens for one in known))

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
