"""NeMo Guardrails (Apache-2.0) as a guard: its rails' `check_async` judges each window, and each utterance. The package is
optional and large. The time of a check depends on the rails. Rails that match patterns take tens of milliseconds; rails that ask
a language model take longer than a reply should wait."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from pathlib import Path

import msgspec
from typing_extensions import override

from voiceagent.errors import ConfigError
from voiceagent.guard.verdict import ALLOWED, Guard, GuardError, Verdict


class NemoOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of the guard `nemo`."""

    config: str
    """The folder of a NeMo Guardrails configuration (`config.yml` …), relative to `agent.yaml`."""


class NemoGuard(Guard):
    """A configuration's rails, one for all calls. They run on an event loop of their own, because a check computes for longer
    than the calls' event loop may wait. Text that a rail would rewrite is not spoken: it counts as blocked."""

    def __init__(self, config: Path) -> None:
        """Raises ConfigError when the package is missing or the folder is no configuration."""
        try:
            from nemoguardrails import LLMRails, RailsConfig  # optional, and slow to import
            from nemoguardrails.rails.llm.options import RailType
        except ImportError as error:
            raise ConfigError(
                f"guard nemo: nemoguardrails 0.24 or newer is needed ({error}); install it as docs/guard.md says"
            ) from error
        if not config.is_dir():
            raise ConfigError(f"guard nemo: {config} is no folder; expected one with a NeMo Guardrails config.yml")
        try:
            rails = RailsConfig.from_path(str(config))
            self._rails = LLMRails(rails)
        except Exception as error:  # its errors share no base
            line = (str(error).splitlines() or [type(error).__name__])[0]
            raise ConfigError(f"guard nemo: {config} cannot be loaded ({line})") from error
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="nemo guardrails", daemon=True).start()
        self._input, self._output = RailType.INPUT, RailType.OUTPUT
        self._has_input, self._has_output = bool(rails.rails.input.flows), bool(rails.rails.output.flows)

    @override
    async def check_output(self, said: str, window: str, *, last: bool) -> Verdict:
        if not self._has_output:
            return ALLOWED
        messages = [{"role": "user", "content": ""}, {"role": "assistant", "content": said + window}]
        return await self._check(messages, self._output)

    @override
    async def check_input(self, text: str) -> Verdict:
        if not self._has_input:
            return ALLOWED
        return await self._check([{"role": "user", "content": text}], self._input)

    async def _check(self, messages: list[dict[str, str]], rail_type: object) -> Verdict:
        try:
            checking = asyncio.run_coroutine_threadsafe(self._rails.check_async(messages, rail_types=[rail_type]), self._loop)
            result = await asyncio.wrap_future(checking)
        except Exception as error:  # its errors share no base
            raise GuardError(f"guard nemo: the check failed ({type(error).__name__}: {error})") from error
        if result.status.value == "passed":
            return ALLOWED
        return Verdict(f"nemo: {result.rail or 'rewritten'}")


def create(options: Mapping[str, object], base_dir: str) -> NemoGuard:
    """The plugin `nemo` of `voiceagent.guard`. Raises ConfigError."""
    try:
        chosen = msgspec.convert(dict(options), NemoOptions)
    except msgspec.ValidationError as error:
        raise ConfigError(f"guard nemo: {error}; expected config: FOLDER") from error
    return NemoGuard(Path(base_dir) / chosen.config)
