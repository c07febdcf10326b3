"""Steps in agent.yaml: mistakes are told with their line and the nearest name; the graph is drawn."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.settings.test_settings_file import refusal
from voiceagent.errors import ConfigError
from voiceagent.settings.agent import MAX_AGENTS, load_agent, taking_over
from voiceagent.settings.steps import as_mermaid, unknown_tools

GOOD = """steps:
  reason:
    instructions: Ask why they call.
    values: {reason: {type: string, enum: [appointment, other]}, urgent: {type: boolean}}
    next:
      - {to: slot, when: {reason: appointment, urgent: true}}
      - {to: desk}
  slot:
    tools: [book]
    next: [{to: done, after: book, result: {booked: true}}]
  desk: {instructions: Say that somebody calls back., everywhere: true}
  done: {final: true}
"""


@pytest.mark.parametrize(
    ("change", "line", "said"),
    [
        (("to: slot", "to: slott"), 5, "step reason leads to 'slott', which is no step; did you mean slot?"),
        (
            ("{reason: appointment,", "{reson: appointment,"),
            5,
            "`when` names 'reson', which no step collects; did you mean reason?",
        ),
        (("after: book,", "after: cook,"), 10, "`after` names 'cook', which is none of its tools; did you mean book?"),
        (("{to: done, after: book, result: {booked: true}}", "{to: done}"), 10, "step slot collects nothing"),
        (("after: book, result", "result"), 10, "`result` needs `after`"),
        (("  done: {final: true}", "  done: {final: true}\n  lost: {}"), 13, "step lost cannot be reached"),
        (
            ("  done: {final: true}", "  done: {final: true}\n  Bad-Name: {everywhere: true}"),
            13,
            "expected a name of small letters",
        ),
        (("everywhere: true", "everywhere: maybe"), 11, "'maybe'"),
        (
            ("    tools: [book]", "    tools: [book]\n    final: true"),
            8,
            "step slot is `final`, so its `next` would never be taken",
        ),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, change: tuple[str, str], line: int, said: str) -> None:
    told = refusal(tmp_path, GOOD.replace(*change))
    assert told.startswith(f"{line}: ")
    assert said in told


def test_the_graph_is_drawn(tmp_path: Path) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text(GOOD)
    steps = load_agent(file).steps
    assert as_mermaid(steps).splitlines() == [
        "flowchart TD",
        '  reason(["reason<br/>reason, urgent"])',
        '  slot["slot"]',
        '  desk["desk"]',
        '  done(["done"])',
        '  reason -->|"reason = appointment, urgent = true"| slot',
        "  reason --> desk",
        '  slot -->|"after book: booked = true"| done',
        '  anywhere(("any step"))',
        "  anywhere -.-> desk",
    ]
    assert list(unknown_tools(steps, ["brook"])) == [
        "step slot names the tool 'book', which the agent has not; did you mean brook?"
    ]
    assert list(unknown_tools(steps, ["book"])) == []


FRONT = """name: Front
profile: cpu
language: auto
languages: [en, de]
steps:
  reason:
    values: {reason: {type: string}, name: {type: string}}
    next: [{to: billing, when: {reason: invoice}}, {to: desk}]
  billing: {handoff: desks/billing.yaml, pass_values: [name]}
  desk: {handoff: desks/desk.yaml, everywhere: true}
"""
BILLING = """name: Billing
language: de
steps:
  number: {values: {number: {type: integer}}, next: [{to: front}]}
  front: {handoff: ../agent.yaml}
