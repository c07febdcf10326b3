"""`voiceagent cluster` where Ray is not installed, and with options that cannot work. tests/cluster/on_ray.py has the rest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Outcome
from tests.cli.test_bad_input import refused

Run = Callable[..., Outcome]


@pytest.mark.parametrize("command", [("up",), ("status",), ("drain", "1"), ("down",)])
def test_without_ray_it_says_what_to_install(voiceagent: Run, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]) -> None:
    monkeypatch.setattr("voiceagent.cluster.ray_package.find_spec", lambda name: None)
    refused(voiceagent("cluster", *command), r"Ray is not installed; .*pip install 'voiceagent\[cluster\]'")


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray is there; nothing here starts it."""
    monkeypatch.setattr("voiceagent.cluster.ray_package.find_spec", lambda name: object())


@pytest.mark.usefixtures("ray")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--workers", "3", "--max-workers", "2"), r"--max-workers is 2, and --workers is 3"),
        (("--host", "0.0.0.0"), r"0\.0\.0\.0"),
        (("--workers", "0"), r"--workers"),
        (("--region", "eu", "--region", "us"), r"several regions are several machines"),
        (("--link", "one:7070", "--link", "two:7070"), r"several gateways need a Ray that outlives each"),
        (("--address", "auto"), r"\$VOICEAGENT_CLUSTER_KEY has 0 characters, expected 16 or more"),
    ],
)
def test_options_that_cannot_work_are_refused(
    voiceagent: Run, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], said: str
) -> None:
    monkeypatch.delenv("VOICEAGENT_CLUSTER_KEY", raising=False)
    refused(voiceagent("cluster", "up", *options), said)


@pytest.mark.usefixtures("ray")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("media: {ports: 40000-40003}", r"media\.ports has 4 ports, expected 6 or more"),
        (
            "telephony: {audiosocket: '127.0.0.1:9092'}",
            r"telephony\.audiosocket: a cluster has no process for this line",
        ),
    ],
)
def test_agents_that_no_cluster_can_serve_are_refused(voiceagent: Run, tmp_path: Path, text: str, said: str) -> None:
    agent = tmp_path / "agent.yaml"
    agent.write_text(text + "\n")
    refused(voiceagent("cluster", "up", "--workers", "3", "--config", str(agent)), said)
