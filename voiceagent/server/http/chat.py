"""`POST /v1/chat/completions`: the agent for clients that write, in the form of OpenAI's Chat Completions. An answer is a call
without audio. A stream that was lost goes on where it was, for a client that sends the same request with `Last-Event-ID`."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from aiohttp import web

from voiceagent.json_types import JsonObject
from voiceagent.media.outgoing_events import TOO_SLOW
from voiceagent.realtime.chat_request import ChatRequest, read_chat_request
from voiceagent.realtime.client_events import ClientEventError
from voiceagent.realtime.settings import ClientSettings
from voiceagent.server.calls.quotas import CLIENT
from voiceagent.server.http.app import CALLS, CORS, DRAINING, READINESS, ApplicationPart, is_connected
from voiceagent.server.http.chat_answer import ChatAnswer
from voiceagent.server.http.chat_memory import ChatMemory, KeepLimits
from voiceagent.server.http.event_stream import LOOKED_EVERY_S, EventStream, SlowReaderError
from voiceagent.server.http.problems import Problem
from voiceagent.task_owner import running

PATH = "/v1/chat/completions"
KEPT = KeepLimits(60.0, 256, 8 * 2**20)
"""The limits of streams that nobody reads. So long one goes on, and is kept after its end; as many that are over are kept."""
TOO_SLOWLY_READ = Problem(
    408, TOO_SLOW, "The answer is not read in time; send the same request with Last-Event-ID to get the rest of it."
)
_SEEN = re.compile(r"(chatcmpl-[0-9a-f]{24}):([0-9]{1,9})")


class ChatPart(ApplicationPart):
    """The part of the application that answers in writing."""

    def __init__(self, agent: Callable[[], str], limits: KeepLimits = KEPT) -> None:
        """`agent` tells the agent's name as it is now, which clients may give as the model."""
        self._limits = limits
        self._agent = agent
        self._memory = ChatMemory()
        self._kept: dict[str, ChatAnswer] = {}
        self._expiries: dict[str, asyncio.TimerHandle] = {}

    @property
    def kept(self) -> int:
        """The number of answers that are being written, or are kept."""
        return len(self._kept)

    def add_routes(self, app: web.Application) -> None:
        """See `ApplicationPart`."""
        app.router.add_post(PATH, self._complete)
        app.router.add_get("/v1/models", self._list)
        app.router.add_get("/v1/models/{model}", self._model)

    @asynccontextmanager
    async def open(self, app: web.Application) -> AsyncIterator[None]:
        """See `ApplicationPart`."""
        yield
        for expiry in self._expiries.values():
            expiry.cancel()

    @property
    def _models(self) -> tuple[str, ...]:
        return self._agent(), ClientSettings().model

    async def _list(self, _: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [_shown(name) for name in dict.fromkeys(self._models)]})

    async def _model(self, request: web.Request) -> web.Response:
        return web.json_response(_shown(self._known(request.match_info["model"])))

    def _known(self, model: str) -> str:
        if model not in self._models:
            told = f"There is no model {model[:80]!r} here; this server has one agent, named {self._models[0]!r}."
            raise Problem(404, "model_not_found", told, param="model")
        return model

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        asked, seen = self._read(body), request.headers.get("Last-Event-ID")
        digest = hashlib.sha256(body).digest()
        if seen is not None:
            answer, number = self._resumed(seen, request[CLIENT].owner, digest)
            return await self._stream(request, answer, number)
        answer = ChatAnswer(asked, request[CLIENT].owner, digest, self._memory)
        await self._begin(request, answer, asked)
        return await (self._stream(request, answer, 0) if asked.streams else self._whole(request, answer))

    def _read(self, body: bytes) -> ChatRequest:
        try:
            asked = read_chat_request(body)
        except ClientEventError as error:
            raise Problem(400, error.code, str(error), param=error.param or None) from error
        self._known(asked.model)
        return asked

    async def _begin(self, request: web.Request, answer: ChatAnswer, asked: ChatRequest) -> None:
        app, draining = request.app, request.app[DRAINING]
        try:
            with draining.offer():
                call_id = await app[CALLS].begin(
                    answer.make_leg,
                    asked.session,
                    app[READINESS].start_call(),
                    request[CLIENT],
                    lambda: is_connected(request) and not draining.reason,
                    is_written=True,
                )
        except Problem as problem:
            app[CALLS].metrics.calls_refused.add(problem.code)
            if problem.code != "invalid_session":
                raise
            told, param = str(problem).replace("session.", ""), (problem.param or "").removeprefix("session.")
            raise Problem(400, "invalid_value", told, param=param or None) from problem  # of tools, by the Realtime API's rules
        answer.id = f"chatcmpl-{call_id.removeprefix('rtc_')}"

    async def _whole(self, request: web.Request, answer: ChatAnswer) -> web.Response:
        """Answer in one piece. Nobody can ask for it again, so it ends with its client."""
        try:
            async with running(answer.over(), "chat answer") as waiting:
                while not (await asyncio.wait((waiting,), timeout=LOOKED_EVERY_S))[0]:
                    if not is_connected(request):
                        raise ConnectionResetError("the client has gone")
        finally:
            answer.leg.leave()
        if answer.failure is not None:
            failed = answer.problem().response()
            failed.headers["x-should-retry"] = "false" if answer.leg.ran_tools else "true"  # OpenAI's clients heed it
            return failed
        return web.json_response(answer.whole())

    def _resumed(self, seen: str, owner: tuple[str, str], digest: bytes) -> tuple[ChatAnswer, int]:
        """The answer that the client has seen a part of, and the number of the last event that it got. Raises Problem."""
        found = _SEEN.fullmatch(seen)
        answer = None if found is None else self._kept.get(found[1])
        if found is None or answer is None or answer.owner != owner:
            told = f"There is no stream to go on with after {seen[:80]!r}: it is kept for {self._limits.seconds:.0f} s; ask anew."
            raise Problem(404, "stream_not_found", told, param="Last-Event-ID")
        if answer.body != digest:
            raise Problem(409, "other_request", "A stream goes on for the request that began it; send the same body.")
        return answer, int(found[2])

    @contextmanager
    def _reader(self, answer: ChatAnswer) -> Iterator[None]:
        """Keep the answer while somebody reads it, and for a while after that."""
        if (expiry := self._expiries.pop(answer.id, None)) is not None:
            expiry.cancel()
        self._kept[answer.id] = answer
        answer.readers += 1
        try:
            yield
        finally:
            answer.readers -= 1
            if not answer.readers:
                self._expiries[answer.id] = asyncio.get_running_loop().call_later(self._limits.seconds, self._forget, answer)
                self._bound()

    def _bound(self) -> None:
        """Forget the oldest answers that are over. The others are calls that are up, which have a limit of their own."""
        over = [answer for answer in self._kept.values() if answer.is_over and not answer.readers]
        while len(over) > self._limits.answers or sum(answer.size_bytes for answer in over) > self._limits.size_bytes:
            self._forget(over.pop(0))

    def _forget(self, answer: ChatAnswer) -> None:
        self._expiries.pop(answer.id).cancel()
        del self._kept[answer.id]
        answer.leg.leave()

    async def _stream(self, request: web.Request, answer: ChatAnswer, number: int) -> web.StreamResponse:
        stream = EventStream(request, request.app[CORS](request), prefix=f"{answer.id}:".encode())
        with self._reader(answer):
            try:
                await stream.begin()
                while events := await stream.awaited(answer.after(number)):
                    await stream.send(events)
                    number = events[-1][0]
                return await stream.end()
            except SlowReaderError:
                request.app[CALLS].reader_was_slow("chat", answer.id.replace("chatcmpl-", "rtc_"))
                return await stream.end(TOO_SLOWLY_READ.body())
            except ConnectionError:
                return stream.response


def _shown(name: str) -> JsonObject:
    return {"id": name, "object": "model", "created": 0, "owned_by": "voiceagent"}
