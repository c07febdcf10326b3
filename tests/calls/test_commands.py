"""Commands and backchannels in whole calls over real WebRTC, with a model that always calls the nearest tool."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.calls.scripted_model import Message, agent_on
from tests.fakes import Said
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue

TOOLS = '''
from pathlib import Path
from voiceagent.tools import tool

@tool
def cancel_booking() -> dict[str, str]:
    """Cancel the booking."""
    with Path(__file__).with_name("cancelled").open("a") as file:
        file.write("x")
    return {"cancelled": "table"}
'''


def nearest_tool(messages: list[Message]) -> str | tuple[str, str]:
    """Call the tool whatever was said, then say something."""
    return "All right." if messages[-1]["role"] == "tool" else ("cancel_booking", "{}")


@pytest.mark.parametrize(("settings", "stopped"), [("", ("Okay.", [])), ("phrases: {stopped: ''}\n", ("All right.", ["failed"]))])
async def test_a_command_cancels_no_booking_and_a_request_does(
    tmp_path: Path, said: Said, settings: str, stopped: tuple[str, list[str]]
) -> None:
    """A phrase answers "stop" without the model, or the model does where the phrase is empty."""
    expected = {"Stop.": stopped, "Okay.": ("All right.", ["failed"])}
    async with (
        agent_on(tmp_path, nearest_tool, TOOLS, settings) as server,
        Caller(server.url) as caller,
        Dialogue(caller) as dialogue,
    ):
        for command in ("Stop.", "Okay.", "Stop."):
            (turn,) = await dialogue.turn(command, *await said(command))
            assert (turn.heard, [tool["status"] for tool in turn.tools]) == expected[command]
            assert not (tmp_path / "cancelled").exists()
        request = "Cancel my table for Saturday."
        (turn,) = await dialogue.turn(request, *await said(request))
    assert [tool["status"] for tool in turn.tools] == ["completed"]
    assert (tmp_path / "cancelled").read_text() == "x"
