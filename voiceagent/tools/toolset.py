"""The tools of an agent: named in `agent.yaml`, opened once, run for every call. The outcome is always JSON that the model can
read, even if a tool raises, hangs or returns no JSON, and the call goes on."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from voiceagent.errors import ConfigError
from voiceagent.json_types import JsonObject
from voiceagent.redaction import redacted
from voiceagent.tools.call_context import CallContext
from voiceagent.tools.decorator import FunctionTool
from voiceagent.tools.modules import load_tools
from voiceagent.tools.runner import RunTimes, ToolOutcome, ToolRunner, failed
from voiceagent.tools.schemas import shapes
from voiceagent.tools.settings import ToolEntry
from voiceagent.tools.tool import MAX_TOOLS, Tool, ToolPolicy, ToolSource
from voiceagent.tools.webhook import WebhookSource
from voiceagent.turn_taking.patience import ValueShape

UNKNOWN = ToolPolicy(effect="none")
_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SENTENCE = re.compile(r"[.!?;](?:\s|$)")


class ToolSet:
    """Tools by name. If two sources later bring the same name, the source named first in agent.yaml keeps it."""

    def __init__(
        self, tools: Iterable[Tool] = (), sources: Iterable[ToolSource] = (), ended: Callable[[str], None] = lambda outcome: None
    ) -> None:
        """`ended` counts the outcome of each run, see `ToolRunner`. Raises ConfigError when two tools have the same name."""
        self._sources = (ToolSource(tuple(tools)), *sources)
        self._ended = ended
        self._runner = ToolRunner(ended)
        self.run_times = RunTimes()
        self._state_type: type = dict
        self._check()

    @classmethod
    def from_config(
        cls, entries: Sequence[str | ToolEntry], base_dir: str | Path, ended: Callable[[str], None] = lambda outcome: None
    ) -> ToolSet:
        """The tools that `agent.yaml` names: files (relative to `base_dir`) and modules, MCP servers, webhooks. An MCP server's
        tools are known only after `open`. Raises ConfigError."""
        return cls(sources=[_source(entry, Path(base_dir)) for entry in entries], ended=ended)

    async def open(self) -> None:
        """Connect to what the tools need, once for all calls. A server that is not up yet is tried again and again; its tools are
        known once it is up. Raises ConfigError; then everything is closed."""
        try:
            async with asyncio.TaskGroup() as group:
                for source in self._sources:
                    group.create_task(source.open())
            self._check()
        except ConfigError:
            await self.close()
            raise
        except ExceptionGroup as errors:  # what an `except*` raises comes in a group again, before Python 3.11.4
            await self.close()
            refused = next(_leaves(errors), None)
            if refused is None:
                raise
            raise refused from None

    @property
    def names(self) -> tuple[str, ...]:
        """The tools' names, in the order they were defined."""
        return tuple(self._tools())

    def schemas(self) -> list[JsonObject]:
        """The OpenAI function objects of all tools, in the order they were defined."""
        return [tool.schema for tool in self._tools().values()]

    def policy(self, name: str) -> ToolPolicy:
        """The policy of a tool. An unknown tool counts as one without effect: running it only tells the model that it is
        unknown."""
        tool = self._tools().get(name)
        return tool.policy if tool else UNKNOWN

    def values(self, name: str) -> tuple[ValueShape, ...]:
        """The form of a tool's argument values, as far as its schema says."""
        tool = self._tools().get(name)
        return shapes(tool.parameters) if tool else ()

    def destroying_unasked(self, verbs: Container[str]) -> tuple[str, ...]:
        """The names of the tools that destroy something, by a verb in their name or in the first sentence of their description,
        and do so without asking the caller, although their author has not said that they may."""
        return tuple(
            tool.name
            for tool in self._tools().values()
            if tool.policy.effect != "none"
            and not tool.policy.confirm
            and not tool.policy.runs_unasked
            and any(
                word in verbs
                for word in _WORD.findall(f"{_CAMEL.sub(' ', tool.name)} {_SENTENCE.split(tool.description)[0]}".casefold())
            )
        )

    def new_state(self) -> object:
        """The object in which the tools of a call keep their state, as the call begins."""
        return self._state_type()

    async def run(self, name: str, arguments: str, timeout_s: float, call: CallContext[object] | None = None) -> ToolOutcome:
        """Run a tool for a call with a JSON object of arguments, for its own longest run or else `timeout_s`. Raises nothing
        except on cancellation; then a run that may have an effect goes on to its end, and any other is ended. Known secrets are
        removed from the result, because a service that fails may repeat what it was sent."""
        tools = self._tools()
        tool = tools.get(name)
        if tool is None:
            return failed(f"There is no tool {name}; the tools are: {', '.join(tools) or 'none'}.")
        began_s = time.perf_counter()
        outcome = await self._runner.run(tool, arguments, timeout_s, call)
        self.run_times.took(name, (time.perf_counter() - began_s) * 1000.0)
        return replace(outcome, output=redacted(outcome.output))

    def runner(self, most: int) -> ToolRunner:
        """A runner for tools outside this set, with the same rules and a limit of its own; their outcomes are counted together
        with this set's."""
        return ToolRunner(self._ended, most)

    async def close(self) -> None:
        """Let no further tool start, end those that run, and free what the tools needed."""
        await self._runner.close()
        await asyncio.gather(*(source.close() for source in self._sources))

    def _tools(self) -> dict[str, Tool]:
        tools: dict[str, Tool] = {}
        for source in self._sources:
            for tool in source.tools:
                tools.setdefault(tool.name, tool)
        return tools

    def _check(self) -> None:
        names: set[str] = set()
        self._state_type = dict
        first = ""
        for source in self._sources:
            for tool in source.tools:
                if tool.name in names:
                    raise ConfigError(
                        f"tool {tool.name}: defined twice; rename one, or leave it out with `only` of its mcp entry"
                    )
                names.add(tool.name)
                if not isinstance(tool, FunctionTool) or tool.state_type is None:
                    continue
                if first and tool.state_type is not self._state_type:
                    raise ConfigError(
                        f"tool {tool.name}: keeps {tool.state_type.__name__} of a call, and {first} keeps "
                        f"{self._state_type.__name__}; expected one type in all tools of an agent"
                    )
                first, self._state_type = first or tool.name, tool.state_type
        if len(names) > MAX_TOOLS:
            raise ConfigError(f"tools: {len(names)} are defined, expected at most {MAX_TOOLS}; choose with `only`")


def _source(entry: str | ToolEntry, base_dir: Path) -> ToolSource:
    if isinstance(entry, str):
        return ToolSource(load_tools(entry, base_dir))
    if entry.webhook is not None:
        return WebhookSource(entry.webhook)
    assert entry.mcp is not None
    from voiceagent.tools.mcp_server import McpServer  # here, because the mcp package takes half a second to import

    return McpServer(entry.mcp, base_dir)


def _leaves(errors: ExceptionGroup[Exception]) -> Iterator[ConfigError]:
    for error in errors.exceptions:
        if isinstance(error, ExceptionGroup):
            yield from _leaves(error)
        elif isinstance(error, ConfigError):
            yield error
