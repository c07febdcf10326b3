"""A scenario whose caller is a person: a recording is played to the demo agent on published models."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from tests.people.people import recordings
from tests.real.models import fetched
from voiceagent.cli import cli

SAID = "What's the weather like?"


def test_a_person_is_heard_and_answered(tmp_path: Path) -> None:
    fetched("--profile", "starter")
    person = next(one for one in recordings("utterances") if one.text == SAID)
    (tmp_path / "people.yaml").write_text(
        "scenarios:\n"
        "  - name: A person asks about the weather\n"
        f"    caller: [{{say: {{audio: {json.dumps(str(person.path))}, text: {json.dumps(SAID)}}}}}]\n"
        "    expect: {understood: [weather], tools: [get_weather], answered: true}\n"
    )
    found = CliRunner().invoke(cli, ["eval", str(tmp_path), "--profile", "starter", "--by", "both"], standalone_mode=False)
    assert found.return_value == 0, found.output
