"""An agent whose instructions fill the language model's context: the server says so as it starts, in one line."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from voiceagent.agent_service import AgentService
from voiceagent.latency.budgets import load_budgets
from voiceagent.resources import default_budgets_file, demo_agent_file
from voiceagent.settings.agent import load_agent


async def test_instructions_that_leave_a_conversation_no_room_are_told_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("VOICEAGENT_DATA", str(tmp_path / "data"))
    demo = msgspec.structs.replace(load_agent(demo_agent_file()), profile="embedded")
    cramped = msgspec.structs.replace(demo, instructions="Be kind to whoever calls. " * 100)
    for agent in (demo, cramped):
        async with AgentService(agent, load_budgets(default_budgets_file())).service().load():
            pass
    (line,) = [record.getMessage() for record in caplog.records if "tokens that a prompt may have" in record.getMessage()]
    assert "take about 1545 of the 1478 tokens" in line
