"""Lost calls cannot fill the server: the one that was lost first gives way to a new caller, and nobody else does."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest

from tests.fakes import MakeService
from tests.server.told_call import ToldCall, connected, read, serving
from voiceagent.server.calls import calls
from voiceagent.server.http.realtime_socket import SocketLimits
from voiceagent.settings.agent import AdmissionSettings, QuotaSettings

OURS = "voiceagent_events=true"


async def lose(client: aiohttp.ClientWebSocketResponse, call: ToldCall) -> str:
    """Cut the connection; returns the call's token."""
    events = await read(client, "voiceagent.resume")
    assert client._conn is not None
    assert client._conn.transport is not None
    client._conn.transport.abort()
    await call.lost.wait()
    return str(events[-1]["token"])


@pytest.mark.parametrize(
    "admission",
    [AdmissionSettings(max_calls=2), AdmissionSettings(max_calls=9, per_client=QuotaSettings(calls=2))],
    ids=["full server", "full quota"],
)
async def test_the_call_that_was_lost_first_gives_way_once_its_caller_had_time(
    make_service: MakeService, monkeypatch: pytest.MonkeyPatch, admission: AdmissionSettings
) -> None:
    async with asyncio.timeout(20), serving(make_service, SocketLimits(), admission=admission) as served:
        tokens: list[str] = []
        for number in range(2):
            async with connected(served, OURS) as client:
                tokens.append(await lose(client, served.board.told[number]))
        with pytest.raises(aiohttp.WSServerHandshakeError, match=r"503|429"):
            async with connected(served, OURS):
                pass
        monkeypatch.setattr(calls, "LOST_LEAST_S", 0.0)
        async with connected(served, OURS) as third:
            await read(third, "session.created")
            assert await served.board.told[0].end == "gave_way"
            with pytest.raises(aiohttp.WSServerHandshakeError, match="401"):
                async with connected(served, OURS, tokens[0]):
                    pass
            async with connected(served, OURS, tokens[1]) as back:
                await read(back, "voiceagent.resume")
                with pytest.raises(aiohttp.WSServerHandshakeError, match=r"503|429"):
                    async with connected(served, OURS):
                        pass


async def test_the_token_before_is_refused_once_the_new_connection_has_lasted(
    make_service: MakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asyncio.timeout(20), serving(make_service, SocketLimits()) as served:
        async with connected(served, OURS) as client:
            token = await lose(client, served.call)
        async with connected(served, OURS, token) as back:
            await read(back, "voiceagent.resume")
            monkeypatch.setattr(calls, "RECEIVED_S", 0.0)
            with pytest.raises(aiohttp.WSServerHandshakeError, match="401"):
                async with connected(served, OURS, token):
                    pass
