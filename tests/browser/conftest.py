"""The server that most tests of the page call."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server_process import ServerProcess, running_server


@pytest.fixture(scope="session")
def demo_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """The demo agent on the bundled models, without keys; started once for all tests of a process."""
    with running_server(tmp_path_factory.mktemp("demo"), "--profile", "embedded") as server:
        yield server
