"""The scan for known faults: what it finds ends the check, what it could not look up is said."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FAULT = {"id": "PYSEC-2026-1", "aliases": ["CVE-2026-1"], "fix_versions": ["1.1"], "description": "Bad."}


@pytest.fixture(scope="module")
def audit() -> ModuleType:
    spec = importlib.util.spec_from_file_location("audit", ROOT / "scripts" / "audit.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["audit"] = module
    spec.loader.exec_module(module)
    return module


def python_report(*faults: dict[str, Any]) -> dict[str, Any]:
    """As pip-audit 2.10 writes it."""
    unknown = {"name": "b", "skip_reason": "Dependency not found on PyPI and could not be audited: b (2.0)"}
    return {"dependencies": [{"name": "a", "version": "1.0", "vulns": list(faults)}, unknown], "fixes": []}


def test_a_known_fault_is_named_with_the_version_that_mends_it(audit: ModuleType) -> None:
    scan = audit.read_pip_audit(python_report(FAULT), set())
    assert scan.faults == ("a 1.0: PYSEC-2026-1, mended in 1.1",)
    assert scan.scanned == 1


@pytest.mark.parametrize("name", ["PYSEC-2026-1", "CVE-2026-1"])
def test_a_fault_that_was_judged_harmless_is_none(audit: ModuleType, name: str) -> None:
    assert audit.read_pip_audit(python_report(FAULT), {name}).faults == ()


def test_a_package_that_nobody_looked_up_is_not_taken_for_a_good_one(audit: ModuleType) -> None:
    lines = list(audit.told("Python", audit.read_pip_audit(python_report(), set())))
    assert lines[0] == "Python: 1 packages scanned, 0 known faults"
    assert lines[1].startswith("NOT SCANNED Python: 1 packages (b): Dependency not found")


def test_a_registry_that_takes_no_question_is_said(audit: ModuleType) -> None:
    scan = audit.read_npm_audit({"message": "405 Method Not Allowed", "statusCode": 405}, ["one", "two"], set())
    assert list(audit.told("npm", scan)) == ["NOT SCANNED npm: 2 packages (one, two): 405 Method Not Allowed"]


def test_what_npm_knows_is_a_fault_unless_it_was_judged_harmless(audit: ModuleType) -> None:
    via = {"url": "https://advisories.example/GHSA-1", "severity": "high"}
    report = {"vulnerabilities": {"one": {"via": [via], "severity": "high", "range": "<2"}}}
    assert audit.read_npm_audit(report, ["one"], set()).faults == ("one <2: GHSA-1 (high)",)
    assert audit.read_npm_audit(report, ["one"], {"GHSA-1"}).faults == ()


def test_a_fault_is_accepted_only_with_a_reason(audit: ModuleType) -> None:
    assert audit.accepted("# none\nCVE-1 only read by tests\n") == {"CVE-1"}
    with pytest.raises(ValueError, match="CVE-2 has no reason"):
        audit.accepted("CVE-2\n")
    assert isinstance(audit.accepted(audit.ACCEPTED.read_text()), set)
