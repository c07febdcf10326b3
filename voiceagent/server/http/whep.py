"""`POST /whep`: somebody listens to the agent's voice in a running call (draft-ietf-wish-whep). `POST /whip` (RFC 9725), by which
they push speech in, is the same as `/v1/realtime/calls`."""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiohttp import hdrs, web

from voiceagent.errors import MediaError
from voiceagent.media.playout import Playout
from voiceagent.media.webrtc.listener_peer import ListenerPeer
from voiceagent.media.webrtc.ports import NoPortError
from voiceagent.server.calls.admission import RETRY_AFTER_S
from voiceagent.server.calls.call_ids import marked
from voiceagent.server.calls.calls import NO_PORT
from voiceagent.server.calls.quotas import CLIENT, Client
from voiceagent.server.http.app import CALLS, DRAINING, ApplicationPart
from voiceagent.server.http.offer import read_offer
from voiceagent.server.http.problems import Problem
from voiceagent.task_owner import TaskOwner, running

MAX_LISTENERS = 4
"""The most listeners of one call."""

AnswerListener = Callable[[str, Playout], Awaitable[tuple[ListenerPeer, str]]]


@dataclass(frozen=True, slots=True)
class _Listening:
    peer: ListenerPeer
    client: Client


class WhepPart(ApplicationPart):
    """The part of the application that lets players listen to calls."""

    def __init__(self, answer: AnswerListener) -> None:
        self._answer = answer
        self._by_id: dict[str, _Listening] = {}
        self._listeners: Counter[asyncio.Task[None]] = Counter()
        """The listeners of each call, by its task, from their offer on: one that never connects holds a place for 5 s."""
        self._tasks = TaskOwner()

    def add_routes(self, app: web.Application) -> None:
        """See `ApplicationPart`."""
        app.router.add_post("/whep", self._begin)
        app.router.add_delete("/whep/{id}", self._end)

    @asynccontextmanager
    async def open(self, app: web.Application) -> AsyncIterator[None]:
        """See `ApplicationPart`."""
        try:
            yield
        finally:
            await self._tasks.close()

    async def _begin(self, request: web.Request) -> web.Response:
        calls, client = request.app[CALLS], request[CLIENT]
        with request.app[DRAINING].offer():
            offer, _ = await read_offer(request)
            playout, call = calls.audible(client, request.query.get("call_id", ""))
            if self._listeners[call] >= MAX_LISTENERS:
                raise Problem(429, "too_many_listeners", f"This call has {MAX_LISTENERS} listeners, as many as may be; end one.")
            self._listeners[call] += 1
            try:
                peer, sdp = await self._answered(offer, playout)
            except BaseException:
                self._left(call)
                raise
        listener_id = f"whep_{marked(secrets.token_hex(12))}"
        self._by_id[listener_id] = _Listening(peer, client)
        self._tasks.start_alone(self._carry(listener_id, peer, call), "listener")
        headers = {"Location": f"/whep/{listener_id}", hdrs.CONTENT_TYPE: "application/sdp"}
        return web.Response(status=201, body=sdp.encode(), headers=headers)

    async def _answered(self, offer: str, playout: Playout) -> tuple[ListenerPeer, str]:
        try:
            return await self._answer(offer, playout)
        except NoPortError as error:
            raise Problem(503, "no_media_port", NO_PORT, retry_after_s=RETRY_AFTER_S) from error
        except MediaError as error:
            raise Problem(400, "invalid_offer", str(error), param="sdp") from error

    async def _end(self, request: web.Request) -> web.Response:
        listener_id = request.match_info["id"]
        listening = self._by_id.get(listener_id)
        if listening is None or not request[CLIENT].may_end(listening.client):
            raise Problem(
                404, "call_not_found", f"There is no listener {listener_id[:40]!r}; it is over or never was.", param="id"
            )
        listening.peer.over.set()
        return web.Response()

    async def _carry(self, listener_id: str, peer: ListenerPeer, call: asyncio.Task[None]) -> None:
        """Keep the listener until it ends, or its call does."""
        try:
            async with running(peer.over.wait(), "end of a listener") as over:
                await asyncio.wait((over, call), return_when=asyncio.FIRST_COMPLETED)
        finally:
            del self._by_id[listener_id]
            self._left(call)
            await peer.close()

    def _left(self, call: asyncio.Task[None]) -> None:
        self._listeners[call] -= 1
        if not self._listeners[call]:
            del self._listeners[call]
