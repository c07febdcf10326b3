"""What the page offers to say: `examples` in agent.yaml."""

from __future__ import annotations

from pathlib import Path

import pytest

from voiceagent.errors import ConfigError
from voiceagent.settings.agent import load_agent

SHIPPED = sorted(Path(__file__).parents[2].glob("examples/*/agent*.yaml"))


@pytest.mark.parametrize("file", SHIPPED, ids=[f"{file.parent.name}/{file.name}" for file in SHIPPED])
def test_every_shipped_agent_has_things_to_say(file: Path) -> None:
    examples = load_agent(file).examples
    assert 3 <= len(set(examples)) == len(examples)


@pytest.mark.parametrize(
    "written",
    ["examples: [a, b, c, d, e, f]", f"examples: [{'a' * 121}]", "examples: ['']", "examples: [' ']", "examples: Hello."],
)
def test_a_mistake_in_examples_is_one_line_that_names_them(tmp_path: Path, written: str) -> None:
    (tmp_path / "agent.yaml").write_text(f"name: Desk\n{written}\n")
    with pytest.raises(ConfigError, match=r"agent\.yaml:2: .*examples") as raised:
        load_agent(tmp_path / "agent.yaml")
    assert "\n" not in str(raised.value)
