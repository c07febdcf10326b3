"""An agent with tools on a language model that can be given none: the server does not start, and says why in one line."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from voiceagent.agent_service import AgentService
from voiceagent.errors import ModelError
from voiceagent.latency.budgets import load_budgets
from voiceagent.models.registry import resolve
from voiceagent.resources import default_budgets_file, demo_agent_file
from voiceagent.settings.agent import LlmSettings, load_agent

TEMPLATE = Path(__file__).parents[1] / "llm" / "templates" / "phi35.jinja"


async def test_an_agent_with_tools_does_not_start_on_a_model_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "lm"
    shutil.copytree(resolve("micro-lm") or Path(), folder)
    shutil.copy(TEMPLATE, folder / "chat_template.jinja")
    monkeypatch.setenv("VOICEAGENT_DATA", str(tmp_path / "data"))
    agent = msgspec.structs.replace(load_agent(demo_agent_file()), profile="embedded", llm=LlmSettings(path=str(folder)))
    service = AgentService(agent, load_budgets(default_budgets_file())).service()
    with pytest.raises(ModelError, match=r"chat_template\.jinja: this chat template has no place for tools"):
        async with service.load():
            pass
