"""Vendors of telephone calls, as their documents say that they behave: each signs and sends its webhook, streams 20 ms of audio
at a time, keeps what it is sent and plays it by the clock, and tells what it has played. Nothing of ours is used but the codes'
tables."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import itertools
import json
import re
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import aiohttp
import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from voiceagent.audio import g711

PUBLIC_URL = "https://voice.example.org"
"""As the vendors know the server."""
FRAME_S = 0.02
CALLER, CALLED = "+15550100", "+15550199"
_NUMBERS = itertools.count(1)
"""Of calls and nonces: each has its own."""
_TELNYX_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
SECRETS = {
    "twilio": "twilio-auth-token",
    "signalwire": "PSK_signing_key",
    "telnyx": base64.b64encode(_TELNYX_KEY.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).decode(),
    "plivo": "plivo-auth-token",
    "exotel": "user:password-of-the-line",
    "vonage": "vonage-signature-secret",
    "jambonz": "wh_secret",
}
VARIABLES = {
    "twilio": "VOICEAGENT_TWILIO_TOKEN",
    "signalwire": "VOICEAGENT_SIGNALWIRE_KEY",
    "telnyx": "VOICEAGENT_TELNYX_PUBLIC_KEY",
    "plivo": "VOICEAGENT_PLIVO_TOKEN",
    "exotel": "VOICEAGENT_EXOTEL_PASSWORD",
    "vonage": "VOICEAGENT_VONAGE_SECRET",
    "jambonz": "VOICEAGENT_JAMBONZ_SECRET",
}


def environment() -> dict[str, str]:
    """What the server is given."""
    return {VARIABLES[name]: secret for name, secret in SECRETS.items()}


@dataclass(frozen=True)
class Request:
    """A webhook."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""


def _form(vendor: str, path: str, fields: dict[str, str]) -> Request:
    body = urlencode(fields).encode()
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    url, secret = PUBLIC_URL + path, SECRETS[vendor]
    if vendor == "telnyx":
        now = str(int(time.time()))
        signature = base64.b64encode(_TELNYX_KEY.sign(f"{now}|".encode() + body)).decode()
        return Request("POST", path, {**kind, "Telnyx-Timestamp": now, "Telnyx-Signature-Ed25519": signature}, body)
    nonce = f"nonce-{next(_NUMBERS)}"
    joined = "".join(name + fields[name] for name in sorted(fields))
    if vendor == "plivo":
        query = "&".join(sorted(path.partition("?")[2].split("&")))
        signed = PUBLIC_URL + path.partition("?")[0] + f"?{query}" + ("." if query else "") + joined + f".{nonce}"
        digest = base64.b64encode(hmac.new(secret.encode(), signed.encode(), "sha256").digest()).decode()
        return Request("POST", path, {**kind, "X-Plivo-Signature-V3": digest, "X-Plivo-Signature-V3-Nonce": nonce}, body)
    digest = base64.b64encode(hmac.new(secret.encode(), (url + joined).encode(), "sha1").digest()).decode()
    header = "X-Twilio-Signature" if vendor == "twilio" else "X-SignalWire-Signature"
    return Request("POST", path, {**kind, header: digest}, body)


def _part(data: Any) -> str:
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def webhook(vendor: str, query: str = "", direction: str = "inbound", call_id: str = "", caller: str = CALLER) -> Request:
    """The signed request that tells of a call: a new one, unless `call_id` says which."""
    call_id = call_id or f"c-{vendor}-{next(_NUMBERS)}"
    path = f"/telephony/{vendor}" + (f"?{query}" if query else "")
    secret = SECRETS[vendor]
    if vendor == "exotel":
        query = urlencode({"CallSid": call_id, "CallFrom": caller, "CallTo": CALLED, "Direction": direction})
        credentials = base64.b64encode(secret.encode()).decode()
        return Request("GET", f"/telephony/exotel?{query}", {"Authorization": f"Basic {credentials}"})
    if vendor == "vonage":
        body = json.dumps({"from": caller, "to": CALLED, "uuid": call_id}).encode()
        return Request("POST", path, {**_vonages_token(body), "Content-Type": "application/json"}, body)
    if vendor == "jambonz":
        return _jambonz(path, {"from": caller, "to": CALLED, "call_sid": call_id, "direction": direction})
    name = "CallUUID" if vendor == "plivo" else "CallSid"
    fields = {name: call_id, "From": caller, "To": CALLED, "CallStatus": "ringing", "Direction": direction}
    return _form(vendor, path, fields)


