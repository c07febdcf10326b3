"""Both engines of the store: each test that takes `address` runs on SQLite and on PostgreSQL. A test that takes `place` runs on
both and on Redis."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.postgresql import PostgreSql, postgresql
from tests.redis_server import RedisServer, redis_server
from tests.store.places import Place
from voiceagent.store.database import StoreAddress, local_store


@pytest.fixture(scope="session")
def server() -> Iterator[PostgreSql]:
    with postgresql() as running:
        yield running


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> StoreAddress:
    """A store that was never written."""
    if request.param == "sqlite":
        return local_store(tmp_path / "new")
    server: PostgreSql = request.getfixturevalue("server")
    return server.new_store(tmp_path)


@pytest.fixture(scope="session")
def redis() -> Iterator[RedisServer]:
    with redis_server() as running:
        yield running


@pytest.fixture(params=["sqlite", "postgresql", "redis"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Where events are kept, and nothing is yet."""
    if request.param != "redis":
        server: PostgreSql | None = request.getfixturevalue("server") if request.param == "postgresql" else None
        return Place(local_store(tmp_path / "new") if server is None else server.new_store(tmp_path))
    running: RedisServer = request.getfixturevalue("redis")
    return Place(local_store(tmp_path / "new"), running.emptied())
