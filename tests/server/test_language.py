"""An agent's language: what cannot be spoken is refused at the start, in one line that says what to do."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from voiceagent.agent_service import AgentService
from voiceagent.engines import Engines, load_engines
from voiceagent.errors import ConfigError
from voiceagent.latency.budgets import load_budgets
from voiceagent.models.registry import Profile, Registry
from voiceagent.resources import default_budgets_file
from voiceagent.settings.agent import AgentConfig, EngineOptions, load_agent

TOOL = '''
from voiceagent.tools import tool

@tool(effect="external", confirm="Mam to zrobić?")
def book(people: int) -> dict:
    """Book a table."""
    return {}
'''


async def start(agent: AgentConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOICEAGENT_DATA", str(tmp_path / "data"))
    async with AgentService(agent, load_budgets(default_budgets_file())).service().load():
        pass


@pytest.mark.parametrize("language", ["German", "d", "de-DE", ""])
def test_what_is_no_code_is_refused(language: str, tmp_path: Path) -> None:
    (tmp_path / "agent.yaml").write_text(f"language: '{language}'\n")
    with pytest.raises(ConfigError, match=r"agent\.yaml:1: language"):
        load_agent(tmp_path / "agent.yaml")


@pytest.mark.parametrize("language", ["de", "auto"])
async def test_a_recogniser_of_english_alone_is_refused(language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=f"language is '{language}'; the recogniser whisper understands English only"):
        await start(AgentConfig(profile="embedded", language=language), tmp_path, monkeypatch)


async def test_a_recogniser_of_english_alone_is_refused_several_languages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = AgentConfig(profile="embedded", language="auto", languages=("de", "en"))
    with pytest.raises(ConfigError, match="language is 'auto'; the recogniser whisper understands English only: name a multi"):
        await start(agent, tmp_path, monkeypatch)


async def test_the_recognisers_own_option_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = AgentConfig(profile="embedded", options=EngineOptions(stt={"language": "de"}))
    with pytest.raises(ConfigError, match=r"options\.stt\.language: write `language: de`"):
        await start(agent, tmp_path, monkeypatch)


async def test_a_tool_to_be_confirmed_is_refused_where_no_word_is_a_yes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "book.py").write_text(TOOL)

    async def load_english(profile: Profile, agent: AgentConfig, known: Registry | None = None) -> Engines:
        """Engines that do not refuse Polish."""
        return await load_engines(profile, msgspec.structs.replace(agent, language="en"), known)

    monkeypatch.setattr("voiceagent.agent_service.load_engines", load_english)
    agent = AgentConfig(profile="embedded", language="pl", tools=("book.py",), base_dir=str(tmp_path))
    with pytest.raises(
        ConfigError, match=r"tool book: confirm needs words for yes, .* 'pl'; leave confirm out, or use one of de, en"
    ):
        await start(agent, tmp_path, monkeypatch)
