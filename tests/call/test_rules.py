"""What the turn engine is told of an agent: its own weights for endpoints, and where they are used."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from voiceagent.call.rules import cramped, endpointing_of, rules_of
from voiceagent.errors import ConfigError
from voiceagent.llm.engine import HistoryLimits
from voiceagent.resources import demo_agent_file
from voiceagent.settings.agent import AgentConfig, LlmSettings, TurnSettings, load_agent
from voiceagent.tools.toolset import ToolSet
from voiceagent.turn_taking.endpointing import ENDPOINTING_MANNERS, WITHOUT_JUDGES, EndpointModel, Manner

WEIGHTS = '{"weights": {"bias": -1.0, "ear": 0.5, "meaning": 0.0}, "risk": 0.1}'


@dataclass
class Judge:
    """One that is asked nothing here."""

    name: str
    needs_words: bool = False

    async def judge(self, pause: Any) -> float | None:
        return None

    async def close(self) -> None:
        pass

    @property
    def problems(self) -> dict[str, int]:
        return {}


def agent_with(tmp_path: Path, text: str) -> AgentConfig:
    (tmp_path / "endpointing.json").write_text(text)
    return AgentConfig(turn=TurnSettings(endpointing="endpointing.json"), base_dir=str(tmp_path))


def test_an_agents_own_weights_are_used_where_no_judge_is_that_they_do_not_weigh(tmp_path: Path) -> None:
    agent = agent_with(tmp_path, WEIGHTS)
    own, shipped = {"bias": -1.0, "ear": 0.5, "meaning": 0.0}, EndpointModel().weights
    assert endpointing_of(agent).weights == own
    assert endpointing_of(agent, [Judge("ear")]).weights == own
    assert endpointing_of(agent, [Judge("ear"), Judge("meaning", needs_words=True)]).weights == shipped
    assert endpointing_of(AgentConfig(), [Judge("ear")]).weights == shipped


def test_without_judges_other_weights_tell_ends_by_words_and_voice(tmp_path: Path) -> None:
    assert endpointing_of(AgentConfig()) == WITHOUT_JUDGES
    assert endpointing_of(AgentConfig(turn=TurnSettings(manner="brisk"))).risk == ENDPOINTING_MANNERS["brisk"].risk


@pytest.mark.parametrize("manner", ["brisk", "balanced", "patient"])
def test_a_manner_sets_the_risk_and_the_delays(manner: Manner) -> None:
    rules = rules_of(AgentConfig(turn=TurnSettings(manner=manner)), ToolSet()).endpointing
    wanted = ENDPOINTING_MANNERS[manner]
    assert rules.model is not None
    assert (rules.model.risk, rules.min_delay_ms, rules.max_delay_ms) == (wanted.risk, wanted.min_delay_ms, wanted.max_delay_ms)


def test_an_agent_without_a_manner_is_balanced() -> None:
    named = rules_of(AgentConfig(turn=TurnSettings(manner="balanced")), ToolSet(), [Judge("ear")]).endpointing
    assert rules_of(AgentConfig(), ToolSet(), [Judge("ear")]).endpointing == named


def test_single_delays_stand_beside_a_manner() -> None:
    turn = TurnSettings(manner="brisk", min_endpointing_delay_ms=300, max_endpointing_delay_ms=5000)
    rules = rules_of(AgentConfig(turn=turn), ToolSet()).endpointing
    assert (rules.min_delay_ms, rules.max_delay_ms) == (300, 5000)


def test_an_agents_own_weights_bring_a_risk_that_a_manner_replaces(tmp_path: Path) -> None:
    agent = agent_with(tmp_path, WEIGHTS)
    assert endpointing_of(agent).risk == 0.1
    patient = replace(agent, turn=replace(agent.turn, manner="patient"))
    assert endpointing_of(patient).risk == ENDPOINTING_MANNERS["patient"].risk
    assert endpointing_of(patient).weights == endpointing_of(agent).weights


def test_a_fixed_silence_needs_no_weights(tmp_path: Path) -> None:
    agent = AgentConfig(turn=TurnSettings(endpointing="nowhere.json", fixed_endpointing_delay_ms=500), base_dir=str(tmp_path))
    assert rules_of(agent, ToolSet()).endpointing.model is None


def test_the_demo_brings_its_own(tmp_path: Path) -> None:
    demo = load_agent(demo_agent_file())
    assert endpointing_of(demo).weights != EndpointModel().weights
    assert endpointing_of(demo, [Judge("ear")]).weights == EndpointModel().weights


@pytest.mark.parametrize(
    ("wanted", "limits", "most"),
    [
        (None, HistoryLimits(), 6000),
        (None, HistoryLimits(history_tokens=120), 120),
        (4000, HistoryLimits(history_tokens=120), 4000),
        (0, HistoryLimits(history_tokens=120), 0),
        (4000, HistoryLimits(prompt_tokens=1100), 1000),
        (0, HistoryLimits(prompt_tokens=1100), 1000),
        (50, HistoryLimits(prompt_tokens=1100), 50),
        (None, HistoryLimits(prompt_tokens=1100, history_tokens=300), 300),
        (None, HistoryLimits(prompt_tokens=20), 1),
    ],
)
def test_a_history_is_as_long_as_the_agent_says_else_the_model_and_fits_the_context(
    wanted: int | None, limits: HistoryLimits, most: int
) -> None:
    agent = AgentConfig(instructions="x" * 398, llm=LlmSettings(long_history_tokens=wanted))  # with "[]" of no tools 100 tokens
    assert rules_of(agent, ToolSet(), (), limits).memory.long_history_tokens == most


def test_instructions_that_fill_the_context_are_told_in_one_line() -> None:
    agent = AgentConfig(instructions="天" * 1000)
    line = cramped(agent, ToolSet(), HistoryLimits(prompt_tokens=1200))
    assert line.startswith("the agent's instructions and tools take about 1000 of the 1200 tokens that a prompt may have")
    assert "\n" not in line
    assert not cramped(agent, ToolSet(), HistoryLimits(prompt_tokens=1400))
    assert not cramped(agent, ToolSet(), HistoryLimits()), "a model that does not tell has room"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "holds no weights of an endpointer"),
        ('{"weights": {"bias": "high"}}', "holds no weights of an endpointer"),
        ('{"weights": {}}', "holds no weights"),
        ('{"weights": {"bias": 1.0}, "risk": 2.0}', "a risk or a spread that cannot be"),
        ('{"weights": {"bias": 1.0}, "risk": 0.1, "x": "' + "x" * 100_000 + '"}', "more than 100000 bytes"),
    ],
)
def test_a_file_that_is_none_is_refused_in_one_line(text: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=problem) as caught:
        endpointing_of(agent_with(tmp_path, text))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"turn\.endpointing: .*nowhere\.json cannot be read"):
        endpointing_of(AgentConfig(turn=TurnSettings(endpointing="nowhere.json"), base_dir=str(tmp_path)))
