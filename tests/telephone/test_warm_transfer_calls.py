"""A whole warm transfer: a real server process, its recogniser, turn engine and voice, two telephones, and what each heard taken
from its own recording. The language model is a server that asks for the transfer, as the bundled one does not."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
from aiohttp import web
from numpy.typing import NDArray

from tests.fakes import Said, Words
from tests.llm.faulty_server import chunk
from tests.loopback import on_loopback
from tests.telephone.sip_parts import RATE_HZ, phone
from tests.telephone.test_sip_calls import FRAME, an_exchange, loud_frames, quiet_after_speech, spoken
from tests.telephone.test_telephone_calls import ended
from voiceagent.conversation import actions as act
from voiceagent.turn_taking.languages.en import ENGLISH

SETTINGS = """    transfers:
      sales: {{to: "sip:bob@{host}:{pbx}", kind: warm}}
  results: {{url: "MODEL/results"}}
llm: {{base_url: "MODEL/v1", model: sales}}
"""
ASKED = "What's the weather in Paris tomorrow?"
"""Whatever is asked leads to sales."""
REFUSED = "Sorry, not now. It is sunny in London today."
"""In words that the bundled recogniser knows."""
SUMMARY = "It is raining in Berlin tomorrow."


class Sales:
    """A language model that asks for the transfer whenever the caller has spoken, and sums up when it is asked to; and who is
    told how calls went."""

    def __init__(self) -> None:
        self.prompts: list[list[dict[str, Any]]] = []
        self.results: list[dict[str, Any]] = []

    async def result(self, request: web.Request) -> web.Response:
        self.results.append(await request.json())
        return web.Response()

    async def models(self, _: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "sales", "object": "model", "created": 0, "owned_by": "t"}]})

    async def complete(self, request: web.Request) -> web.StreamResponse:
        body: dict[str, Any] = await request.json()
        messages = body["messages"]
        self.prompts.append(messages)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        if messages[-1]["content"] == ENGLISH.transfer.ask:
            await response.write(chunk({"content": f"**{SUMMARY}**"}))
        elif messages[-1]["role"] == "tool":
            await response.write(chunk({"content": REFUSED}))
        elif body.get("tools"):
            call = {
                "index": 0,
                "id": f"call{len(self.prompts)}",
                "function": {"name": "transfer", "arguments": '{"to": "sales"}'},
            }
            await response.write(chunk({"tool_calls": [call]}))
        await response.write(b"data: [DONE]\n\n")
        return response


@asynccontextmanager
async def sales() -> AsyncIterator[tuple[Sales, str]]:
    model = Sales()
    app = web.Application()
    app.router.add_get("/v1/models", model.models)
    app.router.add_post("/v1/chat/completions", model.complete)
    app.router.add_post("/results", model.result)
    async with on_loopback(app) as url:
        yield model, url


def sentences(heard: NDArray[np.int16]) -> list[NDArray[np.int16]]:
    """What was heard, cut where it is silent for 200 ms: one sentence that the recogniser does not know spoils the next."""
    loud = loud_frames(heard)
    ends = np.flatnonzero(np.diff(loud) > 10)
    return [heard[max(0, part[0] - 5) * FRAME : (part[-1] + 6) * FRAME] for part in np.split(loud, ends + 1)]


async def test_a_caller_is_told_that_nobody_is_there_then_is_summed_up_to_who_is_and_bridged(
    said: Said,
    words: Words,
    tmp_path: Path,
) -> None:
    async with (
        sales() as (model, url),
        an_exchange(tmp_path, SETTINGS.replace("MODEL", url)) as exchange,
        phone(tmp_path, "alice", exchange.pbx_port) as alice,
    ):
        await alice.do("dial", exchange.agent)
        await quiet_after_speech(alice, 0, 0.6)
        asked, request = len(alice.heard()), await spoken(said, ASKED)
        await alice.say(request)
        refused = await words(await quiet_after_speech(alice, asked + len(request), 1.0), RATE_HZ)
        async with phone(tmp_path, "bob", exchange.pbx_port, answers=True) as bob:
            asked = len(alice.heard())
            await alice.say(request)
            await bob.wait_told("CALL_ESTABLISHED")
            to_bob = [await words(each, RATE_HZ) for each in sentences(await quiet_after_speech(bob, 0, 1.5))]
            to_alice = await words(await quiet_after_speech(alice, asked, 0.8), RATE_HZ)
            began = len(alice.heard())
            await bob.say(await spoken(said, "Good morning, what can I do for you?"))
            from_bob = await words(await quiet_after_speech(alice, began, 1.0), RATE_HZ)
            await bob.do("hangup")
            await alice.wait_told("CALL_CLOSED")
        steps = await ended(exchange.server, 1)
    print(f"refused: {refused}\ncolleague: {to_bob}\ncaller: {to_alice}\nthen: {from_bob}")
    actions = [action for _, all_of_them in steps for action in all_of_them]
    assert [action.reason for action in actions if isinstance(action, act.End)] == ["transferred"]
    assert [result["reason"] for result in model.results] == ["transferred"]
    outputs = [json.loads(action.output) for action in actions if isinstance(action, act.ToolEnded)]
    assert "is an unknown number (404 Not Found)" in str(outputs[0])
    assert outputs[1] == {"status": "transferred"}
    heard = [action.heard for action in actions if isinstance(action, act.ReplyEnded)]
    assert heard[1:] == [REFUSED, ENGLISH.transfer.connecting, ENGLISH.transfer.joined]
    assert "london" in refused.lower()
    assert any("berlin" in sentence.lower() for sentence in to_bob)
    assert "berlin" not in to_alice.lower(), "the caller hears nothing of the summary"
    assert "good morning" in from_bob.lower()
    (summed_up,) = (prompt for prompt in model.prompts if prompt[-1]["content"] == ENGLISH.transfer.ask and len(prompt) > 5)
    assert summed_up[-2]["role"] == "user"
    assert all(SUMMARY not in message["content"] for prompt in model.prompts for message in prompt)
