"""A call of the Python client from a network that lets no UDP through: it goes over the WebSocket, and resumes over it."""

from __future__ import annotations

import logging

import pytest

from tests.fakes import Said
from tests.server_process import ServerProcess
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.media.webrtc.ice_connection import GatedProtocol

QUESTION = "What's the weather in Paris tomorrow?"


async def test_the_client_calls_over_the_websocket_where_udp_is_blocked(
    server: ServerProcess, said: Said, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(GatedProtocol, "send_stun", lambda self, message, addr: None)  # a firewall that drops what is sent
    caplog.set_level(logging.WARNING, "voiceagent.client")
    caller = Caller(server.url)
    async with caller, Dialogue(caller) as dialogue:
        assert caller.transport == "websocket"
        assert caplog.messages == [f"{server.url}: no UDP gets through; the call goes over the WebSocket"]
        assert await dialogue.wait_greeting()
        asked, _ = await dialogue.turn(
            QUESTION, *await said(QUESTION), interrupt_with=("Stop.", (await said("Stop."))[0]), interrupt_after_s=0.5
        )
        assert asked.caption == QUESTION
        assert asked.heard
        assert asked.barge_in_stop_ms is not None
        assert caller._socket is not None
        connection = caller._socket._socket._conn if caller._socket._socket else None
        assert connection is not None
        assert connection.transport is not None
        connection.transport.abort()
        await caller.wait_until(lambda: caller.resumed > 0)
        assert caller.transport == "websocket"
        (again,) = await dialogue.turn(QUESTION, *await said(QUESTION))
        assert "Paris" in again.heard
    assert not dialogue.errors
    created = [event.data for event in dialogue.events_since(0) if event.type == "session.created"]
    assert {event["session"]["voiceagent"]["call_id"] for event in created} == {caller.call_id}, "the first call was given up"