"""


def written(folder: Path, front: str = FRONT, billing: str = BILLING) -> Path:
    (folder / "desks").mkdir(exist_ok=True)
    (folder / "desks" / "billing.yaml").write_text(billing)
    (folder / "desks" / "desk.yaml").write_text("name: Desk\n")
    (folder / "agent.yaml").write_text(front)
    return folder / "agent.yaml"


def test_the_files_of_other_agents_are_read_in_circles_too(tmp_path: Path) -> None:
    agent = load_agent(written(tmp_path))
    assert set(agent.agents) == {"agent.yaml", "desks/billing.yaml", "desks/desk.yaml"}
    billing = agent.agents["desks/billing.yaml"]
    assert billing.steps["front"].handoff == agent.file == "agent.yaml"
    assert billing.base_dir == str(tmp_path / "desks")
    assert taking_over(agent, billing).profile == "cpu"


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        (
            "desks/billing",
            "desks/biling",
            9,
            "there is no file 'desks/biling.yaml'; did you mean desks/billing.yaml?",
        ),
        ("s: [name]", "s: [nam]", 9, "`pass_values` names 'nam', which no step collects; did you mean name?"),
        ("pass_values: [name]", "tools: [a]", 9, "step billing hands the call off, so its `tools` would never be used"),
        ("handoff: desks/desk.yaml", "pass_values: [name]", 10, "`pass_values` needs `handoff`"),
        ("reason:\n    v", "first: {handoff: desks/desk.yaml}\n  reason:\n    v", 6, "is the first and hands the call off"),
        ("name: Front", "file: x", 1, "file is no setting"),
    ],
)
def test_a_handoff_that_cannot_work_is_told_with_its_line(tmp_path: Path, old: str, new: str, line: int, said: str) -> None:
    written(tmp_path)
    told = refusal(tmp_path, FRONT.replace(old, new))
    assert told.startswith(f"{line}: ")
    assert said in told


@pytest.mark.parametrize(
    ("billing", "line", "said"),
    [
        ("profile: gpu\n", 1, "profile is another one than in agent.yaml, and cannot change within a call; leave it out here"),
        ("profile: cpu\noptions: {stt: {beam_size: 3}}\n", 2, "options.stt are others than in agent.yaml"),
        ("language: fr\n", 1, "the language is fr, and in a call of agent.yaml only en, de is heard; write `language: auto`"),
        ("steps: {a: {handoff: nowhere.yaml, everywhere: true}}\n", 1, "hands the call off"),
    ],
)
def test_an_agent_that_cannot_take_over_is_told_with_its_file(tmp_path: Path, billing: str, line: int, said: str) -> None:
    with pytest.raises(ConfigError, match=r"billing\.yaml") as refused:
        load_agent(written(tmp_path, billing=billing))
    assert f"billing.yaml:{line}: " in str(refused.value)
    assert said in str(refused.value)


def test_the_number_of_agents_is_bounded(tmp_path: Path) -> None:
    for number in range(MAX_AGENTS + 1):
        steps = f"{{a: {{everywhere: true}}, b: {{handoff: {number + 1}.yaml, everywhere: true}}}}"
        (tmp_path / f"{number}.yaml").write_text(f"steps: {steps}")
    (tmp_path / f"{MAX_AGENTS + 1}.yaml").write_text("name: last")
    assert len(load_agent(tmp_path / "1.yaml").agents) == MAX_AGENTS
    with pytest.raises(ConfigError, match=f"{MAX_AGENTS}.yaml:1: step b: at most {MAX_AGENTS} agents"):
        load_agent(tmp_path / "0.yaml")


def test_other_agents_are_drawn_as_boxes(tmp_path: Path) -> None:
    agent = load_agent(written(tmp_path))
    drawn = as_mermaid(agent.steps, agent.file, {name: other.steps for name, other in agent.agents.items()}).splitlines()
    assert drawn[1:] == [
        '  reason(["reason<br/>reason, name"])',
        '  billing[["billing"]]',
        '  desk[["desk"]]',
        '  reason -->|"reason = invoice"| billing',
        "  reason --> desk",
        '  anywhere(("any step"))',
        "  anywhere -.-> desk",
        '  subgraph a1_agent["desks/billing.yaml"]',
        '    a1_number(["number<br/>number"])',
        '    a1_front[["front"]]',
        "    a1_number --> a1_front",
        "  end",
        '  subgraph a2_agent["desks/desk.yaml"]',
        '    a2_all["desks/desk.yaml"]',
        "  end",
        "  billing ==>|handoff| a1_number",
        "  desk ==>|handoff| a2_all",
        "  a1_front ==>|handoff| reason",
    ]


def test_the_agents_of_the_page_about_steps_can_be_read(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "steps.md").read_text()
    for text in re.findall(r"```yaml\n(# \w+\.yaml\n.*?)```", page, re.DOTALL):
        (tmp_path / text.split()[1]).write_text(text)
    agent = load_agent(tmp_path / "agent.yaml")
    assert agent.agents["billing.yaml"].name == "Billing"
