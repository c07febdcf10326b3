"""The files that an agent names, and the settings that a running server keeps."""

from __future__ import annotations

from pathlib import Path

import msgspec

from voiceagent.settings.agent import AgentConfig, load_agent
from voiceagent.settings.files import kept_settings, named_files

AGENT = """
name: First
tools: [tools.py]
budgets: budgets.yaml
turn: {endpointing: weights.json}
speech: {clips: {hello: hello.wav}}
steps:
  one: {instructions: Go on., tools: []}
  two: {handoff: other/agent.yaml, everywhere: true}
"""


def test_the_files_of_an_agent_are_those_that_it_names_and_those_of_other_agents(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    files = ["tools.py", "budgets.yaml", "weights.json", "hello.wav", "other/tools.py"]
    for file in (*files, "unnamed.py"):
        (tmp_path / file).write_text("")
    (tmp_path / "agent.yaml").write_text(AGENT)
    (tmp_path / "other" / "agent.yaml").write_text("name: Second\ntools: [tools.py]\n")
    found = named_files(load_agent(tmp_path / "agent.yaml"), tmp_path / "agent.yaml")
    assert found == {(tmp_path / file).resolve() for file in (*files, "agent.yaml", "other/agent.yaml")}


def test_models_and_lines_stay_as_they_were_and_the_rest_is_taken() -> None:
    replace = msgspec.structs.replace
    old = AgentConfig(name="Old", profile="auto")
    running = replace(old, profile="starter")
    new = replace(old, name="New", end_call=True, profile="cpu", llm=replace(old.llm, max_tokens=9))
    new = replace(new, turn=replace(new.turn, manner="patient", resume_after_restart=True))
    agent, later = kept_settings(old, new, running)
    assert later == ["profile", "llm", "turn.resume_after_restart"]
    assert (agent.name, agent.end_call, agent.turn.manner) == ("New", True, "patient")
    assert (agent.profile, agent.llm, agent.turn.resume_after_restart) == ("starter", old.llm, False)


def test_what_did_not_change_needs_no_restart() -> None:
    old = AgentConfig()
    assert kept_settings(old, msgspec.structs.replace(old, instructions="Be brief."), old)[1] == []
