"""Whatever a tool does, the model gets JSON and the call goes on."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from voiceagent.errors import ConfigError
from voiceagent.tools import ToolError, tool
from voiceagent.tools.runner import MAX_RUNNING, RunTimes
from voiceagent.tools.tool import Effect, Tool, ToolPolicy
from voiceagent.tools.toolset import ToolSet
from voiceagent.turn_taking.languages import LANGUAGES


@tool
def where_am_i() -> str:
    """Tell which thread runs the tool."""
    return threading.current_thread().name


@tool
async def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@tool
def explode() -> None:
    """Fail."""
    raise RuntimeError("secret detail")


@tool
def refuse() -> None:
    """Refuse."""
    raise ToolError("The kitchen is closed.")


@tool
def unreadable() -> object:
    """Return what is no JSON."""
    return {"thing": object(), "number": float("nan")}


@tool
def cut() -> str:
    """Return a text that JavaScript has cut: in the middle of a character."""
    return "Ana \ud83d"


@tool
def flood() -> str:
    """Return far too much."""
    return "x" * 1_000_000


@tool(effect="none")
async def hang() -> None:
    """Never return."""
    await asyncio.Event().wait()


TOOLS: list[Tool] = [where_am_i, add, explode, refuse, unreadable, cut, flood, hang]


async def run(name: str, arguments: str = "{}", timeout_s: float = 5.0) -> tuple[Any, bool]:
    tools = ToolSet(TOOLS)
    try:
        outcome = await tools.run(name, arguments, timeout_s)
    finally:
        await tools.close()
    return json.loads(outcome.output), outcome.ok


async def test_plain_functions_run_off_the_event_loop() -> None:
    output, ok = await run("where_am_i")
    assert ok
    assert output["result"].startswith("tool")


async def test_coroutines_run_on_the_loop() -> None:
    assert await run("add", '{"a": 1, "b": "2"}') == ({"result": 3}, True)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("explode", "The tool explode failed: RuntimeError."),
        ("refuse", "The kitchen is closed."),
        ("unreadable", "The tool's result cannot be read."),
        ("flood", "The tool's result is too long."),
        ("missing", "There is no tool missing"),
        ("add", "Wrong arguments: a is missing."),
    ],
)
async def test_every_failure_is_a_sentence_for_the_model(name: str, said: str) -> None:
    output, ok = await run(name)
    assert not ok
    assert output["error"].startswith(said)


async def test_half_a_character_is_told_as_one_that_is_not_known() -> None:
    assert await run("cut") == ({"result": "Ana \ufffd"}, True)


async def test_a_tool_that_hangs_is_ended() -> None:
    output, ok = await run("hang", timeout_s=0.01)
    assert (output, ok) == ({"error": "The tool hang took too long."}, False)


async def test_a_tool_may_bring_its_own_longest_run() -> None:
    @tool(timeout_s=0.01)
    async def wait() -> None:
        """Never return."""
        await asyncio.Event().wait()

    tools = ToolSet([wait])
    assert "took too long" in (await tools.run("wait", "", 600)).output
    await tools.close()


async def test_a_plain_function_that_hangs_does_not_hold_the_call() -> None:
    release = threading.Event()

    @tool
    def block() -> None:
        """Block the thread."""
        release.wait()

    tools = ToolSet([block, add])
    outcome = await tools.run("block", "", 0.01)
    assert not outcome.ok
    assert (await tools.run("add", '{"a": 1, "b": 1}', 5)).ok
    release.set()
    await tools.close()


async def test_the_number_of_running_tools_is_bounded() -> None:
    tools = ToolSet(TOOLS)
    running = [asyncio.create_task(tools.run("hang", "{}", 60)) for _ in range(MAX_RUNNING)]
    await asyncio.sleep(0)
    refused = await tools.run("add", '{"a": 1, "b": 1}', 5)
    assert "Too many" in refused.output
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    assert (await tools.run("add", '{"a": 1, "b": 1}', 5)).ok
    await tools.close()


@pytest.mark.parametrize("effect", ["external", "idempotent"])
async def test_what_leaves_something_behind_runs_on_when_nobody_waits_any_more(effect: Effect) -> None:
    begun, go, booked = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @tool(effect=effect)
    async def book() -> None:
        """Book."""
        begun.set()
        await go.wait()
        booked.set()

    tools = ToolSet([book])
    asking = asyncio.create_task(tools.run("book", "{}", 5))
    await begun.wait()
    asking.cancel()
    await asyncio.wait([asking])
    assert asking.cancelled()
    go.set()
    await booked.wait()
    await tools.close()


async def test_what_leaves_nothing_behind_ends_with_who_asked() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    @tool(effect="none")
    async def look() -> None:
        """Look."""
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    tools = ToolSet([look])
    asking = asyncio.create_task(tools.run("look", "{}", 60))
    await begun.wait()
    asking.cancel()
    await ended.wait()
    await tools.close()


async def test_a_run_that_nobody_waits_for_still_ends_at_its_time() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    @tool(timeout_s=0.05)
    async def book() -> None:
        """Book."""
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    tools = ToolSet([book])
    asking = asyncio.create_task(tools.run("book", "{}", 60))
    await begun.wait()
    asking.cancel()
    await ended.wait()
    await tools.close()


async def test_what_became_of_every_run_is_counted() -> None:
    counted: list[str] = []
    tools = ToolSet(TOOLS, ended=counted.append)
    for name in ("where_am_i", "explode", "refuse", "unreadable", "add"):
        await tools.run(name, "{}", 5)
    await tools.run("hang", "{}", 0.01)
    asking = asyncio.create_task(tools.run("hang", "{}", 60))
    await asyncio.sleep(0)
    asking.cancel()
    await asyncio.wait([asking])
    await tools.close()
    assert counted == ["ok", "failed", "failed", "failed", "wrong_arguments", "too_slow", "cancelled"]


def test_two_tools_of_one_name_are_refused() -> None:
    def other() -> None:
        """Another."""

    with pytest.raises(ConfigError, match="tool add: defined twice"):
        ToolSet([add, tool(name="add")(other)])


def test_tools_come_from_files_and_modules(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        'from voiceagent.tools import tool\n@tool\ndef hi() -> str:\n    "Greet."\n    return "hi"\n'
    )
    tools = ToolSet.from_config(["mine.py", "tests.tools.sample_tools"], tmp_path)
    assert tools.names == ("hi", "ping")
    assert tools.policy("ping") == ToolPolicy("none", ("One moment.",))


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("x = 1\n", "holds no @tool function"),
        ("import no_such_module_here\n", r":1: fails to import \(ModuleNotFoundError"),
        ("def f(:\n", r":1: fails to import \(SyntaxError"),
        ("from voiceagent.tools import tool\n@tool\ndef f(x):\n    'F.'\n", "x has no type"),
    ],
)
def test_a_broken_tools_file_is_one_line(tmp_path: Path, source: str, said: str) -> None:
    (tmp_path / "broken.py").write_text(source)
    with pytest.raises(ConfigError, match=said) as caught:
        ToolSet.from_config(["broken.py"], tmp_path)
    assert "\n" not in str(caught.value)
    assert "broken.py" in str(caught.value)


@pytest.mark.parametrize("name", ["missing.py", "no_such_module_here"])
def test_a_missing_file_or_module_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        ToolSet.from_config([name], tmp_path)


@pytest.mark.parametrize(
    ("name", "description", "settings", "is_told"),
    [
        ("cancel_booking", "Do it.", {}, True),
        ("cancelBooking", "Do it.", {}, True),
        ("orders", "Delete an order.", {}, True),
        ("orders", "Storniert eine Bestellung.", {"effect": "idempotent"}, True),
        ("orders", "Order a dish. It can be cancelled later.", {}, False),
        ("cancellable", "Tell what may be done.", {}, False),
        ("cancel_policy", "Tell how to cancel.", {"effect": "none"}, False),
        ("cancel_booking", "Do it.", {"confirm": "Shall I cancel it?"}, False),
        ("cancel_booking", "Do it.", {"confirm": False}, False),
    ],
)
def test_tools_that_destroy_something_unasked_are_found(name: str, description: str, settings: Any, is_told: bool) -> None:
    def function() -> str:
        return ""

    function.__doc__ = description
    tools = ToolSet([tool(name=name, **settings)(function)])
    assert tools.destroying_unasked(LANGUAGES["en"].destroying | LANGUAGES["de"].destroying) == ((name,) if is_told else ())


def test_a_question_is_a_text_or_false() -> None:
    with pytest.raises(ConfigError, match="confirm is true, expected the question"):
        tool(confirm=True)(lambda: "")  # type: ignore[call-overload]  # on purpose


def test_how_long_a_tool_takes_follows_its_latest_runs() -> None:
    times = RunTimes()
    assert times.typical_ms("get_order") == 0.0
    times.took("get_order", 800.0)
    assert times.typical_ms("get_order") == 800.0
    for _ in range(20):
        times.took("get_order", 5.0)
    assert 5.0 < times.typical_ms("get_order") < 10.0
