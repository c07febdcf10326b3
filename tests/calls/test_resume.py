"""Calls that outlive their connection, over a WebSocket and over WebRTC, with a real server."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest
import pytest_asyncio

from tests.calls.cut_relay import CutRelay
from tests.calls.scripted_model import Message, agent_on
from tests.calls.socket_caller import SocketCaller
from tests.fakes import Said
from tests.kept_calls import latest_log
from tests.media.test_connections import offer_of
from tests.server_process import ServerProcess
from voiceagent.audio.format import PLAYED_HZ
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.client.signalling import SignallingAnswer, answer_to
from voiceagent.conversation.events import ConnectionLost, ConnectionResumed
from voiceagent.conversation.machine import replay
from voiceagent.errors import MediaError
from voiceagent.server.calls.call_ids import RESUME_SHAPE

pytestmark = pytest.mark.asyncio(loop_scope="module")

STORY = "Once upon a time a small boat went out to sea, and the wind was kind, and all the fish were asleep."
TOOLS = '''
import asyncio
from voiceagent.tools import tool

@tool
async def book_table() -> dict[str, str]:
    """Book a table."""
    await asyncio.sleep(1.5)
    return {"booked": "table"}
'''


def tells(messages: list[Message]) -> str | tuple[str, str]:
    """Tell a story, or book a table where that is asked for."""
    last = messages[-1]
    if last["role"] == "tool":
        return "Your table is booked."
    return ("book_table", "{}") if "table" in last["content"] else STORY


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServerProcess]:
    async with agent_on(
        tmp_path_factory.mktemp("resume"), tells, TOOLS, "turn: {resume_timeout_s: 2}\nphrases: {greeting: ''}\n"
    ) as running:
        yield running


async def test_a_reply_goes_on_at_its_first_unheard_word(server: ServerProcess) -> None:
    async with SocketCaller(server.url) as caller:
        await caller.until(lambda: bool(caller.token))
        assert RESUME_SHAPE.fullmatch(caller.token)
        await caller.write("Tell me a story.")
        await caller.until(lambda: len(" ".join(caller.heard().values()).split()) > 2)
        await caller.cut()
        await until_told(server, caller.call_id, "connection.lost")
        await caller.resume()
        done = await caller.wait("response.done")
        assert done["response"]["status"] == "completed"
        assert done["response"]["output"][0]["content"][0]["transcript"] == STORY
        assert list(caller.heard().values()) == [STORY]
        ids = [event["event_id"] for event in caller.events]
        assert len(set(ids)) == len(ids), "an event came twice"
        assert len(caller.named("response.created")) == 1
    await until_counted(server, "voiceagent_calls_active 0.0")
    check_replay(server, caller.call_id)


def check_replay(server: ServerProcess, call_id: str) -> None:
    """The call's loss and return are in its event log, and replay to the same decisions."""
    head, steps = latest_log(server.data, call_id)
    again = list(replay(head.rules, ((step.event, step.actions) for step in steps)))
    assert {ConnectionLost, ConnectionResumed} <= {type(step.event) for step in again}
    assert all(step.same for step in again)


async def test_a_tool_goes_on_and_is_told_after_the_caller_is_back(server: ServerProcess) -> None:
    async with SocketCaller(server.url) as caller:
        await caller.until(lambda: bool(caller.token))
        await caller.write("Book a table.")
        await caller.wait("response.mcp_call_arguments.done")
        await caller.cut()
        await until_told(server, caller.call_id, "tool.ended")  # while nobody is there
        await caller.resume()
        await caller.until(lambda: "Your table is booked." in " ".join(caller.heard().values()))
        await caller.wait("response.done")
        assert len(caller.named("response.mcp_call.completed")) == 1
        ids = [event["event_id"] for event in caller.events]
        assert len(set(ids)) == len(ids)