def after_stream(vendor: str, path: str, **outcome: str) -> Request:
    """The signed request that asks what follows a stream, or tells how dialling went."""
    if vendor == "jambonz":
        return _jambonz(path, {"call_sid": "c-jambonz", **outcome})
    return _form(vendor, path, {"CallUUID" if vendor == "plivo" else "CallSid": f"c-{vendor}", **outcome})


def _jambonz(path: str, said: Mapping[str, str]) -> Request:
    body = json.dumps(said).encode()
    now = int(time.time())
    digest = hmac.new(SECRETS["jambonz"].encode(), f"{now}.".encode() + body, "sha256").hexdigest()
    return Request("POST", path, {"Jambonz-Signature": f"t={now},v1={digest}", "Content-Type": "application/json"}, body)


def status(vendor: str, told: str, call_id: str, direction: str = "outbound-api") -> Request:
    """The signed request in which a vendor tells how a call goes, by its own word."""
    path, who = f"/telephony/{vendor}/status", {"From": CALLER, "To": CALLED}
    if vendor == "exotel":
        credentials = base64.b64encode(SECRETS[vendor].encode()).decode()
        kind = {"Content-Type": "application/x-www-form-urlencoded", "Authorization": f"Basic {credentials}"}
        return Request("POST", path, kind, urlencode({"CallSid": call_id, "Status": told, **who}).encode())
    if vendor == "vonage":
        body = json.dumps({"from": CALLER, "to": CALLED, "uuid": call_id, "status": told, "direction": direction}).encode()
        return Request("POST", path, {**_vonages_token(body), "Content-Type": "application/json"}, body)
    if vendor == "jambonz":
        return _jambonz(path, {"from": CALLER, "to": CALLED, "call_sid": call_id, "call_status": told, "direction": direction})
    name = "CallUUID" if vendor == "plivo" else "CallSid"
    return _form(vendor, path, {name: call_id, "CallStatus": told, "Direction": direction, **who})


def after_path(answer: str) -> str:
    """Where a vendor asks what follows, by an answer's own words for it."""
    document = re.search(r'(?:action=|actionHook": |<Redirect>)"?(https://voice\.example\.org[^"<]+)', answer)
    assert document, answer
    return document[1].removeprefix(PUBLIC_URL)


def vonage_get(call_id: str, direction: str = "") -> Request:
    """Vonage's webhook in its default method: the call is told in the query, which is hashed as a JSON object."""
    query = {"direction": direction} if direction else {}
    query |= {"from": CALLER, "to": CALLED, "uuid": call_id}
    payload = json.dumps(query, separators=(",", ":")).encode()
    return Request("GET", f"/telephony/vonage?{urlencode(query)}", _vonages_token(payload))


def _vonages_token(payload: bytes) -> dict[str, str]:
    claims = {"iss": "Vonage", "iat": int(time.time()), "payload_hash": hashlib.sha256(payload).hexdigest()}
    signed = f"{_part({'alg': 'HS256', 'typ': 'JWT'})}.{_part(claims)}"
    digest = hmac.new(SECRETS["vonage"].encode(), signed.encode(), "sha256").digest()
    return {"Authorization": f"Bearer {signed}.{_part(digest)}"}


async def ask(session: aiohttp.ClientSession, server_url: str, request: Request) -> tuple[int, str]:
    """Send a webhook; status and body of the answer."""
    # Encoded as it is: what was signed is what goes out.
    from yarl import URL

    url = URL(server_url + request.path, encoded=True)
    async with session.request(request.method, url, data=request.body or None, headers=request.headers) as response:
        return response.status, await response.text()


