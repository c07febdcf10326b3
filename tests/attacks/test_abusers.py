"""A client with a valid key abuses its call. It is limited, and a caller beside it notices nothing. `make bench ARGS=attacks`
measures how soon it is limited and how little the caller notices."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tests.attacks.abuser import KINDS, beside
from tests.attacks.figures import MEASURING, hold, within
from tests.attacks.honest import Experience, meet, percentile
from tests.server_process import ServerProcess, running_server

LIMITED_S = 2.0
GAP_P99_MS = 40.0
SLOWER_P95_MS = 50.0
CALLS, TURNS = 2, 10 if MEASURING else 2
ROUNDS = 2
"""What other programs of the machine do in one of them is no fault of the server."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with running_server(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture(scope="module")
def undisturbed(server: ServerProcess) -> Experience:
    """What callers meet without an abuser."""
    return asyncio.run(meet(server.url, calls=CALLS, turns=TURNS))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.startswith("megabytes")])  # see test_floods.py
async def test_an_abuser_is_limited_and_nobody_else_notices(kind: str, server: ServerProcess, undisturbed: Experience) -> None:
    for _ in range(ROUNDS):
        async with beside(server.url, kind) as abuse:
            met = await meet(server.url, calls=CALLS, turns=TURNS)
        assert met.failed == met.refused == []
        assert abuse.limited_s
        assert set(abuse.ended) == {"abuse"}
        usual_ms, beside_ms = (percentile(each.voice_to_voice_ms, 95) for each in (undisturbed, met))
        usual_gap_ms, gap_ms = (percentile(each.gaps_ms, 99) for each in (undisturbed, met))
        more_ms = beside_ms - usual_ms
        figures = (
            within(f"{kind}: limited after", max(abuse.limited_s), LIMITED_S, "s"),
            within(f"{kind}: packet gap p99 of callers beside it", gap_ms, GAP_P99_MS, "ms", usual=usual_gap_ms),
            within(f"{kind}: voice to voice p95 beside it, above that without it", more_ms, SLOWER_P95_MS, "ms", usual=usual_ms),
        )
        if all(figure.ok for figure in figures):
            break
    hold(*figures)
