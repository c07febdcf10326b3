"""A call whose history is made to be long at once: it is summed up beside the talk, which goes on."""

from __future__ import annotations

from pathlib import Path

from tests.fakes import Said
from tests.kept_calls import latest_log
from tests.server_process import running_server
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev

AGENT = """
instructions: You are a friendly voice assistant.
phrases: {greeting: "Hello, how can I help you?"}
llm: {long_history_tokens: 10, summarise: true}
"""

TURNS = 5
"""The first two are enough to sum up; the others give a slow model time to."""


async def test_the_beginning_is_summed_up_and_the_talk_goes_on(tmp_path: Path, said: Said) -> None:
    (tmp_path / "agent.yaml").write_text(AGENT)
    with running_server(tmp_path, "--config", str(tmp_path / "agent.yaml"), "--event-logs", "5") as server:
        async with Caller(server.url) as caller, Dialogue(caller) as dialogue:
            await dialogue.wait_greeting()
            for _ in range(TURNS):
                (turn,) = await dialogue.turn("What can you do?", *await said("What can you do?"))
                assert turn.heard
    steps = [(step.event, step.actions) for step in latest_log(tmp_path)[1]]
    asked = [action for _, actions in steps for action in actions if isinstance(action, act.Summarise)]
    told = [event for event, _ in steps if isinstance(event, ev.Summarised)]
    assert asked
    assert told
    users = [
        [message.content for message in action.messages if message.role == "user"]
        for _, actions in steps
        for action in actions
        if isinstance(action, act.Generate)
    ]
    assert len(users[-1]) < TURNS, "nothing was left out"
