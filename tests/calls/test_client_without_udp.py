"""Calls of the Python client from a network that lets no UDP through: over a TURN server where there is one, else over the
WebSocket."""

from __future__ import annotations

import logging
import socket
from pathlib import Path

import pytest
from aioice import stun

from tests.certificates import write_certificate
from tests.fakes import Said
from tests.server_process import ServerProcess, running_server
from tests.turn_relay import SECRET, turn_server
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.media.webrtc.datagram_gate import Address
from voiceagent.media.webrtc.ice_connection import GatedConnection, GatedProtocol

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


async def test_the_client_calls_over_turn_and_tls_where_the_server_names_such_a_server(
    tmp_path: Path, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first server of the list, which takes UDP alone, is out of reach."""
    send = GatedProtocol.send_stun

    def send_over_relays(self: GatedProtocol, message: stun.Message, addr: Address) -> None:
        if self.local_candidate.type == "relay":
            send(self, message, addr)

    monkeypatch.setattr(GatedProtocol, "send_stun", send_over_relays)
    certificate = write_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    monkeypatch.setenv("VOICEAGENT_TURN_SECRET", SECRET)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as nobody:
        nobody.bind(("127.0.0.1", 0))
        blocked = f"turn:127.0.0.1:{nobody.getsockname()[1]}?transport=udp"
        async with turn_server(
            "--allow-loopback-peers", "--allowed-peer-ip=0.0.0.0-255.255.255.255", certificate=certificate
        ) as (host, port):
            monkeypatch.setenv("VOICEAGENT_ICE_URLS", f"{blocked},turns:{host}:{port}?transport=tcp")
            with running_server(tmp_path) as server:
                caller = Caller(server.url)
                async with caller, Dialogue(caller) as dialogue:
                    assert caller.transport == "webrtc"
                    assert caller._peer is not None
                    connection = caller._peer.transport.gatherer._connection
                    assert isinstance(connection, GatedConnection)
                    assert connection._route is not None
                    assert connection._route[0].local_candidate.type == "relay"
                    assert await dialogue.wait_greeting()
                    (turn,) = await dialogue.turn(QUESTION, *await said(QUESTION))
                    assert turn.caption == QUESTION
                    assert "Paris" in turn.heard
