"""The tools of an agent: named in `agent.yaml`, loaded once, run for every call. Whatever a tool does (raises, hangs,
returns what is no JSON), the outcome is JSON that the model can read, and the call goes on."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import logging
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from voiceagent.errors import ConfigError
from voiceagent.tools.decorator import Tool, ToolError
from voiceagent.tools.loading import load_tools
from voiceagent.tools.rule import ToolRule

log = logging.getLogger(__name__)

WORKERS = 8
MAX_RUNNING = 32
MAX_OUTPUT_CHARACTERS = 16_000

UNKNOWN = ToolRule(effect="none")


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What the model is told: `output` is JSON text; `ok` is False for any error, which then stands under `error`."""

    output: str
    ok: bool


def _failed(sentence: str) -> ToolOutcome:
    return ToolOutcome(json.dumps({"error": sentence}, ensure_ascii=False), False)


class ToolSet:
    """Tools by name, and the bounded pool that plain functions run in."""

    def __init__(self, tools: Iterable[Tool[..., Any]] = ()) -> None:
        """Raises ConfigError when two tools bear the same name."""
        self._tools: dict[str, Tool[..., Any]] = {}
        for tool in tools:
            if self._tools.setdefault(tool.name, tool) is not tool:
                raise ConfigError(f"tool {tool.name}: defined twice; rename one with @tool(name=...)")
        self._running = 0
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="tool")

    @classmethod
    def from_config(cls, names: Sequence[str], base_dir: str | Path) -> ToolSet:
        """Load the files (relative to `base_dir`) and modules that `agent.yaml` names. Raises ConfigError."""
        return cls(tool for name in names for tool in load_tools(name, Path(base_dir)))

    @property
    def names(self) -> tuple[str, ...]:
        """The tools' names, in the order they were defined."""
        return tuple(self._tools)

    def schemas(self) -> list[dict[str, Any]]:
        """The OpenAI function objects of all tools, in the order they were defined."""
        return [tool.schema for tool in self._tools.values()]

    def rule(self, name: str) -> ToolRule:
        """What a tool runs by. A tool that is not known leaves nothing behind: running it only tells the model so."""
        tool = self._tools.get(name)
        return tool.rule if tool else UNKNOWN

    async def run(self, name: str, arguments: str, timeout_s: float) -> ToolOutcome:
        """Run a tool with a JSON object of arguments, for its own longest run or else `timeout_s`. Never raises but for
        cancellation; plain functions run off the event loop. A plain function that outlives its time keeps its thread until it
        returns; its result is dropped."""
        tool = self._tools.get(name)
        if tool is None:
            return _failed(f"There is no tool {name}; the tools are: {', '.join(self._tools) or 'none'}.")
        if self._running >= MAX_RUNNING:
            log.warning("tool %s refused: %d tools are running", name, self._running)
            return _failed("Too many tools are running, try again later.")
        timeout_s = tool.rule.timeout_s or timeout_s
        try:
            given = tool.parse(arguments)
            async with asyncio.timeout(timeout_s):
                result = await self._call(tool, given)
            return _outcome(result)
        except ToolError as error:
            return _failed(str(error))
        except TimeoutError:
            log.warning("tool %s ended after %.1f s", name, timeout_s)
            return _failed(f"The tool {name} took too long.")
        except Exception as error:
            log.exception("tool %s failed", name)
            return _failed(f"The tool {name} failed: {type(error).__name__}.")

    async def _call(self, tool: Tool[..., Any], given: dict[str, Any]) -> Any:
        self._running += 1
        if inspect.iscoroutinefunction(tool.function):
            try:
                return await tool.function(**given)
            finally:
                self._running -= 1
        future = self._pool.submit(functools.partial(tool.function, **given))
        loop = asyncio.get_running_loop()
        future.add_done_callback(lambda _: _from_thread(loop, self._ended))
        return await asyncio.wrap_future(future)

    def _ended(self) -> None:
        self._running -= 1

    async def close(self) -> None:
        """Let no further tool start."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _from_thread(loop: asyncio.AbstractEventLoop, ended: Any) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(ended)


def _outcome(result: Any) -> ToolOutcome:
    if not isinstance(result, dict):
        result = {"result": result}
    try:
        output = json.dumps(msgspec.to_builtins(result), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        log.warning("a tool's result is not JSON: %s", error)
        return _failed("The tool's result cannot be read.")
    if len(output) > MAX_OUTPUT_CHARACTERS:
        return _failed("The tool's result is too long.")
    return ToolOutcome(output, True)