def stream_path(answer: str) -> str:
    """Where a webhook's answer has the audio streamed to."""
    found = re.search(r"wss://voice\.example\.org(/[^\"'<]+)", answer)
    assert found, answer
    return found[1]


@dataclass
class _Queued:
    """What the vendor has been sent and not played."""

    pcm: np.ndarray | None
    mark: str = ""


class CallersSide:
    """What a vendor's peer speaks and hears: `say` speaks, `heard` is what was played to the caller."""

    patience_s: float
    heard: list[tuple[float, np.ndarray]]
    """When a piece of 20 ms was played, in seconds of the loop, and its samples at the call's rate."""
    _queue: deque[Any]
    _microphone: deque[np.ndarray]
    _changed: asyncio.Event

    @property
    def rate_hz(self) -> int:
        raise NotImplementedError

    def say(self, pcm: np.ndarray) -> None:
        """Speak, at the call's rate."""
        size = self.rate_hz // 50
        self._microphone.extend(np.pad(pcm, (0, -len(pcm) % size)).reshape(-1, size))

    async def wait(self, condition: Callable[[], bool]) -> None:
        """Until something has come of which `condition` is true."""
        async with asyncio.timeout(self.patience_s):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    def heard_pcm(self, since: float = 0.0) -> np.ndarray:
        """What was played from then on, without the pauses between."""
        return np.concatenate([np.zeros(0, np.int16), *(pcm for at, pcm in self.heard if at >= since)])

    def is_quiet(self, seconds: float) -> bool:
        """Whether the caller has heard nothing for so long."""
        return not self._queue and bool(self.heard) and asyncio.get_running_loop().time() - self.heard[-1][0] >= seconds