async def test_an_utterance_goes_on_over_the_cut(server: ServerProcess, said: Said) -> None:
    pcm, rate_hz = await said("Book a table for tomorrow evening at seven.")
    async with SocketCaller(server.url) as caller:
        await caller.until(lambda: bool(caller.token))
        await caller.speak(pcm[: len(pcm) // 2], rate_hz)
        await caller.wait("input_audio_buffer.speech_started")
        await caller.cut()
        await caller.resume()
        await caller.speak(pcm[len(pcm) // 2 :], rate_hz, silence_s=3.0)
        heard = await caller.wait("conversation.item.input_audio_transcription.completed")
        assert "table" in heard["transcript"]
        assert "7" in heard["transcript"]
        await caller.wait("response.done")
        assert len(caller.named("input_audio_buffer.speech_started")) == 1


async def test_a_client_that_did_not_get_the_next_token_comes_back_with_the_one_before(server: ServerProcess) -> None:
    async with SocketCaller(server.url) as caller:
        await caller.until(lambda: bool(caller.token))
        first, call_id = caller.token, caller.call_id
        for number in range(3):
            await caller.cut()
            await until_told(server, call_id, "connection.lost", number + 1)
            caller.token = first
            await caller.resume()
        assert caller.named("session.created")[-1]["session"]["voiceagent"]["call_id"] == call_id
        await caller.write("Hello.")
        await caller.wait("response.done")


async def test_over_webrtc_too_the_token_before_is_good_until_the_next_one_is_used(tmp_path: Path) -> None:
    """The client comes back before its server has noticed the loss."""
    relay = CutRelay()
    async with agent_on(tmp_path, tells, TOOLS, "turn: {resume_timeout_s: 20}\nphrases: {greeting: ''}\n") as server:
        caller = Caller(server.url, relay=relay)
        async with caller, Dialogue(caller) as dialogue:
            await dialogue.wait_event(lambda event: event.type == "voiceagent.resume", 0, "a token")
            first, call_id = caller._resume_token, caller.call_id
            for _ in range(2):
                before = caller.resumed
                relay.cut()
                caller._resume_token = first
                await caller.wait_until(partial(has_come_back, caller, before))
            assert caller.call_id == call_id
            await until_told(server, call_id, "connection.resumed", 2)


def has_come_back(caller: Caller, before: int) -> bool:
    return caller.resumed > before


class RefusedOnce(Caller):
    """The first attempt to take the call up again finds a server that takes none, such as one that loads its models."""

    refused = 0

    async def _answer_to(self, offer: str) -> SignallingAnswer:
        if self._resume_token and not self.refused:
            self.refused += 1
            raise MediaError("refused on purpose")
        return await super()._answer_to(offer)


async def test_a_client_that_is_refused_keeps_the_connection_that_its_server_still_holds(server: ServerProcess) -> None:
    caller = RefusedOnce(server.url)
    async with caller, Dialogue(caller) as dialogue:
        await dialogue.wait_event(lambda event: event.type == "voiceagent.resume", 0, "a token")
        call_id = caller.call_id
        caller._gone("lost")
        await dialogue.wait_event(lambda event: event.type == "voiceagent.resume", dialogue.event_count, "the next token")
        assert (caller.refused, caller.resumed, caller.call_id) == (1, 1, call_id)


async def test_a_token_is_used_up_by_the_next_one_and_is_not_for_anything_else(server: ServerProcess) -> None:
    async with SocketCaller(server.url) as caller:
        await caller.until(lambda: bool(caller.token))
        first = caller.token
        for _ in range(2):
            await caller.cut()
            await caller.resume()
        wrong = first[:-1] + ("A" if first[-1] != "A" else "B")
        for token in (first, wrong, "rs_" + "0" * 24 + first[27:]):
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await caller._http.ws_connect(f"{server.url}/v1/realtime", headers={"Authorization": f"Bearer {token}"})
            assert refused.value.status == 401
            async with caller._http.get(f"{server.url}/v1/realtime", headers={"Authorization": f"Bearer {token}"}) as answer:
                assert answer.status == 401
        headers = {"Authorization": f"Bearer {caller.token}"}
        async with caller._http.get(f"{server.url}/v1/realtime", headers=headers) as answer:
            assert answer.status == 426
        async with caller._http.get(f"{server.url}/v1/voiceagent/about", headers=headers) as answer:
            assert answer.status == 403
    assert first not in "\n".join(server.said())


async def test_a_connection_that_is_gone_before_it_answers_uses_up_no_token(server: ServerProcess) -> None:
    async with SocketCaller(server.url) as caller:
        await caller.until(lambda: bool(caller.token))
        await caller.cut()
        for _ in range(3):
            await given_up(server, caller.token)
        await caller.resume()
    await until_counted(server, "voiceagent_calls_active 0.0")


async def given_up(server: ServerProcess, token: str) -> None:
    """Open a WebSocket with a token, and leave it once it is open, as a client does that the network loses just then."""
    where = urlsplit(server.url)
    reading, writing = await asyncio.open_connection(where.hostname, where.port)
    head = (
        f"GET /v1/realtime?voiceagent_events=true HTTP/1.1\r\nHost: {where.netloc}\r\n"
        f"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {base64.b64encode(bytes(16)).decode()}\r\n"
        f"Sec-WebSocket-Version: 13\r\n"
        f"Authorization: Bearer {token}\r\n\r\n"
    )
    writing.write(head.encode())
    assert b" 101 " in await reading.readline()
    writing.transport.abort()


async def test_a_second_connection_takes_the_call_over(server: ServerProcess) -> None:
    async with SocketCaller(server.url) as caller, SocketCaller(server.url) as other:
        await caller.until(lambda: bool(caller.token))
        await caller.write("Tell me a story.")
        await caller.until(lambda: bool(caller.heard()))
        await other.hang_up()
        other.last_id, other.token, other.events = caller.last_id, caller.token, []
        await other.resume()
        await caller.until(lambda: caller.closed[0] == 4001)
        done = await other.wait("response.done")
        assert done["response"]["output"][0]["content"][0]["transcript"] == STORY


async def until_told(server: ServerProcess, call_id: str, kind: str, times: int = 1) -> None:
    """Wait until a monitor of the call is told of so many such events."""
    left, path = times, f"{server.url}/v1/calls/{call_id}/events?from=1"
    async with asyncio.timeout(20), aiohttp.ClientSession() as http, http.get(path) as answer:
        assert answer.status == 200
        async for line in answer.content:
            left -= line.startswith(b"data: ") and json.loads(line.removeprefix(b"data: "))["type"] == kind
            if not left:
                return
    raise AssertionError(f"the call ended without {kind}")


async def until_counted(server: ServerProcess, line: str) -> None:
    """Wait until the server's metrics have this line."""
    async with asyncio.timeout(10), aiohttp.ClientSession() as http:
        while True:
            async with http.get(f"{server.url}/metrics") as answer:
                if line in (await answer.text()).splitlines():
                    return
            await asyncio.sleep(0.05)


async def test_a_call_that_was_hung_up_or_not_resumed_is_over(server: ServerProcess) -> None:
    async with SocketCaller(server.url) as caller:
        await caller.until(lambda: bool(caller.token))
    await until_counted(server, "voiceagent_calls_active 0.0")
    async with SocketCaller(server.url) as lost:
        await lost.until(lambda: bool(lost.token))
        await lost.cut()
        await until_counted(server, 'voiceagent_calls_ended_total{reason="not_resumed"} 1.0')
        for token in (caller.token, lost.token):
            with pytest.raises(aiohttp.WSServerHandshakeError):
                await lost.connect(token)


async def test_a_call_over_webrtc_goes_on_over_a_new_peer_where_the_caller_heard_it_last(server: ServerProcess) -> None:
    relay = CutRelay()
    caller = Caller(server.url, relay=relay)
    async with caller, Dialogue(caller) as dialogue:
        content = [{"type": "input_text", "text": "Tell me a story."}]

        async def ask() -> None:
            caller.send_event(
                {"type": "conversation.item.create", "item": {"type": "message", "role": "user", "content": content}}
            )
            caller.send_event({"type": "response.create"})

        turn = asyncio.ensure_future(dialogue.turn("Tell me a story.", ask, PLAYED_HZ))
        await dialogue.wait_event(lambda event: len(str(event.data.get("heard", "")).split()) > 3, 0, "some words")
        relay.cut()
        await caller.wait_until(lambda: caller.resumed > 0)
        done = await dialogue.wait_event(lambda event: event.type == "response.done", 0, "the end of the reply")
        assert done.data["response"]["output"][0]["content"][0]["transcript"] == STORY
        (exchange,) = await turn
        assert [(told.heard, told.measured) for told in exchange.turns] == [(STORY, None)], "it ends, though it is not measured"
        events = [event.data for event in dialogue.events_since(0)]
    heard = [str(event["heard"]) for event in events if event["type"] == "voiceagent.heard"]
    assert heard[-1] == STORY
    taken_back = [later for sooner, later in itertools.pairwise(heard) if len(later) < len(sooner)]
    assert len(taken_back) == 1, "what was sent into nothing was not heard"
    ids = [event["event_id"] for event in events]
    assert len(set(ids)) == len(ids), "an event came twice"
    await until_counted(server, "voiceagent_calls_active 0.0")
    check_replay(server, caller.call_id)


async def test_a_call_that_never_connected_is_not_waited_for(server: ServerProcess) -> None:
    peer, sdp = await offer_of()
    await peer.close()
    await answer_to(server.url, None, sdp)
    await until_counted(server, 'voiceagent_calls_ended_total{reason="not_connected"} 1.0')


async def test_a_client_that_takes_none_of_our_events_is_not_waited_for(server: ServerProcess) -> None:
    ended = 'voiceagent_calls_ended_total{reason="lost"}'
    before = await counted(server, ended)
    async with SocketCaller(server.url, extras=False) as caller:
        await caller.wait("session.created")
        await caller.cut()
        await until_counted(server, f"{ended} {before + 1}")
        assert not caller.token


async def counted(server: ServerProcess, name: str) -> float:
    """What the server's metrics count under this name."""
    async with aiohttp.ClientSession() as http, http.get(f"{server.url}/metrics") as answer:
        return float(next((line.split()[-1] for line in (await answer.text()).splitlines() if line.startswith(name)), 0))
