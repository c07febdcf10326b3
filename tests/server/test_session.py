"""What the session settings beside an offer change of the agent."""

from __future__ import annotations

from typing import Any

import pytest

from voiceagent.agent_service import offered_settings, with_instructions
from voiceagent.call.rules import facts_of
from voiceagent.realtime.openai_session import MAX_INSTRUCTIONS_CHARACTERS
from voiceagent.server.http.problems import Problem
from voiceagent.settings.agent import AgentConfig

AGENT = AgentConfig(instructions="Be brief.")
FACTS = facts_of(AGENT, ("get_weather",), takes_audio=False)


@pytest.mark.parametrize("session", [{}, {"instructions": None}, {"instructions": ""}, {"voice": "any"}])
def test_without_instructions_the_agents_stay(session: dict[str, Any]) -> None:
    assert with_instructions(AGENT, session) == AGENT


def test_the_agents_own_may_be_longer() -> None:
    agent = AgentConfig(instructions="x" * (MAX_INSTRUCTIONS_CHARACTERS + 1))
    assert with_instructions(agent, {}) == agent


def test_instructions_are_taken_whole() -> None:
    longest = "x" * MAX_INSTRUCTIONS_CHARACTERS
    assert with_instructions(AGENT, {"instructions": longest}).instructions == longest


@pytest.mark.parametrize("instructions", ["x" * (MAX_INSTRUCTIONS_CHARACTERS + 1), ["Be kind."], 7])
def test_what_cannot_be_taken_whole_is_refused(instructions: object) -> None:
    with pytest.raises(Problem, match="16000") as refused:
        offered_settings({"instructions": instructions}, FACTS)
    assert (refused.value.status, refused.value.code, refused.value.param) == (400, "invalid_session", "session.instructions")


@pytest.mark.parametrize("session", [{}, {"type": "realtime"}, {"instructions": ""}])
def test_settings_that_change_nothing_are_none(session: dict[str, Any]) -> None:
    assert offered_settings(session, FACTS) == {}


def test_settings_are_taken_as_an_update_takes_them() -> None:
    session: dict[str, Any] = {"audio": {"input": {"noise_reduction": {"type": "near_field"}}, "output": {"voice": "any"}}}
    assert offered_settings(session, FACTS) == session


@pytest.mark.parametrize(
    ("session", "param"),
    [
        ({"audio": {"input": {"noise_reduction": "on"}}}, "session.audio.input.noise_reduction"),
        ({"audio": {"input": []}}, "session.audio.input"),
        ({"audio": {"input": {"format": "any"}}}, "session.audio.input.format"),
        ({"model": 7}, "session.model"),
        ({"tool_choice": {"type": "function", "name": "get_news"}}, "session.tool_choice"),
        ({"colour": "red"}, "session.colour"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(session: dict[str, Any], param: str) -> None:
    with pytest.raises(Problem) as refused:
        offered_settings(session, FACTS)
    assert (refused.value.status, refused.value.code, refused.value.param) == (400, "invalid_session", param)
