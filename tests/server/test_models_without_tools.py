"""Language models that cannot do what is asked of them with tools. An agent with tools does not start on one that can be given
none. A forced call is refused before anybody is called, or a phone is answered, where the engine cannot force one."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from tests.fakes import IdleEngine
from voiceagent.agent_service import AgentService
from voiceagent.errors import ModelError
from voiceagent.latency.budgets import load_budgets
from voiceagent.models.registry import resolve
from voiceagent.resources import default_budgets_file, demo_agent_file
from voiceagent.server.http.problems import Problem
from voiceagent.settings.agent import LlmSettings, load_agent
from voiceagent.settings.telephone import SipSettings
from voiceagent.telephone.application import TelephonePart

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


@pytest.mark.parametrize("choice", ["required", {"type": "function", "name": "get_weather"}])
def test_a_call_that_the_engine_cannot_force_is_refused_with_the_secret_and_the_accept(
    choice: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VOICEAGENT_SIP_PASSWORD", "any")
    agent = load_agent(demo_agent_file())
    telephony = msgspec.structs.replace(agent.telephony, sip=SipSettings("sip:agent@127.0.0.1"))
    agent = msgspec.structs.replace(agent, profile="embedded", telephony=telephony)
    service = AgentService(agent, load_budgets(default_budgets_file())).service()
    line = next(part.sip for part in service.parts if isinstance(part, TelephonePart))
    assert line is not None
    for ask in (service.show_session, line.check_session):
        asked: dict[str, Any] = {"tool_choice": choice}
        service.metrics.llm = None
        ask(asked)
        service.metrics.llm = cast("Any", IdleEngine())
        with pytest.raises(Problem, match=r"session\.tool_choice cannot force a call: its engine cannot make") as refused:
            ask(asked)
        assert (refused.value.status, refused.value.param) == (400, "session.tool_choice")
        ask({"tool_choice": "auto"})
