"""Steps in agent.yaml: mistakes are told with their line and the nearest name; the graph is drawn."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.settings.test_settings_file import refusal
from voiceagent.settings.agent import load_agent
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
  done: {}
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
        (("  done: {}", "  done: {}\n  lost: {}"), 13, "step lost cannot be reached"),
        (("  done: {}", "  done: {}\n  Bad-Name: {everywhere: true}"), 13, "expected a name of small letters"),
        (("everywhere: true", "everywhere: maybe"), 11, "Expected `bool`"),
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
        '  done["done"]',
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
