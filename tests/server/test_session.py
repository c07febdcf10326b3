"""What the session settings beside an offer change of the agent."""

from __future__ import annotations

from typing import Any

import pytest

from voiceagent.agent_service import noise_reduction_asked, with_instructions
from voiceagent.realtime.settings import MAX_INSTRUCTIONS_CHARACTERS
from voiceagent.server.http.problems import Problem
from voiceagent.settings.agent import AgentConfig

AGENT = AgentConfig(instructions="Be brief.")


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
        with_instructions(AGENT, {"instructions": instructions})
    assert (refused.value.status, refused.value.code, refused.value.param) == (400, "invalid_session", "session.instructions")


@pytest.mark.parametrize("session", [{}, {"audio": None}, {"audio": {"input": {}}}, {"audio": {"input": []}}])
def test_without_noise_reduction_the_legs_setting_stays(session: dict[str, Any]) -> None:
    assert noise_reduction_asked(session) == {}


@pytest.mark.parametrize("wanted", [None, {"type": "near_field"}])
def test_noise_reduction_is_all_that_is_taken_of_the_audio(wanted: object) -> None:
    session: dict[str, Any] = {"audio": {"input": {"noise_reduction": wanted, "format": "any"}, "output": {"voice": "any"}}}
    assert noise_reduction_asked(session) == {"audio": {"input": {"noise_reduction": wanted}}}


def test_noise_reduction_of_no_known_kind_is_refused() -> None:
    with pytest.raises(Problem, match="near_field") as refused:
        noise_reduction_asked({"audio": {"input": {"noise_reduction": "on"}}})
    expected = (400, "invalid_session", "session.audio.input.noise_reduction")
    assert (refused.value.status, refused.value.code, refused.value.param) == expected
