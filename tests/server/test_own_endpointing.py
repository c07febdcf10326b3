"""An agent's own weights for endpoints: a file that holds none is told before the first call."""

from __future__ import annotations

from pathlib import Path

import pytest

from voiceagent.agent_service import AgentService
from voiceagent.errors import ConfigError
from voiceagent.latency.budgets import load_budgets
from voiceagent.resources import default_budgets_file
from voiceagent.settings.agent import AgentConfig, TurnSettings


async def test_weights_that_cannot_be_read_are_told_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOICEAGENT_DATA", str(tmp_path / "data"))
    agent = AgentConfig(profile="embedded", turn=TurnSettings(endpointing="endpointing.json"), base_dir=str(tmp_path))
    (tmp_path / "endpointing.json").write_text('{"weights": {"bias": "high"}}')
    service = AgentService(agent, load_budgets(default_budgets_file())).service()
    with pytest.raises(ConfigError, match=r"turn\.endpointing: .*holds no weights of an endpointer"):
        async with service.load():
            pass