@dataclass
class Peer(CallersSide):
    """One call. `async with` it."""

    session: aiohttp.ClientSession
    server_url: str
    vendor: str
    parameters: dict[str, str] = field(default_factory=dict)
    query: str = ""
    direction: str = "inbound"
    shuffled: bool = False
    """Whether pieces overtake each other."""
    acknowledges: bool = True
    patience_s: float = 6.0
    heard: list[tuple[float, np.ndarray]] = field(default_factory=list)
    marks_played: list[str] = field(default_factory=list)
    marks_cleared: list[str] = field(default_factory=list)
    clears: list[float] = field(default_factory=list)
    chunk_sizes: set[int] = field(default_factory=set)
    keys: list[str] = field(default_factory=list)
    """That were pressed to the caller."""
    formats: set[str] = field(default_factory=set)
    spoken_until: float = 0.0
    _queue: deque[_Queued] = field(default_factory=deque)
    _microphone: deque[np.ndarray] = field(default_factory=deque)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _sequence: int = 0
    _chunk: int = 0
    close_code: int | None = None
    answer: str = ""
    """To the webhook. Where it is there before, the call is begun with it."""

    @property
    def rate_hz(self) -> int:
        return 16_000 if self.vendor in ("vonage", "jambonz") else 8_000

    @property
    def is_speaking(self) -> bool:
        """Whether something is still to be said."""
        return bool(self._microphone)

    @property
    def frames_sent(self) -> int:
        """Of 20 ms, since the call began."""
        return self._chunk

    @property
    def is_l16(self) -> bool:
        return self.vendor in ("vonage", "jambonz", "exotel")

    async def __aenter__(self) -> Peer:
        if not self.answer:
            status, self.answer = await ask(self.session, self.server_url, webhook(self.vendor, self.query, self.direction))
            assert status == 200, self.answer
        url = self.server_url.replace("http", "ws", 1) + stream_path(self.answer)
        protocols = ("audio.jambonz.org",) if self.vendor == "jambonz" else ()
        self.socket = await self.session.ws_connect(url, protocols=protocols, max_msg_size=1 << 20)
        for message in self._start():
            await self.socket.send_str(json.dumps(message))
        self._tasks = [asyncio.create_task(job()) for job in (self._listen, self._speak, self._play)]
        return self

    async def __aexit__(self, *_: object) -> None:
        if not self.socket.closed and self.vendor in ("twilio", "signalwire", "telnyx", "exotel"):
            await self.socket.send_str(json.dumps({"event": "stop", self._names["stream"]: "MZ1"}))
        await self.socket.close()
        for task in self._tasks:
            task.cancel()
        ended = await asyncio.gather(*self._tasks, return_exceptions=True)
        for error in ended:
            if isinstance(error, Exception) and not isinstance(error, ConnectionError):
                raise error

    @property
    def _names(self) -> dict[str, str]:
        if self.vendor in ("telnyx", "exotel"):
            call = "call_control_id" if self.vendor == "telnyx" else "call_sid"
            return {"stream": "stream_id" if self.vendor == "telnyx" else "stream_sid", "call": call}
        if self.vendor == "plivo":
            return {"stream": "streamId", "call": "callId"}
        return {"stream": "streamSid", "call": "callSid"}

    def _start(self) -> list[dict[str, Any]]:
        if self.vendor == "vonage":
            return [{"event": "websocket:connected", "content-type": "audio/l16;rate=16000", **self.parameters}]
        if self.vendor == "jambonz":
            call = {"callSid": "c-jambonz", "from": CALLER, "to": CALLED}
            return [{**call, "sampleRate": 16_000, "mixType": "mono", "metadata": self.parameters}]
        names = self._names
        start: dict[str, Any] = {names["stream"]: "MZ1", names["call"]: f"c-{self.vendor}", "tracks": ["inbound"]}
        if self.vendor in ("telnyx", "exotel"):
            encoding = "PCMU" if self.vendor == "telnyx" else "audio/x-raw"
            start["media_format"] = {"encoding": encoding, "sample_rate": "8000", "channels": 1}
            start["custom_parameters"] = self.parameters
            start |= {"from": CALLER, "to": CALLED}
        else:
            start["mediaFormat"] = {"encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1}
            start["customParameters"] = self.parameters
        message = {"event": "start", "sequenceNumber": "1", names["stream"]: "MZ1", "start": start}
        if self.vendor == "plivo":
            del start["customParameters"], message["streamId"]
            message["extra_headers"] = ";".join(f"{name}={value}" for name, value in self.parameters.items())
            return [message]
        return [{"event": "connected", "protocol": "Call", "version": "1.0.0"}, message]

    async def press(self, keys: str) -> None:
        """Keys of the telephone."""
        for key in keys:
            if self.vendor == "vonage":
                await self.socket.send_str(json.dumps({"event": "websocket:dtmf", "digit": key, "duration": 260}))
            elif self.vendor == "jambonz":
                await self.socket.send_str(json.dumps({"event": "dtmf", "dtmf": key, "duration": "1600"}))
            else:
                message = {"event": "dtmf", self._names["stream"]: "MZ1", "dtmf": {"digit": key, "track": "inbound_track"}}
                await self.socket.send_str(json.dumps(message))

    async def _speak(self) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time()
        held: list[str | bytes] = []
        silence = np.zeros(self.rate_hz // 50, np.int16)
        while True:
            pcm = self._microphone.popleft() if self._microphone else silence
            if pcm is not silence:
                self.spoken_until = loop.time()
            held.append(self._media(pcm))
            if not self.shuffled or len(held) == 3:
                for message in reversed(held):
                    await self._send(message)
                held.clear()
            self._changed.set()
            due += FRAME_S
            await asyncio.sleep(max(0.0, due - loop.time()))

    async def _send(self, message: str | bytes) -> None:
        if isinstance(message, bytes):
            await self.socket.send_bytes(message)
        else:
            await self.socket.send_str(message)

    def _media(self, pcm: np.ndarray) -> str | bytes:
        self._chunk += 1
        self._sequence += 1
        if self.vendor in ("vonage", "jambonz"):
            return pcm.astype("<i2").tobytes()
        raw = pcm.astype("<i2").tobytes() if self.is_l16 else g711.encode(pcm)
        media = {"track": "inbound", "chunk": str(self._chunk), "payload": base64.b64encode(raw).decode()}
        numbered = "sequence_number" if self.vendor in ("telnyx", "exotel") else "sequenceNumber"
        return json.dumps({"event": "media", numbered: str(self._sequence + 2), self._names["stream"]: "MZ1", "media": media})

    async def _listen(self) -> None:
        async for message in self.socket:
            if message.type is aiohttp.WSMsgType.BINARY:
                self._queue_audio(message.data)
            elif message.type is aiohttp.WSMsgType.TEXT:
                self._take(json.loads(message.data))
            self._changed.set()
        self.close_code = self.socket.close_code
        self._changed.set()

    def _take(self, data: dict[str, Any]) -> None:
        kind = data.get("event") or data.get("action") or data.get("type")
        names = self._names
        if self.vendor not in ("vonage", "jambonz", "telnyx"):
            assert data[names["stream"]] == "MZ1", data
        if kind in ("media", "playAudio"):
            assert (kind == "playAudio") == (self.vendor == "plivo")
            if self.vendor == "plivo":
                assert data["media"]["contentType"] == "audio/x-mulaw"
                assert data["media"]["sampleRate"] == 8000
            self._queue_audio(base64.b64decode(data["media"]["payload"]))
        elif kind in ("mark", "checkpoint", "notify"):
            inner = data if kind == "checkpoint" else data.get("mark") or data.get("payload") or data["data"]
            self._queue.append(_Queued(None, inner["name"]))
        elif kind == "sendDTMF":
            self.keys.append(data["dtmf"])
        elif kind in ("clear", "clearAudio", "killAudio"):
            self._clear()
        else:
            assert kind == "clearMarks", data

    def _queue_audio(self, raw: bytes) -> None:
        self.chunk_sizes.add(len(raw))
        pcm = np.frombuffer(raw, "<i2") if self.is_l16 else g711.decode(raw)
        size = self.rate_hz // 50
        assert len(pcm) % size == 0, "a partial frame"
        self._queue.extend(_Queued(frame) for frame in pcm.reshape(-1, size))

    def _clear(self) -> None:
        """Twilio and Telnyx send back the marks of what was dropped, too."""
        self.clears.append(asyncio.get_running_loop().time())
        marks = [queued.mark for queued in self._queue if queued.mark]
        self._queue.clear()
        self.marks_cleared += marks
        if self.vendor in ("twilio", "signalwire", "telnyx") and self.acknowledges:
            self._tasks.append(asyncio.create_task(self._tell_all(marks)))

    async def _tell_all(self, marks: list[str]) -> None:
        for mark in marks:
            await self._tell(mark)

    async def _tell(self, mark: str) -> None:
        if not self.acknowledges:
            return
        message: dict[str, Any] = {"event": "mark", self._names["stream"]: "MZ1", "mark": {"name": mark}}
        if self.vendor == "plivo":
            message = {"event": "playedStream", "streamId": "MZ1", "name": mark}
        elif self.vendor == "vonage":
            message = {"event": "websocket:notify", "payload": {"name": mark}}
        elif self.vendor == "jambonz":
            message = {"type": "mark", "data": {"name": mark, "event": "playout"}}
        await self.socket.send_str(json.dumps(message))

    async def _play(self) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            while self._queue and self._queue[0].pcm is None:
                mark = self._queue.popleft().mark
                self.marks_played.append(mark)
                await self._tell(mark)
            if self._queue:
                pcm = self._queue.popleft().pcm
                assert pcm is not None
                self.heard.append((loop.time(), pcm))
                self._changed.set()
            due += FRAME_S
            await asyncio.sleep(max(0.0, due - loop.time()))
