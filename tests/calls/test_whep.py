"""Listeners of a call over WebRTC, with a real server."""

from __future__ import annotations

import asyncio

import aiohttp

from tests.media.test_connections import offer_of
from tests.server_process import ServerProcess
from voiceagent.client.caller import Caller
from voiceagent.server.http.whep import MAX_LISTENERS

SDP = {"Content-Type": "application/sdp"}


async def test_a_call_has_only_so_many_listeners_and_those_count_that_never_connect(server: ServerProcess) -> None:
    async with Caller(server.url), aiohttp.ClientSession() as session:

        async def listen() -> tuple[int, str]:
            peer, sdp = await offer_of()
            await peer.close()
            async with session.post(f"{server.url}/whep", data=sdp, headers=SDP) as answer:
                return answer.status, answer.headers.get("Location", "")

        async with session.post(f"{server.url}/whep", data="v=0", headers=SDP) as answer:
            assert answer.status == 400
        asked = [await listen() for _ in range(MAX_LISTENERS + 1)]
        assert [status for status, _ in asked] == [201] * MAX_LISTENERS + [429]
        async with session.delete(f"{server.url}{asked[0][1]}") as answer:
            assert answer.status == 200
        async with asyncio.timeout(20):
            while (await listen())[0] != 201:
                pass
    async with aiohttp.ClientSession() as session, asyncio.timeout(20):  # the call is over, and so is what listened to it
        while (await session.delete(f"{server.url}{asked[1][1]}")).status != 404:
            pass
