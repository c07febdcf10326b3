"""Scenario files with mistakes: one line that names the file, the line and what was meant."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from voiceagent.cli.eval import eval_
from voiceagent.errors import ConfigError
from voiceagent.scenarios.scenario import chosen, load_scenarios

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("scenarios: []", "a.yaml:1: scenarios is empty"),
        ("scenarios:\n  - name: x\n    caller:\n      - sya: hi\n", "a.yaml:4: .*unknown field `sya`; did you mean say"),
        (
            "scenarios:\n  - name: x\n    caller: [{say: hi}]\n    by: [phone]\n",
            "a.yaml:4: .*'phone'.*expected one of text, speech",
        ),
        ("scenarios:\n  - name: x\n    caller: [{wait_s: 1}]\n", "x: the caller says nothing"),
        ("scenarios:\n  - name: x\n    caller: [{say: hi, over_reply_after_s: 1}]\n", "over_reply_after_s needs a reply"),
        ("scenarios:\n  - name: x\n    caller: [{say: {audio: a.wav}}]\n", "a.wav: no such file"),
        ("scenarios:\n  - name: x\n    caller: [{sound: a.wav}]\n", "a.wav: no such file"),
        ("scenarios:\n  - name: x\n    caller: [{press: 12-3}]\n", "a.yaml:3: .*12-3"),
        ("scenarios:\n  - name: x\n    caller: [{press: '1', say: one}]\n", "does several things; expected one of"),
        (
            "scenarios:\n  - name: x\n    caller: [{say: hi, behaviour: backchanel}]\n",
            "'backchanel'.*did you mean backchannel|expected one of",
        ),
        ("scenarios:\n  - name: x\n    caller: [{say: hi, behaviour: stop}]\n", "stop is said over a reply"),
        ("scenarios:\n  - name: x\n    caller: [{say: hi, expect: {yields: true}}]\n", "yields is checked by speech"),
        ("scenarios:\n  - name: x\n    caller: [{say: hi, expect: {says: ['(']}}]\n", "is no regular expression"),
        (
            "scenarios:\n  - name: x\n    caller: [{say: hi}]\n  - name: x\n    caller: [{say: hi}]\n",
            "two scenarios are called 'x'",
        ),
        ("hello", "expected a mapping"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(ConfigError, match=said) as caught:
        load_scenarios([tmp_path])
    assert "\n" not in str(caught.value)


def test_scenarios_are_chosen_by_name_and_tag() -> None:
    found = load_scenarios([ROOT / "examples" / "demo" / "scenarios"])
    assert len(found) >= 40
    assert [one.name for one, _ in chosen(found, ["Tells a joke"], [])] == ["Tells a joke"]
    assert {tag for one, _ in chosen(found, [], ["line"]) for tag in one.tags} == {"line"}
    with pytest.raises(ConfigError, match="no tag is called 'interuption'; did you mean interruption"):
        chosen(found, [], ["interuption"])


def test_the_examples_of_the_page_can_be_used(tmp_path: Path) -> None:
    """The scenarios load, and the workflow has what GitHub asks of one, and options that `voiceagent eval` has."""
    blocks = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "scenarios.md").read_text(encoding="utf-8"), re.DOTALL)
    scripted, played, workflow = blocks
    (tmp_path / "a.yaml").write_text(scripted + played)
    assert len(load_scenarios([tmp_path])) == 2
    found = yaml.safe_load(workflow.replace("\non:", "\n'on':"))
    assert {"on", "jobs"} <= set(found)
    (job,) = found["jobs"].values()
    assert job["runs-on"]
    assert all(("uses" in step) is not ("run" in step) for step in job["steps"])
    (run,) = (step["run"] for step in job["steps"] if "voiceagent eval" in step.get("run", ""))
    known = {name for parameter in eval_.params for name in parameter.opts}
    assert {word for word in run.split() if word.startswith("--")} <= known
