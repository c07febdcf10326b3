"""More callers than the machine can carry: who is let in is served, the others are told to call again. `make bench ARGS=attacks`
measures how soon the ones let in are answered."""

from __future__ import annotations

from pathlib import Path

from tests.attacks.honest import meet
from tests.server_process import running_server


async def test_callers_beyond_what_the_machine_carries_are_told_to_call_again(tmp_path: Path) -> None:
    callers = 32
    with running_server(tmp_path, "--max-calls", "64") as server:
        met = await meet(server.url, calls=callers, turns=1)
    assert met.failed == []
    assert met.calls + len(met.refused) == callers
    assert min(met.calls, len(met.refused)) >= 1
    assert all("(503)" in told for told in met.refused), met.refused
