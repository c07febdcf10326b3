"""Whole calls on a language model that thinks aloud and writes Markdown: what is heard, shown and remembered is the same."""

from __future__ import annotations

from pathlib import Path

from tests.fakes import Said
from tests.llm.faulty_server import chunk, faulty_server
from tests.server_process import running_server
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue

WEATHER = "What's the weather in Paris tomorrow?"
WRITTEN = [
    "<thi",
    "nk>The user wants the weather.</th",
    "ink>\n\n*",
    "*Great",
    "!** It",
    " is:\n\n- sunny\n",
    "- **war",
    "m** 😊\n\n",
    "`OK`?",
]
HEARD = "Great! It is: sunny. warm. OK?"


async def test_markup_and_thoughts_are_neither_heard_nor_shown_nor_remembered(tmp_path: Path, said: Said) -> None:
    async with faulty_server() as model:
        model.stream_body = b"".join(chunk({"content": piece}) for piece in WRITTEN) + b"data: [DONE]\n\n"
        (tmp_path / "agent.yaml").write_text(f"name: Marked\nllm: {{base_url: '{model.url}'}}\n")
        with running_server(tmp_path, "--config", str(tmp_path / "agent.yaml")) as server:
            async with Caller(server.url) as caller, Dialogue(caller) as dialogue:
                (turn,) = await dialogue.turn(WEATHER, *await said(WEATHER))
                assert turn.heard == HEARD
                shown = [event.data for event in dialogue.events_since(0) if event.type.endswith("transcript.done")]
                assert [str(data["transcript"]) for data in shown] == [HEARD]
                await dialogue.turn(WEATHER, *await said(WEATHER))
        told = [message for request in model.requests for message in request["messages"] if message["role"] == "assistant"]
    assert {message["content"] for message in told} == {HEARD}
