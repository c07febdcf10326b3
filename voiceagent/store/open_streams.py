"""Opens the streams of events where they are: in Redis if there is one, or else in the store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from voiceagent.store.database import StoreAddress
from voiceagent.store.event_streams import EventStreams
from voiceagent.store.redis_connection import RedisAddress
from voiceagent.store.redis_streams import RedisStreams
from voiceagent.store.sql_streams import SqlStreams


@contextmanager
def open_streams(store: StoreAddress, redis: RedisAddress | None = None) -> Iterator[EventStreams]:
    """The streams, for the time of the body. Raises ConfigError where a driver is missing."""
    streams: EventStreams = SqlStreams(store) if redis is None else RedisStreams(redis)
    try:
        yield streams
    finally:
        streams.close()
