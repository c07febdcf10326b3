"""What is fuzzed of the server beside calls: the bytes that come to its HTTP port, and the events of a client."""

from __future__ import annotations

import asyncio
import re
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import psutil
from hypothesis import strategies as st

from tests.fuzz.mutation import changed_bytes, changed_json
from tests.fuzz.target import Finding, Target, corpus, words
from tests.server_process import ServerProcess, running_server
from voiceagent.realtime.session import RealtimeSession
from voiceagent.tools.call_tools import CallTools
from voiceagent.tools.toolset import ToolSet

HTTP_WORDS = (
    *(b"\r\n", b"\r\n\r\n", b"\x00", b"\xff", b" ", b":", b" HTTP/1.1", b"--x\r\n", b"--x--\r\n", b"..%2f..%2f", b"%00", b"/../"),
    *(b"GET ", b"POST ", b"DELETE ", b"OPTIONS ", b"PRI * HTTP/2.0", b"5\r\nhello\r\n", b"0\r\n\r\n", b"fffffffff\r\n"),
    *(b"Content-Length: 0\r\n", b"Content-Length: -1\r\n", b"Content-Length: 99999999999\r\n", b"Host: x\r\n"),
    *(b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: gzip, chunked\r\n", b"Content-Encoding: gzip\r\n"),
    *(b"Expect: 100-continue\r\n", b"Upgrade: websocket\r\n", b"Connection: upgrade\r\n", b"Connection: keep-alive\r\n"),
    *(b"Range: bytes=0-0,1-1,-1\r\n", b"Cookie: a=b; c\r\n", b"Authorization: Bearer x\r\n", b"Authorization: Basic \xff\r\n"),
    *(b"Content-Type: multipart/form-data\r\n", b"Content-Type: application/json; charset=utf-7\r\n"),
)
MAX_GROWTH_BYTES = 32 * 1_048_576
"""What the server may have grown by at the end, when no call is up any more."""
CALLS_END_S = 40.0
"""By then calls that nobody connects to are over."""
QUIET_S = 0.02
"""After this long without a byte a client takes the answer for whole."""
ANSWER_S = 3.0
"""How long a client that has said all waits for the answer."""
METRICS = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
ALIVE = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


class Http(Target):
    """Bytes to the HTTP port of a real server: each connection ends, no request is answered with 500, and the server's log has
    no traceback."""

    name, examples, max_cpu_s = "http", 600, 1.0

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._server: ServerProcess
        self._process: psutil.Process
        self._before_bytes = 0
        self._log_bytes = 0

    def inputs(self) -> st.SearchStrategy[bytes]:
        return changed_bytes(corpus("http"), HTTP_WORDS)

    async def open(self) -> None:
        folder = Path(self._stack.enter_context(TemporaryDirectory()))
        self._server = self._stack.enter_context(running_server(folder))
        self._process = psutil.Process(self._server.process.pid)
        for data in corpus("http"):
            await self._exchange(data)
        self._before_bytes = self._process.memory_info().rss

    async def close(self) -> None:
        try:
            async with asyncio.timeout(CALLS_END_S):
                while not await self._is_idle():  # noqa: ASYNC110  it can only be asked
                    await asyncio.sleep(0.5)
            more_bytes = self._process.memory_info().rss - self._before_bytes
        finally:
            self._stack.close()
        if more_bytes > MAX_GROWTH_BYTES:
            raise Finding(f"the server has grown by {more_bytes} bytes")

    async def _is_idle(self) -> bool:
        """Whether no call is up: an offer that could be answered made one, which is waited for in vain."""
        return b"\nvoiceagent_calls_active 0.0\n" in await self._exchange(METRICS, ANSWER_S)

    async def feed(self, data: bytes) -> None:
        answer = await self._exchange(data)
        if answer and not re.match(rb"HTTP/\d\.\d \d{3}", answer):
            raise Finding(f"the answer is {answer[:80]!r}")
        if re.search(rb"^HTTP/\d\.\d 500 ", answer, re.MULTILINE):
            raise Finding(f"the answer is {answer[:300]!r}")
        if not (await self._exchange(ALIVE, ANSWER_S)).startswith(b"HTTP/1.1 200 "):
            raise Finding("the server does not say that it lives")
        with (self._server.data / "server.log").open() as log:
            log.seek(self._log_bytes)
            said = log.read()
            self._log_bytes = log.tell()
        if "Traceback" in said:
            raise Finding(said[-3000:])

    async def _exchange(self, data: bytes, quiet_s: float = QUIET_S) -> bytes:
        """All that is answered to a client that sends `data`, and says that it will send no more once it has heard nothing for
        `quiet_s`."""
        address = urlsplit(self._server.url)
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        heard = b""
        try:
            writer.write(data)
            with suppress(TimeoutError):
                while piece := await asyncio.wait_for(reader.read(65_536), quiet_s):
                    heard += piece
            writer.write_eof()
            async with asyncio.timeout(ANSWER_S):
                return heard + await reader.read()
        except TimeoutError as error:
            raise Finding(f"a client that had said all was kept for {ANSWER_S:g} s") from error
        except OSError:  # the server has closed
            return heard
        finally:
            writer.close()


class ClientEvents(Target):
    """The events of a client, with the call's real session and tools."""

    name, examples = "events", 3000
    calls = 8
    """Sessions are used for a while, then left: what one event did is there for those after it."""

    def __init__(self) -> None:
        self._session = self._fresh()
        self._taken = 0

    @staticmethod
    def _fresh() -> RealtimeSession:
        tools = CallTools(ToolSet())
        return RealtimeSession("rtc_1", tools=tools.offered, offer_tools=tools.offer)

    def inputs(self) -> st.SearchStrategy[bytes]:
        return changed_json(corpus("events"), words("events"))

    async def feed(self, data: bytes) -> None:
        self._taken += 1
        if self._taken % self.calls == 0:
            self._session = self._fresh()
        for session in (self._session, self._fresh()):
            outcome = session.on_client(data.decode("utf-8", "replace"), float(self._taken))
            answered = sum(len(str(reply)) for reply in outcome.replies)
            if answered > 3 * 65_536 + 20 * len(data):
                raise Finding(f"{len(data)} bytes were answered with {answered}")
