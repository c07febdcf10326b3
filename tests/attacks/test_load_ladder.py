"""More callers than the machine can carry: who is let in is served within the budget, the others are told to call again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attacks.figures import at_least, at_most, hold
from tests.attacks.honest import meet, percentile
from tests.server_process import running_server
from voiceagent.latency.budget_file import load_budgets
from voiceagent.latency.spans import Stage
from voiceagent.resources import default_budgets_file

pytestmark = pytest.mark.quiet
BUDGET = load_budgets(default_budgets_file()).of("embedded")[Stage.VOICE_TO_VOICE]
TURNS = 3
ROUNDS = 2
"""What other programs of the machine do in one of them is no fault of the server."""


@pytest.mark.parametrize("callers", [1, 4, 8, 16, 32])
async def test_who_is_let_in_is_served_within_the_budget(callers: int, tmp_path: Path) -> None:
    for number in range(ROUNDS):
        data = tmp_path / str(number)
        data.mkdir()
        with running_server(data, "--max-calls", "64") as server:
            met = await meet(server.url, calls=callers, turns=TURNS)
        assert met.calls + len(met.refused) == callers
        assert all("(503)" in told for told in met.refused), met.refused
        p50_ms, p95_ms = percentile(met.voice_to_voice_ms, 50), percentile(met.voice_to_voice_ms, 95)
        figures = (
            at_most(f"{callers} callers at once: calls that fail", len(met.failed), 0, "calls"),
            at_least(f"{callers} callers at once: let in", met.calls, min(callers, 4), "calls"),
            at_most(f"{callers} callers at once: voice to voice p50 of those", p50_ms, BUDGET.p50_ms, "ms"),
            at_most(f"{callers} callers at once: voice to voice p95 of those", p95_ms, BUDGET.p95_ms, "ms"),
        )
        if all(figure.ok for figure in figures):
            break
    hold(*figures)
