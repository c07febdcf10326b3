"""The example in whole calls: what the documents say of the caller's words is in the prompt that the engine is given."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.fakes import Said
from tests.kept_calls import latest_log
from tests.server_process import ServerProcess, running_server
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import Message

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "context" / "agent.yaml"
QUESTIONS = ("What's the weather in Paris tomorrow?", "Where is my order 48213?")


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServerProcess]:
    with running_server(tmp_path, "--config", str(EXAMPLE), "--event-logs", "5") as server:
        yield server


async def test_what_the_documents_say_reaches_the_model_before_it_answers(served: ServerProcess, said: Said) -> None:
    async with Caller(served.url) as caller, Dialogue(caller) as dialogue:
        await dialogue.wait_greeting()
        for question in QUESTIONS:
            await dialogue.turn(question, *await said(question))
    steps = [(step.event, step.actions) for step in latest_log(served.data)[1]]
    found = [chunk for event, _ in steps if isinstance(event, ev.ContextFound) for chunk in event.chunks]
    assert "town.html: Weather" in {chunk.source for chunk in found}
    prompts = [action.messages for _, actions in steps for action in actions if isinstance(action, act.Generate)]
    asked = next(message for message in prompts[0] if message.role == "user")
    assert [chunk.source for chunk in asked.context] == ["town.html: Weather"]
    assert asked.prompted.endswith(asked.content)
    for before, after in pairwise(prompts):
        assert _flat(after)[: len(_flat(before)) - 1] == _flat(before)[:-1], "a prompt does not begin as the one before it"


def _flat(messages: tuple[Message, ...]) -> list[str]:
    return [json.dumps([message.role, message.prompted]) for message in messages]
