"""Where calls' events are kept: in a store alone, or in a Redis, too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.store.calls import keep_call
from voiceagent.store.database import StoreAddress
from voiceagent.store.event_streams import EventStreams
from voiceagent.store.open_streams import open_streams
from voiceagent.store.records import delete_calls
from voiceagent.store.redis_connection import RedisAddress, RedisConnection
from voiceagent.store.redis_streams import RedisStreams, running_key
from voiceagent.store.schema import connect
from voiceagent.store.writer import Losses


@dataclass(frozen=True)
class Place:
    """The store and, if there is one, the Redis, which is then what is read."""

    store: StoreAddress
    redis: RedisAddress | None = None

    def keep(self, call_id: str, **how: Any) -> Losses:
        return keep_call(self.store, call_id, redis=self.redis, **how)

    @contextmanager
    def streams(self) -> Iterator[EventStreams]:
        with open_streams(self.store, self.redis) as streams:
            yield streams

    def lose(self, call_id: str) -> None:
        """The call's server is down for a while. In the store that is so of every call that began long ago."""
        if self.redis is not None:
            connection = RedisConnection(self.redis)
            connection.run("DEL", running_key(call_id))
            connection.close()

    def forget(self, *call_ids: str) -> None:
        """Delete these calls."""
        if self.redis is not None:
            streams = RedisStreams(self.redis)
            streams.forget(call_ids)
            streams.close()
        database = connect(self.store, writes=True)
        delete_calls(database, list(call_ids))
        database.close()
