"""A session at Janus over its WebSocket API (https://janus.conf.meetecho.com/docs/rest.html): handles of the SIP plugin, requests
and their answers, keepalives, and the time limits of a SIP line. A handle's events go to whoever opened the handle."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType

import aiohttp

from voiceagent.errors import VoiceAgentError
from voiceagent.json_types import JsonObject
from voiceagent.task_owner import TaskOwner
from voiceagent.telephone.sip.janus_messages import PLUGIN, PROTOCOL, Event, Ignored, Request, read
from voiceagent.untrusted_json import read_loose_json


@dataclass(frozen=True, slots=True)
class SipPatience:
    """The limits of one line, in seconds."""

    connect_s: float = 5.0
    """Longest wait for a connection to Janus."""
    answer_s: float = 5.0
    """Longest wait for an answer of Janus, which acknowledges at once. The result of a longer task comes as an event."""
    keepalive_s: float = 10.0
    """Janus drops a session that has sent nothing for 60 s. A Janus that does not answer is noticed after this time and
    `answer_s`."""
    silence_s: float = 20.0
    """The time without a packet after which the other side has vanished, if nobody holds the call. Telephones send silence,
    too."""
    accept_s: float = 15.0
    """Longest wait, after a colleague has heard the summary, for the key that takes the call."""


SIP_PATIENCE = SipPatience()


CLOSE_TIMEOUT_S = 2.0
"""A stalled Janus does not answer the close of a connection either."""
MAX_MESSAGE_BYTES = 262_144
_FORBIDDEN = 403

OnEvent = Callable[[Event], None]
"""Called with each event of a handle. It must not raise."""


class GatewayError(VoiceAgentError):
    """Janus cannot be reached, or refuses a request."""


async def probe(url: str, secret: str) -> None:
    """Check that Janus answers, accepts our secret and has its SIP plugin. Raises GatewayError."""
    async with JanusClient(url, secret) as client:
        await client.attach(lambda event: None)


class JanusHandle:
    """One handle of the SIP plugin: one call at a time."""

    def __init__(self, client: JanusClient, handle_id: int) -> None:
        self.handle_id = handle_id
        self._client = client

    async def send(self, request: Request) -> None:
        """Send a request. Raises GatewayError if Janus does not accept it. Its outcome comes as an event."""
        await self._client.ask({**request.fields, "handle_id": self.handle_id})


class JanusClient:
    """One session. `async with` it; `lost` ends when it has."""

    def __init__(self, url: str, secret: str = "", patience: SipPatience = SIP_PATIENCE) -> None:
        self._url = url
        self._patience = patience
        self._secret = secret
        self._http: aiohttp.ClientSession | None = None
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._session_id = 0
        self._waiting: dict[str, asyncio.Future[JsonObject]] = {}
        self._handles: dict[int, OnEvent] = {}
        self._tasks = TaskOwner()
        self._lost: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def __aenter__(self) -> JanusClient:
        """Connect, and begin a session. Raises GatewayError."""
        self._http = aiohttp.ClientSession()
        try:
            async with asyncio.timeout(self._patience.connect_s):
                self._socket = await self._http.ws_connect(
                    self._url,
                    protocols=(PROTOCOL,),
                    max_msg_size=MAX_MESSAGE_BYTES,
                    timeout=aiohttp.ClientWSTimeout(ws_close=CLOSE_TIMEOUT_S),
                )
            self._tasks.start_alone(self._listen(self._socket), "janus")
            created = await self.ask({"janus": "create"})
            self._session_id = self._id_in(created)
            self._tasks.start_alone(self._keep_alive(), "janus keepalive")
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            await self._close()
            raise self._silent(error) from error
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with suppress(GatewayError):
            if not self._lost.done():
                await self.ask({"janus": "destroy"})
        await self._close()

    async def attach(self, on_event: OnEvent) -> JanusHandle:
        """A new handle of the SIP plugin. Raises GatewayError."""
        attached = await self.ask({"janus": "attach", "plugin": PLUGIN})
        handle = JanusHandle(self, self._id_in(attached))
        self._handles[handle.handle_id] = on_event
        return handle

    async def lost(self) -> str:
        """Wait for the end of the session. Returns why it ended."""
        return await asyncio.shield(self._lost)

    async def ask(self, fields: JsonObject) -> JsonObject:
        """Send a request of the API and wait for its answer. Raises GatewayError."""
        transaction = secrets.token_hex(8)
        request = {**fields, "transaction": transaction}
        if self._secret:
            request["apisecret"] = self._secret
        if self._session_id:
            request["session_id"] = self._session_id
        answer: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
        self._waiting[transaction] = answer
        try:
            async with asyncio.timeout(self._patience.answer_s):
                if self._socket is None or self._lost.done():
                    raise ConnectionResetError("the connection is closed")
                await self._socket.send_str(json.dumps(request))
                told = await answer
        except (ConnectionError, TimeoutError) as error:
            raise self._silent(error) from error
        finally:
            self._waiting.pop(transaction, None)
        if told.get("janus") == "error":
            raise self._refused(told)
        return told

    def _id_in(self, told: JsonObject) -> int:
        data = told.get("data")
        found = data.get("id") if isinstance(data, dict) else None
        if type(found) is not int:
            raise GatewayError(f"{self._url}: Janus answered without an id; telephony.sip.gateway may be another server")
        return found

    def _silent(self, error: Exception) -> GatewayError:
        detail = str(error) or "no answer"
        return GatewayError(f"{self._url}: Janus does not answer ({detail}); start it, or set telephony.sip.gateway")

    def _refused(self, told: JsonObject) -> GatewayError:
        error = told.get("error")
        code, reason = (error.get("code"), error.get("reason")) if isinstance(error, dict) else (0, "")
        if code == _FORBIDDEN:
            return GatewayError(
                f"{self._url}: Janus refuses our secret; set the variable that telephony.sip.gateway_secret_env names to Janus' "
                "api_secret"
            )
        return GatewayError(f"{self._url}: Janus refused a request ({code} {reason})")

    async def _listen(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        async for message in socket:
            if message.type is aiohttp.WSMsgType.TEXT:
                try:
                    told = read_loose_json(message.data)
                except ValueError:
                    continue
                if isinstance(told, dict):
                    self._take(told)
        self._end(f"{self._url}: the connection to Janus was closed")

    def _take(self, told: JsonObject) -> None:
        kind, transaction, sender = told.get("janus"), told.get("transaction"), told.get("sender")
        waiting = self._waiting.get(transaction) if isinstance(transaction, str) else None
        if waiting is not None and kind in ("ack", "success", "error"):
            if not waiting.done():
                waiting.set_result(told)
            return
        if kind == "timeout":
            self._end(f"{self._url}: Janus has given the session up")
            return
        on_event = self._handles.get(sender) if isinstance(sender, int) else None
        event = read(told)
        if on_event is not None and not isinstance(event, Ignored):
            on_event(event)

    async def _keep_alive(self) -> None:
        while True:
            await asyncio.sleep(self._patience.keepalive_s)
            try:
                await self.ask({"janus": "keepalive"})
            except GatewayError as error:
                self._end(str(error))
                return

    def _end(self, reason: str) -> None:
        if not self._lost.done():
            self._lost.set_result(reason)
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ConnectionResetError(reason))

    async def _close(self) -> None:
        self._end("closed")
        await self._tasks.close()
        if self._socket is not None:
            await self._socket.close()
        if self._http is not None:
            await self._http.close()
