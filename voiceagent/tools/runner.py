"""Runs tools, with limits on their number and time. A run belongs to the runner, not to the reply that asked for it. When nobody
waits for it any more, a run without effect is ended. Any other run goes on to its end, because half a booking is worse than a
whole one."""

from __future__ import annotations

import asyncio
import functools
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec

from voiceagent.json_types import JsonObject
from voiceagent.task_owner import TaskOwner
from voiceagent.tools.call_context import CallContext
from voiceagent.tools.tool import RunScope, Threads, Tool, ToolError, TooManyRunning

log = logging.getLogger(__name__)

MAX_OUTPUT_CHARACTERS = 16_000
ORDERS = "voiceagent"
"""The key of a result under which a tool asks something of its call. The model does not read it."""


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The result for the model: `output` is JSON text; `ok` is False for any error, which then stands under `error`."""

    output: str
    ok: bool
    orders: Mapping[str, object] = field(default_factory=dict)
    """The tool's requests to its call: `end_call` with a reason, `transfer` with a name."""


def failed(sentence: str) -> ToolOutcome:
    """The tool failed, for this reason."""
    return ToolOutcome(_text({"error": sentence}), False)


def succeeded(result: object) -> ToolOutcome:
    """A tool's result. A result that is no object is put under `result`. A result that is no JSON, or too long, becomes an
    error."""
    orders: JsonObject = {}
    if not isinstance(result, dict):
        result = {"result": result}
    elif isinstance(found := result.get(ORDERS), dict):
        result, orders = {name: value for name, value in result.items() if name != ORDERS}, found
    try:
        output = _text(msgspec.to_builtins(result))
    except (TypeError, ValueError, RecursionError) as error:
        log.warning("a tool's result is not JSON: %s", error)
        return failed("The tool's result cannot be read.")
    if len(output) > MAX_OUTPUT_CHARACTERS:
        return failed("The tool's result is too long.")
    return ToolOutcome(output, True, orders)


def _text(result: object) -> str:
    """JSON in complete characters. JavaScript counts in halves of surrogate pairs, so a string may be cut inside one; that half
    can be neither sent nor tokenised. Raises TypeError, ValueError, RecursionError."""
    text = json.dumps(result, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


WEIGHT = 0.3
"""Weight of a tool's latest run in its typical time."""


class RunTimes:
    """One per agent, for all its calls."""

    def __init__(self) -> None:
        self._typical_ms: dict[str, float] = {}

    def took(self, name: str, ms: float) -> None:
        """A run of a tool ended."""
        before = self._typical_ms.get(name, ms)
        self._typical_ms[name] = before + WEIGHT * (ms - before)

    def typical_ms(self, name: str) -> float:
        """The typical time of the tool's runs; 0 while none is known."""
        return self._typical_ms.get(name, 0.0)


MAX_RUNNING = 32
CLOSING_GRACE_S = 2.0
"""Longest time that a run goes on while the server stops."""

_TOO_MANY = "Too many tools are running, try again later."


class ToolRunner:
    """The runs of all calls, or the runs at one call's client."""

    def __init__(self, ended: Callable[[str], None] = lambda outcome: None, most: int = MAX_RUNNING) -> None:
        """`ended` counts the outcome of each run: ok, failed, wrong_arguments, too_slow, too_many, cancelled. At most `most` runs
        go on at a time."""
        self._ended = ended
        self._most = most
        self._threads = Threads()
        self._runs = TaskOwner()

    async def run(self, tool: Tool, arguments: str, timeout_s: float, call: CallContext[object] | None = None) -> ToolOutcome:
        """Run a tool for a call with a JSON object of arguments, for its own longest run or else `timeout_s`. Raises nothing
        except on cancellation, which ends only a run without effect."""
        try:
            given = await tool.check(arguments)
        except ToolError as error:
            self._ended("wrong_arguments")
            return failed(str(error))
        if len(self._runs) >= self._most:
            log.warning("tool %s refused: %d tools are running", tool.name, len(self._runs))
            self._ended("too_many")
            return failed(_TOO_MANY)
        scope = RunScope(self._threads, call or CallContext())
        run = self._runs.start(self._run(tool, given, tool.policy.timeout_s or timeout_s, scope), f"tool {tool.name}")
        try:
            return await asyncio.shield(run)
        except asyncio.CancelledError:
            if run.cancelled():
                return failed("The server is stopping.")
            if tool.policy.effect == "none":
                run.cancel()
            else:
                log.info("tool %s runs on, though nobody waits for it any more", tool.name)
                run.add_done_callback(functools.partial(_told_nobody, tool.name))
            raise

    async def _run(self, tool: Tool, given: dict[str, object], timeout_s: float, scope: RunScope) -> ToolOutcome:
        became = "cancelled"
        try:
            async with asyncio.timeout(timeout_s):
                outcome = succeeded(await tool.run(given, scope))
            became = "ok" if outcome.ok else "failed"
        except ToolError as error:
            became, outcome = "failed", failed(str(error))
        except TooManyRunning:
            log.warning("tool %s refused: no thread is free", tool.name)
            became, outcome = "too_many", failed(_TOO_MANY)
        except TimeoutError:
            log.warning("tool %s ended after %.1f s", tool.name, timeout_s)
            became, outcome = "too_slow", failed(f"The tool {tool.name} took too long.")
        except Exception as error:
            log.exception("tool %s failed", tool.name)
            became, outcome = "failed", failed(f"The tool {tool.name} failed: {type(error).__name__}.")
        finally:
            self._ended(became)
        return outcome

    async def close(self) -> None:
        """Let no further function start, and after a short grace period end the runs that are left."""
        self._threads.close()
        await self._runs.finished(CLOSING_GRACE_S)
        await self._runs.close()


def _told_nobody(name: str, run: asyncio.Task[ToolOutcome]) -> None:
    if run.cancelled():
        log.warning("tool %s was ended by the server's end, and nobody was told", name)
    else:
        log.info("tool %s ended %s, and nobody was told", name, "well" if run.result().ok else "in failure")
