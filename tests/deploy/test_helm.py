"""The Helm chart as files; `make test-helm` has Helm render it (tests/deploy/helm_chart.py)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.docs.test_documents import told
from voiceagent import __version__
from voiceagent.models.registry import registry
from voiceagent.server.calls.draining import DRAIN_TIMEOUT_S
from voiceagent.settings.agent import load_agent

CHART = Path(__file__).resolve().parents[2] / "deploy" / "helm" / "voiceagent"
VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
DEPLOYING = (CHART.parents[2] / "docs" / "deploy.md").read_text()


def test_the_chart_is_of_this_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["appVersion"] == chart["version"] == __version__


def test_the_values_are_those_of_the_schema_and_no_others() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    jsonschema.validate(VALUES, SCHEMA)
    assert set(VALUES) == set(SCHEMA["properties"]) - {"global"}
    for name, value in VALUES.items():
        if isinstance(value, dict) and "properties" in SCHEMA["properties"][name]:
            assert set(value) == set(SCHEMA["properties"][name]["properties"]), name


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("replica", 2),
        ("replicas", -1),
        ("existingSecret", ""),
        ("media", {"hostNetwork": True, "ports": "40000"}),
        ("media", {"hostNetwork": "yes", "ports": "40000-40063"}),
        ("persistence", {"data": {"size": "much"}, "models": {"size": "1Gi"}}),
        ("llm", {"url": "vllm:8000"}),
        ("agent", {"files": {"tools.py": ""}}),
        ("image", {"repository": "voiceagent", "tag": "a b"}),
    ],
)
def test_wrong_values_are_refused(name: str, value: object) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**VALUES, name: value}, SCHEMA)


def test_its_agent_is_one(tmp_path: Path) -> None:
    for name, text in VALUES["agent"]["files"].items():
        (tmp_path / name).write_text(text)
    load_agent(tmp_path / "agent.yaml")
    assert VALUES["profile"] in registry().profiles
    assert VALUES["drainTimeoutSeconds"] == DRAIN_TIMEOUT_S


def test_every_variable_that_it_sets_exists() -> None:
    templates = "".join(file.read_text() for file in (CHART / "templates").rglob("*.yaml"))
    assert set(re.findall(r"\bVOICEAGENT_[A-Z_]+[A-Z]", templates)) <= set(told())


def test_every_value_is_told() -> None:
    section = re.split(r"^## ", DEPLOYING.split("\n## Kubernetes\n")[1], maxsplit=1, flags=re.MULTILINE)[0]
    assert {name for name in VALUES if not re.search(rf"`{name}\b", section)} == set()
