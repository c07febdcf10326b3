"""The connections that are open: at most so many, so that descriptors are left for calls, and none for longer than its client
deserves. Where there is no room, who comes takes the place of whoever has waited longest of those that have most."""

from __future__ import annotations

import asyncio
import resource

from voiceagent.server.connection import HttpConnection, Patience, Phase
from voiceagent.server.metrics import Metrics

MAX_CONNECTIONS = 512
LOOK_S = 0.1
"""How often the deadlines are looked at."""
MAX_LET_GO = 32
"""So many are let go at one look: closing hundreds at once would hold up the audio of calls."""


class Connections:
    """Counts, admits and ends connections."""

    def __init__(self, metrics: Metrics, most: int = MAX_CONNECTIONS, patience: Patience | None = None) -> None:
        """`most` is lowered to half of the descriptors that the process may have: calls need the others."""
        self.most = max(1, min(most, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2))
        self._metrics = metrics
        self._patience = patience or Patience()
        self._by_peer: dict[str, dict[HttpConnection, None]] = {}
        """In the order of their coming."""
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def admit(self, connection: HttpConnection) -> bool:
        """Take a new connection, in the place of another where all are taken; False when all others are at work."""
        if self._count >= self.most and not self.make_room():
            self._metrics.connection_let_go("full")
            return False
        self._by_peer.setdefault(connection.peer, {})[connection] = None
        self._set_count(1)
        return True

    def make_room(self) -> bool:
        """Let go of one that waits for its client, of the address that has most connections; False when there is none."""
        for connections in sorted(self._by_peer.values(), key=len, reverse=True):
            for connection in connections:
                if connection.phase is not Phase.HANDLER:
                    connection.let_go("crowded_out")
                    return True
        return False

    def forget(self, connection: HttpConnection, reason: str = "") -> None:
        """It has gone. May be called twice."""
        connections = self._by_peer.get(connection.peer, {})
        if connection not in connections:
            return
        del connections[connection]
        if not connections:
            del self._by_peer[connection.peer]
        self._set_count(-1)
        if reason and reason != Phase.IDLE.value:
            self._metrics.connection_let_go(reason)

    async def watch(self) -> None:
        """Let go of those that are overdue, for ever."""
        while True:
            await asyncio.sleep(LOOK_S)
            self.look(asyncio.get_running_loop().time())

    def look(self, now_s: float) -> None:
        """Let go of some of those that are overdue."""
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
