"""The embedded language model: onnxruntime-genai on the CPU, in this process. `embedded_session` is a conversation with it.
`embedded_worker` is the thread that computes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from voiceagent.errors import ConfigError
from voiceagent.llm.chat.prompt import ChatPrompt
from voiceagent.llm.chat.tool_constraint import ToolConstraints
from voiceagent.llm.embedded.options import EmbeddedOptions
from voiceagent.llm.embedded.session import ENDING_S, EmbeddedSession, SharedModel
from voiceagent.llm.embedded.worker import EmbeddedWorker
from voiceagent.llm.engine import FULL_PROMPT, HistoryLimits, KvCapacity
from voiceagent.settings_file import options_of


class EmbeddedEngine:
    """Implements `LlmEngine`."""

    def __init__(self, folder: Path, options: EmbeddedOptions | None = None) -> None:
        """Load a folder made by onnxruntime-genai's model builder. Raises ModelError."""
        self.options = options or EmbeddedOptions()
        thinking = self.options.enable_thinking
        self.prompt = ChatPrompt(folder, None if thinking is None else {"enable_thinking": thinking}, self.options.tool_format)
        self.worker = EmbeddedWorker(folder, self.options, self.prompt)
        self._model = SharedModel(self.options, self.prompt, self.worker, ToolConstraints(folder, self.prompt.template))

    def open(self, call_id: str) -> EmbeddedSession:
        """See `LlmEngine.open`."""
        return EmbeddedSession(self._model)

    @property
    def tokens_read(self) -> int:
        """How many prompt tokens were read in all. Cached tokens are not read again."""
        return self.worker.tokens_read

    @property
    def load(self) -> float:
        """See `LlmEngine.load`."""
        return self._model.load

    @property
    def limits(self) -> HistoryLimits:
        """See `LlmEngine.limits`."""
        room = self.options.context_tokens - self.options.max_tokens
        return HistoryLimits(int(FULL_PROMPT * room), self.options.long_history_tokens)

    @property
    def no_tools(self) -> str:
        """See `voiceagent.llm.engine.no_tools`."""
        return self.prompt.no_tools

    @property
    def problems(self) -> dict[str, int]:
        """See `LlmEngine.problems`. There are none."""
        return {}

    async def kv_capacity(self) -> KvCapacity:
        """See `LlmEngine.kv_capacity`. Each session that is kept may fill the context."""
        return KvCapacity(self.options.max_sessions * self.options.context_tokens, self.options.context_tokens)

    async def close(self) -> None:
        """See `LlmEngine.close`."""
        self._model.closing = True
        await asyncio.to_thread(self.worker.stop, ENDING_S)


def create(path: Path | None, options: Mapping[str, object]) -> EmbeddedEngine:
    """The plugin `embedded` of `voiceagent.llm`. Raises ModelError, ConfigError."""
    if path is None:
        raise ConfigError("llm engine embedded: needs a model; name one of models/registry.yaml")
    return EmbeddedEngine(path, options_of(options, EmbeddedOptions, "llm engine embedded"))
