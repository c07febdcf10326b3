"""What a checkout promises to whoever sets it up."""

import json
import re
import subprocess
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]


def test_constraints_pin_names_and_versions_and_nothing_else() -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert len(lines) > 50
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9][A-Za-z0-9.]*", line)] == []


def test_every_direct_requirement_is_pinned_and_torch_is_none_of_them() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["test"]]
    names = {re.split(r"[<>=~! ]", requirement, maxsplit=1)[0].lower().replace("_", "-") for requirement in wanted}
    pins = (line.split("==")[0].lower().replace("_", "-") for line in (ROOT / "constraints.txt").read_text().splitlines())
    pinned = set(pins)
    assert names - pinned == set()
    assert "torch" not in pinned


def test_the_npm_lock_names_no_address() -> None:
    packages = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    assert all("resolved" not in package for package in packages.values())
    assert all("integrity" in package for name, package in packages.items() if name)


def test_an_old_python_is_told_in_one_line(tmp_path: Path) -> None:
    old = tmp_path / "python3.9"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "Python 3.9.2" && exit 0\nexit 1\n')
    old.chmod(0o755)
    command = ["make", "--no-print-directory", "setup", f"PYTHON={old}", f"VENV={tmp_path}/venv"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode != 0
    assert "voiceagent needs Python 3.11 or newer; Python 3.9.2 is" in ended.stderr
    assert not (tmp_path / "venv").exists()


def test_make_help_lists_every_target() -> None:
    text = (ROOT / "Makefile").read_text()
    targets = set(next(line for line in text.splitlines() if line.startswith(".PHONY")).split()[1:]) - {"help"}
    helped = subprocess.run(["make", "--no-print-directory", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert targets == set(re.findall(r"^make ([a-z-]+)", helped, re.MULTILINE))


def test_the_registry_files_are_hub_models_at_fixed_commits() -> None:
    models = yaml.safe_load((ROOT / "models" / "registry.yaml").read_text())["models"]
    pulled = [model for model in models.values() if "repository" in model]
    assert pulled
    assert all(re.fullmatch(r"[0-9a-f]{40}", model["revision"]) for model in pulled)
