"""`voiceagent init`: every template is written as an agent that can be served, in every language it has, and nothing is lost."""

import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Outcome
from voiceagent.cli.agent_template import Templates
from voiceagent.latency.budgets import load_budgets
from voiceagent.models.choice import PROFILE_VARIABLE, profile_of, registry_of
from voiceagent.resources import examples_dir
from voiceagent.scenarios.scenario import load_scenarios
from voiceagent.settings.agent import load_agent
from voiceagent.tools.toolset import ToolSet

Run = Callable[..., Outcome]
TEMPLATES = Templates.shipped()
EVERY = [(name, language) for name in TEMPLATES.by_name for language in TEMPLATES.languages(name)]


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO())


@pytest.mark.parametrize("folder", sorted(examples_dir().glob("*/scenarios")), ids=lambda folder: folder.parent.name)
def test_the_scenarios_of_an_example_are_well_formed(folder: Path) -> None:
    tools = {
        name for agent in folder.parent.glob("*.yaml") if agent.name.startswith(("agent", "collecting")) for name in _tools(agent)
    }
    assert _expected_tools(folder) <= tools


def _expected_tools(folder: Path) -> set[str]:
    """The names of the tools that scenarios expect to be called."""
    scenarios = [scenario for scenario, _ in load_scenarios([folder])]
    steps = [step for scenario in scenarios if isinstance(scenario.caller, tuple) for step in scenario.caller]
    expected = [*(scenario.expect for scenario in scenarios), *(step.expect for step in steps)]
    return {tool if isinstance(tool, str) else tool.name for one in expected for tool in one.tools}


def _tools(agent: Path) -> tuple[str, ...]:
    loaded = load_agent(agent)
    return ToolSet.from_config(loaded.tools, loaded.base_dir).names


@pytest.mark.parametrize(("template", "language"), EVERY)
def test_a_written_agent_can_be_served(voiceagent: Run, template: str, language: str) -> None:
    outcome = voiceagent("init", "mine", "--template", template, "--language", language, "--name", 'Doctor "Weber": desk')
    assert (outcome.code, outcome.err) == (0, "")
    agent = load_agent(Path("mine/agent.yaml"))
    assert (agent.name, agent.language, agent.budgets) == ('Doctor "Weber": desk', language, "budgets.yaml")
    known = registry_of(agent)
    profile = profile_of(agent, known, "starter" if language == "en" else "own")
    load_budgets(agent.budgets_file).extended(profile.name, profile.budgets).of(profile.name)
    tools = ToolSet.from_config(agent.tools, agent.base_dir)
    assert tools.names
    assert _expected_tools(Path("mine/scenarios")) <= set(tools.names)
    texts = {file: file.read_text() for file in Path("mine").rglob("*.*")}
    assert not [file for file, text in texts.items() if re.search(r"examples/|\.venv|README", text)]


@pytest.mark.parametrize("template", TEMPLATES.by_name)
def test_every_line_of_an_agent_is_explained(template: str) -> None:
    told, explained = 0, 0
    for line in (examples_dir() / template / "agent.yaml").read_text().splitlines():
        if re.match(r"[a-z_]+:", line):  # a setting of the agent
            told, explained = told + 1, explained + ("  # " in line)
    assert told == explained


def test_the_words_of_every_language_stand_for_all_words_of_the_example() -> None:
    folder = examples_dir() / "blank"
    english = "".join(file.read_text() for file in folder.rglob("*.*") if file.name != "words.yaml")
    words = yaml.safe_load((folder / "words.yaml").read_text())
    keys = {frozenset(told) for told in words.values()}
    assert len(keys) == 1
    (every,) = keys
    assert not [word for word in every if word not in english]
    assert not [line for line in TEMPLATES.by_name["blank"].in_other_languages.instead if line not in english]


def test_the_written_agent_passes_its_scenarios(voiceagent: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PROFILE_VARIABLE, "embedded")
    assert voiceagent("init").code == 0
    outcome = voiceagent("eval", "my-agent/scenarios", "--agent", "my-agent/agent.yaml")
    assert (outcome.code, outcome.err) == (0, "")
    assert "2 of 2 trials passed" in outcome.out


def test_nothing_is_overwritten(voiceagent: Run, tmp_path: Path) -> None:
    (tmp_path / "my-agent").mkdir()
    (tmp_path / "my-agent" / "tools.py").write_text("mine")
    outcome = voiceagent("init")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == (
        "error: my-agent/tools.py is there already, and nothing was written; name another folder, or move it away\n"
    )
    assert [file.name for file in (tmp_path / "my-agent").iterdir()] == ["tools.py"]
    (tmp_path / "file").write_text("")
    assert "file" in voiceagent("init", "file").err


def test_what_can_be_begun_from_is_listed(voiceagent: Run) -> None:
    lines = voiceagent("init", "--list").out.splitlines()
    assert [line.split()[0] for line in lines] == ["blank", "clinic", "orders", "survey"]
    told = json.loads(voiceagent("init", "--list", "--json").out)
    assert told[0]["languages"] == ["en", "de", "es", "fr", "it", "nl", "pt"]


def test_a_program_is_told_which_files_were_written(voiceagent: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", Terminal())
    told = json.loads(voiceagent("init", "mine", "--json").out)
    assert told == {"folder": "mine", "files": ["agent.yaml", "tools.py", "scenarios/calls.yaml", "budgets.yaml"]}
    assert all((Path("mine") / file).is_file() for file in told["files"])


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (
            ("--template", "klinic"),
            "there is no template 'klinic', expected one of blank, clinic, orders, survey; did you mean clinic?",
        ),
        (("--template", "clinic", "--language", "de"), "the template clinic is not written in 'de'; the template blank is"),
        (("--language", "xx"), "the template blank is not written in 'xx', only in en, de, es, fr, it, nl, pt"),
        (("--name", "a\nb"), "the name has 3 characters; expected 1 to 80, in one line"),
    ],
)
def test_what_cannot_be_written_is_one_line(voiceagent: Run, tmp_path: Path, options: tuple[str, ...], why: str) -> None:
    outcome = voiceagent("init", *options)
    assert (outcome.code, outcome.err) == (1, f"error: {why}\n")
    assert not list(tmp_path.iterdir())


class Terminal(io.StringIO):
    """Somebody who types."""

    def isatty(self) -> bool:
        return True


def test_what_is_not_named_is_asked_for(voiceagent: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("en\nclinic\nDoctor Weber\ndesk\n"))
    outcome = voiceagent("init")
    assert outcome.code == 0
    assert "a reception in steps" in outcome.out
    assert load_agent(Path("desk/agent.yaml")).name == "Doctor Weber"
    assert "eval desk/scenarios --agent desk/agent.yaml" in outcome.out


def test_a_language_that_no_shipped_model_speaks_is_told_what_it_needs(voiceagent: Run) -> None:
    outcome = voiceagent("init", "laden", "--language", "de", "--yes")
    assert "no shipped voice speaks German: name one in laden/models.yaml" in outcome.out
    assert "models pull --models laden/models.yaml --profile own" in outcome.out
