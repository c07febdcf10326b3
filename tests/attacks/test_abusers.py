"""A client with a valid key abuses its call. It is limited within two seconds, and a caller beside it notices nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tests.attacks.abuser import KINDS, beside
from tests.attacks.honest import Experience, meet, percentile
from tests.server_process import ServerProcess, running_server

LIMITED_S = 2.0
GAP_P99_MS = 40.0
SLOWER_P95_MS = 50.0
CALLS, TURNS = 2, 10


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with running_server(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture(scope="module")
def undisturbed(server: ServerProcess) -> Experience:
    """What callers meet without an abuser."""
    return asyncio.run(meet(server.url, calls=CALLS, turns=TURNS))


@pytest.mark.parametrize("kind", KINDS)
async def test_an_abuser_is_limited_and_nobody_else_notices(kind: str, server: ServerProcess, undisturbed: Experience) -> None:
    async with beside(server.url, kind) as abuse:
        met = await meet(server.url, calls=CALLS, turns=TURNS)
    gap_ms = percentile(met.gaps_ms, 99)
    before_ms, beside_ms = (percentile(each.voice_to_voice_ms, 95) for each in (undisturbed, met))
    print(f"{kind}: {abuse}; gap p99 {gap_ms:.1f} ms, voice to voice p95 {before_ms:.0f} -> {beside_ms:.0f} ms")
    assert met.failed == met.refused == []
    assert abuse.limited_s
    assert max(abuse.limited_s) <= LIMITED_S
    assert set(abuse.ended) == {"abuse"}
    assert gap_ms <= GAP_P99_MS
    assert beside_ms <= before_ms + SLOWER_P95_MS
