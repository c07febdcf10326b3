"""The port: sockets that listen, and the task that accepts connections from them, one in each round of the event loop. So a flood
of connections does not hold up the audio of calls, and a lack of descriptors does not hold up the server. (asyncio's own server
accepts a hundred in one go, and writes a traceback for each that fails.)"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from aiohttp import web

from voiceagent.errors import ConfigError
from voiceagent.server.http.connection import AIOHTTP_OPTIONS, HEAD_TOO_LARGE, MAX_HEAD_BYTES, HttpConnection
from voiceagent.server.http.connections import Connections
from voiceagent.server.http.problems import Problem
from voiceagent.server.http.tls import HANDSHAKE_S, SHUTDOWN_S, Certificate, Handshakes
from voiceagent.server.monitoring.metrics import Metrics
from voiceagent.task_owner import TaskOwner
from voiceagent.token_bucket import TokenBucket

log = logging.getLogger(__name__)

QUEUE = 1024
"""Connections that the system holds until they are accepted."""
NO_DESCRIPTOR = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
RETRY_S = 0.05
ACCEPTED_PER_S, ACCEPTED_AT_ONCE = 500.0, 2000.0
"""Connections beyond this rate stay in the system's queue: each takes a fifth of a millisecond from the audio of calls."""
TOO_MANY = Problem(429, "too_many_requests", "Too many requests a second from your address; wait between them.", retry_after_s=1)


class Listening:
    """Accepts connections for an aiohttp server."""

    def __init__(
        self,
        server: web.Server,
        connections: Connections,
        metrics: Metrics,
        certificate: Certificate | None = None,
        *,
        is_private: bool = False,
    ) -> None:
        """Without a certificate, connections speak HTTP without TLS. `is_private`: only a front connects, which has limited the
        requests of each address."""
        self._server = server
        self._connections = connections
        self._certificate = certificate
        self._handshakes = Handshakes(self._connect, metrics)
        self._sockets: list[socket.socket] = []
        self._tasks = TaskOwner()
        self._accepted = TokenBucket(ACCEPTED_PER_S, ACCEPTED_AT_ONCE)
        server.request_handler = _begun(server.request_handler, None if is_private else connections)

    async def open(self, host: str, port: int) -> int:
        """Listen; returns the port that was bound. Raises ConfigError for a host or port that cannot be used."""
        if not 0 <= port <= 65_535:
            raise ConfigError(f"port {port} does not exist; choose one between 0 and 65535 with --port")
        try:
            self._sockets = await _bound(host, port)
        except OSError as error:
            raise _refusal(error, host, port) from error
        for each in self._sockets:
            self._tasks.start_alone(self._accept(each), "accept")
        self._tasks.start_alone(self._connections.watch(), "connections")
        if self._certificate is not None:
            self._tasks.start_alone(self._certificate.watch(), "certificate")
        return int(self._sockets[0].getsockname()[1])

    def open_private(self, path: Path) -> None:
        """Listen on a UNIX socket, which only this user reaches. A file that is there is replaced. Raises ConfigError."""
        found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._sockets = [found]
        try:
            path.unlink(missing_ok=True)
            found.setblocking(False)
            found.bind(str(path))
            path.chmod(0o600)
            found.listen(QUEUE)
        except OSError as error:
            found.close()
            raise ConfigError(f"the server cannot listen on {path} ({error.strerror})") from error
        self._tasks.start_alone(self._accept(found), "accept")
        self._tasks.start_alone(self._connections.watch(), "connections")

    async def close(self) -> None:
        """Accept no more."""
        await self._tasks.close()
        await self._handshakes.close()
        for each in self._sockets:
            each.close()

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, address = await _accepted(listening)
                self._accepted.charge(1.0, loop.time())
                if self._certificate is None:
                    await self._take(connection)
                else:
                    self._handshakes.begin(connection, address, self._certificate.context)
                await asyncio.sleep(max(0.0, -self._accepted.left(loop.time()) / ACCEPTED_PER_S))
            except OSError as error:
                if error.errno not in NO_DESCRIPTOR:
                    continue  # the client has gone
                log.error("no connection can be accepted (%s); raise the limit of open files (ulimit -n)", error.strerror)
                self._connections.make_room()
                await asyncio.sleep(RETRY_S)
            except Exception:
                log.exception("a connection could not be taken")
                await asyncio.sleep(RETRY_S)

    async def _take(self, connection: socket.socket) -> None:
        try:
            await asyncio.get_running_loop().connect_accepted_socket(self._connection, connection)
        except BaseException:
            connection.close()
            raise

    async def _connect(self, connection: socket.socket, context: ssl.SSLContext) -> None:
        """Take a connection once its handshake is done."""
        await asyncio.get_running_loop().connect_accepted_socket(
            self._connection,
            connection,
            ssl=context,
            ssl_handshake_timeout=HANDSHAKE_S,
            ssl_shutdown_timeout=SHUTDOWN_S,
        )

    def _connection(self) -> HttpConnection:
        return HttpConnection(self._server, self._connections, asyncio.get_running_loop(), access_log=None, **AIOHTTP_OPTIONS)


def _begun(
    handle: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]], connections: Connections | None
) -> Callable[..., Awaitable[web.StreamResponse]]:
    """The handler of all requests. It informs the connection that a request has come, and delays clients that ask too fast, which
    `connections` tells."""

    async def begin(request: web.BaseRequest) -> web.StreamResponse:
        if isinstance(request.protocol, HttpConnection):
            request.protocol.request_begins(request.content)
            now_s, peer = asyncio.get_running_loop().time(), request.protocol.peer
            wait_s = connections.wait_s(peer, now_s) if connections is not None else 0.0
            if wait_s is None:
                return _last(TOO_MANY)
            if wait_s > 0:
                await asyncio.sleep(wait_s)
        if sum(len(name) + len(value) for name, value in request.raw_headers) > MAX_HEAD_BYTES:
            return _last(HEAD_TOO_LARGE)
        return await handle(request)

    return begin


def _last(problem: Problem) -> web.Response:
    """An answer after which the connection is closed."""
    response = problem.response()
    response.force_close()
    return response


async def _bound(host: str, port: int) -> list[socket.socket]:
    """A listening socket for each address of a host."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    sockets: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in dict.fromkeys(found):
            try:
                each = socket.socket(family, kind, protocol)
            except OSError:  # the system knows no IPv6
                continue
            sockets.append(each)
            each.setblocking(False)
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                each.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            each.bind(address)
            each.listen(QUEUE)
    except BaseException:
        for each in sockets:
            each.close()
        raise
    return sockets


def _refusal(error: OSError, host: str, port: int) -> ConfigError:
    if error.errno == errno.EADDRINUSE:
        return ConfigError(f"port {port} on {host} is in use; stop what uses it, or choose another with --port")
    if error.errno == errno.EACCES:
        return ConfigError(f"port {port} on {host} needs more rights; choose one above 1023 with --port")
    return ConfigError(f"the server cannot listen on {host} port {port} ({error.strerror}); check --host and --port")


async def _accepted(listening: socket.socket) -> tuple[socket.socket, object]:
    """The next connection. Unlike `loop.sock_accept`, it takes none while it is cancelled, and so loses none. Raises OSError."""
    loop = asyncio.get_running_loop()
    while True:
        with suppress(BlockingIOError, InterruptedError):
            connection, address = listening.accept()
            connection.setblocking(False)
            return connection, address
        readable = asyncio.Event()
        loop.add_reader(listening, readable.set)
        try:
            await readable.wait()
        finally:
            loop.remove_reader(listening)
