"""An agent with README's tool on the bundled models, which were not made for it: it is said, and nothing is made up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from tests.server_process import PROFILE, ServerProcess, running_server
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue

README = Path(__file__).resolve().parents[2] / "README.md"
AGENT = """\
name: Front desk
instructions: You answer the phone of a small hotel. One or two short sentences.
tools: [tools.py]
"""
QUESTIONS = ("How many rooms are free on Friday?", "What can you do?", "For Saturday.", "What's the weather?", "Hello.")
BOASTS = re.compile(r"weather|table|booking|timer|order|sums", re.IGNORECASE)

pytestmark = pytest.mark.skipif(PROFILE not in ("", "embedded"), reason="is about the profile embedded")


def tools_of_readme() -> str:
    """The tool in README."""
    found = re.search(r"```python\n(from voiceagent.tools import tool\n.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture(scope="module")
def front_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("front-desk")
    (folder / "agent.yaml").write_text(AGENT)
    (folder / "tools.py").write_text(tools_of_readme())
    with running_server(folder, "--config", str(folder / "agent.yaml"), "--profile", "embedded") as running:
        yield running


def test_the_server_says_at_its_start_that_the_model_is_unfit_and_the_way_out(front_desk: ServerProcess) -> None:
    (line,) = front_desk.said()
    assert "micro-lm was not made for this agent, which has the tool free_rooms" in line
    assert re.search(r"voiceagent models pull --profile \w+", line)


async def test_the_page_is_told_which_models_answer_and_what_they_cannot_do(front_desk: ServerProcess) -> None:
    async with aiohttp.ClientSession() as session, session.get(f"{front_desk.url}/v1/voiceagent/about") as response:
        about = await response.json()
    assert (about["agent"], about["profile"]) == ("Front desk", "embedded")
    assert [model["name"] for model in about["models"]] == ["micro-whisper", "micro-lm", "micro-voice"]
    assert "understands English only" in about["limits"]
    assert "free_rooms" in about["unfit"]["problem"]


async def test_it_claims_nothing_that_it_cannot_do_and_asks_for_no_tool_that_is_not_there(front_desk: ServerProcess) -> None:
    async with Caller(front_desk.url) as caller, Dialogue(caller) as dialogue:
        for question in QUESTIONS:
            since = dialogue.event_count
            caller.send_event({"type": "output_audio_buffer.clear"})
            content = [{"type": "input_text", "text": question}]
            caller.send_event(
                {"type": "conversation.item.create", "item": {"type": "message", "role": "user", "content": content}}
            )
            caller.send_event({"type": "response.create"})
            await dialogue.wait_event(lambda event: event.type == "output_audio_buffer.stopped", since, "the reply's end")
            events = dialogue.events_since(since)
            said = " ".join(event.data["heard"] for event in events if event.type == "voiceagent.heard")
            assert said
            assert not BOASTS.search(said), f"{question} → {said}"
            assert not [event for event in events if event.type == "voiceagent.tool"]
