"""The examples of agents that do a job, on published models: what their README says is spoken by a caller, on the page and by
telephone."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
import yaml

from tests.real.conftest import Said
from tests.real.models import fetched
from tests.server_process import PROFILE as CHOSEN
from tests.server_process import ServerProcess, running_server
from tests.telephone.peers import CALLER, PUBLIC_URL, Peer, environment
from tests.telephone.test_telephone_calls import ended, spoken
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.errors import MediaError

EXAMPLES = Path(__file__).parents[2] / "examples"
PROFILE = CHOSEN or "starter"
ROW = re.compile(r"^\| ([A-Z][^|]*\.) \|", re.MULTILINE)
"""A row of a README's table that begins with what the caller says."""
Tools = list[tuple[str, dict[str, object]]]
Call = Callable[[ServerProcess, Said, list[str]], Awaitable[None]]


@asynccontextmanager
async def example(name: str, folder: Path) -> AsyncIterator[ServerProcess]:
    fetched("--profile", PROFILE)
    shutil.copytree(EXAMPLES / name, folder, dirs_exist_ok=True)
    agent = yaml.safe_load((folder / "agent.yaml").read_text())
    agent |= {"profile": PROFILE, "telephony": {"url": PUBLIC_URL, "vendors": ["twilio"]}}
    (folder / "agent.yaml").write_text(yaml.safe_dump(agent, sort_keys=False))
    options = ("--config", str(folder / "agent.yaml"), "--event-logs", "5")
    with running_server(folder, *options, environment=environment()) as running:
        yield running


async def on_the_page(server: ServerProcess, said: Said, lines: list[str]) -> None:
    async with Caller(server.url) as caller, Dialogue(caller) as dialogue:
        await dialogue.wait_greeting()
        try:
            for line in lines:
                await dialogue.turn(line, *await said(line))
        except MediaError as error:  # the agent may take leave first, once all is done
            if "agent_ended" not in str(error) or line != lines[-1]:
                raise


async def by_telephone(server: ServerProcess, said: Said, lines: list[str]) -> None:
    async with aiohttp.ClientSession() as session, Peer(session, server.url, "twilio", patience_s=60.0) as peer:
        await peer.wait(lambda: peer.is_quiet(0.6))
        for line in lines:
            if peer.close_code is not None:  # the agent may take leave first, once all is done
                assert line == lines[-1]
                break
            asked = asyncio.get_running_loop().time()
            peer.say(await spoken(said, line, peer))
            await peer.wait(
                lambda asked=asked: peer.close_code is not None or (peer.heard[-1][0] > asked and peer.is_quiet(1.2))  # type: ignore[misc]
            )


def lines_of(name: str) -> list[str]:
    """What the caller says by the first table of the example's README."""
    first, _, _ = (EXAMPLES / name / "README.md").read_text(encoding="utf-8").partition("\n## ")
    lines = ROW.findall(first)
    assert len(lines) > 3
    return lines


def tools_of(steps: list[tuple[ev.Event, tuple[act.Action, ...]]]) -> Tools:
    """The tools that succeeded, with their results."""
    names = {action.call_id: action.name for _, actions in steps for action in actions if isinstance(action, act.ToolStarted)}
    done = [event for event, _ in steps if isinstance(event, ev.ToolFinished)]
    return [(names[event.call_id], json.loads(event.output)) for event in done if event.ok]


@pytest.mark.parametrize("leg", [on_the_page, by_telephone])
async def test_the_order_desk_takes_the_order_of_its_readme(leg: Call, said: Said, tmp_path: Path) -> None:
    async with example("orders", tmp_path) as server:
        await leg(server, said, lines_of("orders"))
        steps = await ended(server, 1)
    two = {"dishes": {"soup": 2}, "total": "9.00 euros"}
    caller = "a caller by browser" if leg is on_the_page else CALLER
    assert [each for each in tools_of(steps) if each[0] != "end_call"] == [
        ("add_dish", two),
        ("add_dish", {"dishes": {"soup": 2, "cake": 1}, "total": "14.00 euros"}),
        ("remove_dish", two),
        ("place_order", {"placed": True, "number": 1, "for": caller, **two}),
    ]


@pytest.mark.parametrize("leg", [on_the_page, by_telephone])
async def test_the_clinic_goes_through_its_steps(leg: Call, said: Said, tmp_path: Path) -> None:
    async with example("clinic", tmp_path) as server:
        await leg(server, said, lines_of("clinic"))
        steps = await ended(server, 1)
    taken = [action.step for _, actions in steps for action in actions if isinstance(action, act.StepChanged)]
    assert taken == ["reason", "slot", "goodbye"]
    assert [name for name, _ in tools_of(steps)].count("book") == 1
