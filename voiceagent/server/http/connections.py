"""The open connections. Their number is limited, so that descriptors are left for calls, and each must end in time. When there is
no room, a new connection takes the place of one that keeps the server waiting. The rate of requests from one address is limited
to what a person with a browser needs."""

from __future__ import annotations

import asyncio
import resource
from collections import OrderedDict

from voiceagent.server.http.connection import ConnectionPhase, HttpConnection, Patience
from voiceagent.server.monitoring.metrics import Metrics
from voiceagent.token_bucket import TokenBucket

MAX_CONNECTIONS = 512
LOOK_S = 0.1
"""The interval at which the deadlines are checked."""
REQUESTS_PER_S, REQUESTS_AT_ONCE = 100.0, 400.0
"""Requests of one address: some twenty pages and offers at once, through a proxy too. Faster requests wait."""
MAX_WAIT_S = 1.0
"""Longest wait of a request; beyond that it is refused."""
MAX_PEERS = 1024
MAX_LET_GO = 32
"""The most connections that are closed at one check: closing hundreds at once would hold up the audio of calls."""


class Connections:
    """Counts, admits and ends connections."""

    def __init__(self, metrics: Metrics, most: int = MAX_CONNECTIONS, patience: Patience | None = None) -> None:
        """`most` is lowered to half of the process's descriptors: calls need the others."""
        self.most = max(1, min(most, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2))
        self._metrics = metrics
        self._patience = patience or Patience()
        self._by_peer: dict[str, dict[HttpConnection, None]] = {}
        """The connections of each address, in the order in which they came."""
        self._count = 0
        self._requests: OrderedDict[str, TokenBucket] = OrderedDict()

    def __len__(self) -> int:
        return self._count

    def admit(self, connection: HttpConnection) -> bool:
        """Take a new connection. When all places are taken, it takes the place of another; False when all others are at work."""
        if self._count >= self.most and not self.make_room():
            self._metrics.connections_let_go.add("full")
            return False
        self._by_peer.setdefault(connection.peer, {})[connection] = None
        self._set_count(1)
        return True

    def wait_s(self, peer: str, now_s: float) -> float | None:
        """The time that a request from an address must wait; None: it is refused."""
        bucket = self._requests.pop(peer, None) or TokenBucket(REQUESTS_PER_S, REQUESTS_AT_ONCE)
        self._requests[peer] = bucket
        while len(self._requests) > MAX_PEERS:
            self._requests.popitem(last=False)
        wait_s = max(0.0, (1.0 - bucket.left(now_s)) / REQUESTS_PER_S)
        if wait_s > MAX_WAIT_S:
            self._metrics.connections_let_go.add("too_many_requests")
            return None
        bucket.charge(1.0, now_s)
        return wait_s

    def make_room(self) -> bool:
        """Close a connection that waits for its client; False when there is none. Connections that have sent nothing of use yet
        go first, then those in the middle of an offer or of an answer. Within each kind, a connection of the address with the
        most goes first."""
        for phases in (
            (ConnectionPhase.IDLE, ConnectionPhase.HEAD, ConnectionPhase.REST),
            (ConnectionPhase.BODY, ConnectionPhase.READER),
        ):
            waiting = ([one for one in connections if one.phase in phases] for connections in self._by_peer.values())
            most = max(waiting, key=len, default=[])
            if most:
                min(most, key=lambda one: one.since_s).let_go("crowded_out")
                return True
        return False

    def forget(self, connection: HttpConnection, reason: str = "") -> None:
        """The connection has gone. May be called twice."""
        connections = self._by_peer.get(connection.peer, {})
        if connection not in connections:
            return
        del connections[connection]
        if not connections:
            del self._by_peer[connection.peer]
        self._set_count(-1)
        if reason and reason != ConnectionPhase.IDLE.value:
            self._metrics.connections_let_go.add(reason)

    async def watch(self) -> None:
        """Close overdue connections, for ever."""
        while True:
            await asyncio.sleep(LOOK_S)
            self.look(asyncio.get_running_loop().time())

    def look(self, now_s: float) -> None:
        """Close some of the overdue connections."""
        late: list[tuple[HttpConnection, str]] = []
        for connections in self._by_peer.values():
            for connection in connections:
                reason = connection.overdue(now_s, self._patience)
                if reason:
                    late.append((connection, reason))
        for connection, reason in late[:MAX_LET_GO]:
            connection.let_go(reason)

    def _set_count(self, change: int) -> None:
        self._count += change
        self._metrics.connections = self._count
