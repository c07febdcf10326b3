"""The files for systemd, judged by its own tools. `make image-test` boots a real systemd with them."""

from __future__ import annotations

import re
import subprocess
import sys
from configparser import RawConfigParser
from pathlib import Path

import pytest

from tests.docs.test_documents import told
from tests.programs import program
from voiceagent.server.calls.draining import DRAIN_TIMEOUT_S

FOLDER = Path(__file__).resolve().parents[2] / "deploy" / "systemd"
UNIT = (FOLDER / "voiceagent.service").read_text()
MOST_EXPOSED = 1.5
"""Of ten, by `systemd-analyze security`. What is left is what a server needs: sockets, and the machine's network."""


def setting(name: str) -> str:
    found: list[str] = re.findall(rf"^{name}=(.*)$", UNIT, re.MULTILINE)
    return found[-1]


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """The unit with this environment's program in place of one in /opt."""
    here = Path(sys.executable).with_name("voiceagent")
    file = tmp_path / "voiceagent.service"
    file.write_text(UNIT.replace("/opt/voiceagent/bin/voiceagent", str(here)))
    return file


def test_systemd_takes_the_unit(unit: Path) -> None:
    command = [program("systemd-analyze", "systemd"), "verify", "--man=no", str(unit)]
    judged = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (judged.returncode, "voiceagent.service" in judged.stderr) == (0, False), judged.stderr


def test_a_wrong_setting_would_be_told(unit: Path) -> None:
    unit.write_text(unit.read_text().replace("ProtectSystem=strict", "ProtectSistem=strict"))
    command = [program("systemd-analyze", "systemd"), "verify", "--man=no", str(unit)]
    judged = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert re.search("voiceagent.service:[0-9]+: Unknown key.*ProtectSistem", judged.stderr)


def test_systemd_finds_little_that_the_service_may_do(unit: Path) -> None:
    limit = f"--threshold={MOST_EXPOSED * 10:.0f}"
    command = [program("systemd-analyze", "systemd"), "security", "--offline=true", "--no-pager", limit, str(unit)]
    judged = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert judged.returncode == 0, judged.stdout


def test_a_stop_drains_and_has_the_time_for_it() -> None:
    assert setting("KillSignal") == "SIGUSR1"
    assert float(setting("TimeoutStopSec")) > DRAIN_TIMEOUT_S


def test_its_user_owns_the_folders_that_it_writes_to() -> None:
    name, _, home = re.findall(r"^u (\S+) - \"(\w+)\" (\S+)$", (FOLDER / "sysusers.conf").read_text(), re.MULTILINE)[0]
    assert (setting("User"), setting("StateDirectory")) == (name, home.rpartition("/")[2])
    assert f"VOICEAGENT_DATA={home}" in UNIT


def test_the_example_of_the_environment_names_variables_that_exist() -> None:
    reader = RawConfigParser()
    reader.optionxform = str  # type: ignore[assignment, method-assign]
    reader.read_string("[x]\n" + re.sub(r"^#(?=\w+=)", "", (FOLDER / "environment.example").read_text(), flags=re.MULTILINE))
    assert set(reader["x"]) - {"VOICEAGENT_OPTIONS"} <= set(told())
    assert "$VOICEAGENT_OPTIONS" in setting("ExecStart")
