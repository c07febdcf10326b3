"""What a checkout promises to whoever sets it up."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]


LOCKS = sorted((ROOT / "requirements").glob("*.lock"))
LINK_MODE = "120000"
"""Of a symbolic link in git's index."""
LINE = re.compile(r"[a-z0-9.-]+==[0-9][A-Za-z0-9.]* \\|    --hash=sha256:[0-9a-f]{64}( \\)?")


def pins(*names: str) -> set[str]:
    """What these locks, or constraints.txt, name."""
    files = [ROOT / "requirements" / f"{name}.lock" for name in names] or [ROOT / "constraints.txt"]
    return {pin for file in files for pin in re.findall(r"^([a-z0-9.-]+==[^ \n]+)", file.read_text(), re.MULTILINE)}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_a_lock_holds_names_versions_and_hashes_and_nothing_else(lock: Path) -> None:
    head, *lines = lock.read_text().splitlines()
    assert head == "# Made by make lock. Names, versions and hashes, nothing else."
    assert [line for line in lines if not LINE.fullmatch(line)] == []
    assert len(re.findall(r"==\S+ \\\n +--hash=", lock.read_text())) == len(pins(lock.stem))


def test_constraints_are_the_versions_that_are_locked() -> None:
    assert pins() == pins("runtime", "test")
    assert not pins("runtime") & pins("test")


@pytest.mark.parametrize("extra", ["noise", "postgresql", "redis", "remote"])
def test_the_image_takes_what_is_optional_in_the_versions_that_were_tested(extra: str) -> None:
    name = extra.upper()
    assert pins(extra) <= pins("test")
    installed = rf'"\${name}" = 1.*install-locked\.sh \S+ requirements/{extra}\.lock'
    assert re.search(installed, (ROOT / "Dockerfile").read_text())
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    ours = [service for service in services.values() if service.get("image", "").startswith("voiceagent:")]
    assert ours
    assert all(service["build"]["args"][name] == f"${{AGENT_{name}:-0}}" for service in ours)


def test_every_direct_requirement_is_locked_and_torch_is_none_of_them() -> None:
    toml = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = toml["project"]
    extras = project["optional-dependencies"]
    for wanted, lock in (
        (project["dependencies"], "runtime"),
        (extras["test"], "test"),
        (extras["noise"], "noise"),
        (extras["talk"], "talk"),
        (extras["postgresql"], "postgresql"),
        (extras["redis"], "redis"),
        (extras["remote"], "remote"),
        (toml["build-system"]["requires"], "build"),
    ):
        names = {re.split(r"[\[<>=~! ]", requirement, maxsplit=1)[0].lower().replace("_", "-") for requirement in wanted}
        assert names - {pin.split("==")[0] for pin in pins(lock)} == set()
    assert not [pin for pin in pins() if pin.startswith("torch")]


def wheel(folder: Path, *, code: str) -> Path:
    """A package of one file."""
    file = folder / "small-1.0-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("small.py", code)
        archive.writestr("small-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: small\nVersion: 1.0\n")
        archive.writestr("small-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("small-1.0.dist-info/RECORD", "")
    return file


def test_a_package_that_is_not_the_one_that_was_locked_is_not_installed(tmp_path: Path) -> None:
    for folder in ("scripts", "requirements", "index"):
        (tmp_path / folder).mkdir()
    script = shutil.copy(ROOT / "scripts" / "install-locked.sh", tmp_path / "scripts")
    (tmp_path / "requirements" / "build.lock").write_text("# none\n")
    digest = hashlib.sha256(wheel(tmp_path / "index", code="honest = True\n").read_bytes()).hexdigest()
    lock = tmp_path / "requirements" / "runtime.lock"
    lock.write_text(f"small==1.0 \\\n    --hash=sha256:{digest}\n")
    venv.create(tmp_path / "venv", with_pip=True)
    environment = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path / "index"), "PIP_NO_CACHE_DIR": "1"}
    python = tmp_path / "venv" / "bin" / "python"

    def installed() -> subprocess.CompletedProcess[str]:
        command = ["bash", str(script), str(tmp_path / "venv"), str(lock)]
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)

    wheel(tmp_path / "index", code="honest = False\n")
    refused = installed()
    assert refused.returncode != 0
    assert "DO NOT MATCH THE HASHES" in refused.stderr
    assert subprocess.run([python, "-c", "import small"], capture_output=True, check=False).returncode != 0

    lock.write_text("small==1.0\n")
    assert "Hashes are required" in installed().stderr

    digest = hashlib.sha256((tmp_path / "index" / "small-1.0-py3-none-any.whl").read_bytes()).hexdigest()
    lock.write_text(f"small==1.0 \\\n    --hash=sha256:{digest}\n")
    assert installed().returncode == 0
    assert subprocess.run([python, "-c", "import small"], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("file", ["Makefile", "Dockerfile"])
def test_voiceagent_is_installed_beside_what_is_locked_and_brings_nothing_with_it(file: str) -> None:
    text = (ROOT / file).read_text()
    assert re.search(r"install-locked\.sh.* \S*requirements/runtime\.lock", text)
    for line in re.findall(r"pip install .*(?: -e \.| \.| \S*voiceagent-\*\.whl)(?= |$)", text, re.MULTILINE):
        assert "--no-deps --no-index" in line


def test_the_wheel_is_tried_with_nothing_but_what_is_locked() -> None:
    house, tried = ((ROOT / "scripts" / f"{name}.sh").read_text() for name in ("wheelhouse", "wheel-test"))
    assert "--require-hashes" in house
    assert "requirements/runtime.lock" in house
    assert 'PIP_INDEX_URL="http://127.0.0.1:' in tried


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


def test_no_link_that_is_committed_leads_out_of_the_checkout() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout")
    listed = subprocess.run(["git", "ls-files", "--stage"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    links = [line.partition("\t")[2] for line in listed.splitlines() if line.startswith(LINK_MODE)]
    outside = [
        link for link in links if Path(os.readlink(ROOT / link)).is_absolute() or not (ROOT / link).resolve().is_relative_to(ROOT)
    ]
    assert outside == []
