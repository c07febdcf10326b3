"""Collected values in agent.yaml: mistakes are told with their line and the nearest name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.settings.test_settings_file import refusal
from voiceagent.json_types import JsonObject
from voiceagent.settings.agent import load_agent
from voiceagent.settings.values import collected, unknown_parameters

GOOD = """collect:
  book.phone: phone
  book.name: {collect: name, tries: 2}
steps:
  who:
    values:
      phone: {collect: phone, ask: "Which number?", give_up: desk}
      name: {type: string}
    next: [{to: desk}]
  desk: {}
"""


@pytest.mark.parametrize(
    ("change", "line", "said"),
    [
        (("book.phone: phone", "book.phone: phon"), 2, "`collect` names 'phon'; expected one of "),
        (("book.phone: phone", "book.phone: phon"), 2, "did you mean phone?"),
        (("book.phone: phone", "phone: phone"), 2, "'phone': expected tool.parameter"),
        (
            ("tries: 2", "trys: 2"),
            3,
            "no setting 'trys'; expected collect, ask, options, confirm, tries, give_up; did you mean tries?",
        ),
        (("tries: 2", "tries: 0"), 3, ">= 1"),
        (("give_up: desk", "give_up: dusk"), 7, "`give_up` is 'dusk'; expected transfer, model or a step; did you mean desk?"),
        (("collect: phone, ask", "collect: [], ask"), 7, "Expected `str`"),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, change: tuple[str, str], line: int, said: str) -> None:
    told = refusal(tmp_path, GOOD.replace(*change))
    assert told.startswith(f"{line}: ")
    assert said in told


def test_what_must_be_right_to_the_letter_is_always_read_back(tmp_path: Path) -> None:
    (tmp_path / "agent.yaml").write_text(GOOD)
    agent = load_agent(tmp_path / "agent.yaml")
    assert [collected(value).rule.confirm for value in agent.collect.values()] == ["always", "doubtful"]


def test_parameters_that_no_tool_has_are_told() -> None:
    tools: dict[str, JsonObject] = {"book": {"properties": {"phone": {}}}}
    assert list(unknown_parameters(["book.phone"], tools)) == []
    assert list(unknown_parameters(["brook.phone", "book.fone"], tools)) == [
        "collect: brook.phone: the agent has no tool 'brook'; did you mean book?",
        "collect: book.fone: the tool book has no parameter 'fone'; did you mean phone?",
    ]
