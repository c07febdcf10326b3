"""Both engines of the store: each test that takes `address` runs on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.postgresql import PostgreSql, postgresql
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
