"""Looks up what is locked in the lists of known faults: the Python packages by pip-audit, the npm packages by npm. Ends with 1
when one has a known fault. A list that cannot be reached is no clean bill: each package that nobody looked up is counted and
said, in a line that begins with NOT SCANNED; with AUDIT_STRICT=1 that ends with 1 too. requirements/accepted-faults.txt names
faults that were judged harmless here, and why."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ACCEPTED = ROOT / "requirements" / "accepted-faults.txt"
SHOWN = 5
"""Names of packages in one line."""


@dataclass(frozen=True, slots=True)
class Scan:
    """What one program found out."""

    scanned: int
    """Packages that were looked up."""
    faults: tuple[str, ...]
    """One line each."""
    unscanned: tuple[str, ...]
    """Packages that were not looked up."""
    reason: str = ""
    """Why they were not."""


def accepted(text: str) -> set[str]:
    """The identifiers of faults that were judged harmless: the first word of each line; the rest of the line says why. Raises
    ValueError for one without a reason."""
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line.strip() and not line.startswith("#")]
    bare = next((line[0] for line in lines if len(line) < 2), None)
    if bare is not None:
        raise ValueError(f"{ACCEPTED.name}: {bare} has no reason; write why it does no harm here, behind it")
    return {line[0] for line in lines}


def read_pip_audit(report: dict[str, Any], harmless: set[str]) -> Scan:
    """What `pip-audit --format json` found. A package that its source does not know is among those that were not scanned."""
    packages = report["dependencies"]
    skipped = [package for package in packages if "skip_reason" in package]
    return Scan(
        scanned=len(packages) - len(skipped),
        faults=tuple(_python_faults(packages, harmless)),
        unscanned=tuple(package["name"] for package in skipped),
        reason=skipped[0]["skip_reason"] if skipped else "",
    )


def _python_faults(packages: Sequence[dict[str, Any]], harmless: set[str]) -> Iterator[str]:
    for package in packages:
        for fault in package.get("vulns", ()):
            if not harmless & {fault["id"], *fault.get("aliases", ())}:
                fixed = ", ".join(fault.get("fix_versions", ())) or "no version yet"
                yield f"{package['name']} {package['version']}: {fault['id']}, mended in {fixed}"


def read_npm_audit(report: dict[str, Any], packages: Sequence[str], harmless: set[str]) -> Scan:
    """What `npm audit --json` found about `packages`, those of the lock."""
    if "vulnerabilities" not in report:
        return Scan(0, (), tuple(packages), str(report.get("message", "npm audit gave no report")))
    found = []
    for name, entry in report["vulnerabilities"].items():
        advisories = [via for via in entry["via"] if isinstance(via, dict)]
        urls = {str(via.get("url", "")).rpartition("/")[2] for via in advisories} or {str(name)}
        if urls - harmless:
            found.append(f"{name} {entry.get('range', '')}: {', '.join(sorted(urls - harmless))} ({entry['severity']})")
    return Scan(len(packages), tuple(found), ())


def told(kind: str, scan: Scan) -> Iterator[str]:
    """The lines about one scan."""
    yield from (f"FAULT {kind}: {fault}" for fault in scan.faults)
    if scan.scanned:
        yield f"{kind}: {scan.scanned} packages scanned, {len(scan.faults)} known faults"
    if scan.unscanned:
        names = ", ".join(scan.unscanned[:SHOWN]) + (", …" if len(scan.unscanned) > SHOWN else "")
        yield f"NOT SCANNED {kind}: {len(scan.unscanned)} packages ({names}): {scan.reason[:200]}"


def _python_packages(harmless: set[str], options: Sequence[str]) -> Scan:
    locks = sorted((ROOT / "requirements").glob("*.lock"))
    named = [f"--requirement={lock}" for lock in locks]
    command = [sys.executable, "-m", "pip_audit", "--require-hashes", "--disable-pip", "--progress-spinner=off", "--format=json"]
    ended = subprocess.run([*command, *named, *options], capture_output=True, text=True, check=False)
    try:
        return read_pip_audit(json.loads(ended.stdout), harmless)
    except (ValueError, KeyError):
        names = [line.partition("==")[0] for lock in locks for line in lock.read_text().splitlines() if "==" in line]
        reason = ended.stderr.strip().splitlines()[-1] if ended.stderr.strip() else f"pip-audit ended with {ended.returncode}"
        return Scan(0, (), tuple(dict.fromkeys(names)), reason)


def _npm_packages(harmless: set[str]) -> Scan:
    packages = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    names = [name.removeprefix("node_modules/") for name in packages if name]
    try:
        ended = subprocess.run(["npm", "audit", "--json"], cwd=ROOT, capture_output=True, text=True, check=False)
        return read_npm_audit(json.loads(ended.stdout), names, harmless)
    except (OSError, ValueError) as error:
        return Scan(0, (), tuple(names), f"npm audit did not run: {error}")


def main(options: Sequence[str]) -> int:
    """`options` go to pip-audit, such as `-s osv`."""
    harmless = accepted(ACCEPTED.read_text())
    scans = {"Python": _python_packages(harmless, options), "npm": _npm_packages(harmless)}
    for kind, scan in scans.items():
        print("\n".join(told(kind, scan)))
    faulty = any(scan.faults for scan in scans.values())
    blind = any(scan.unscanned for scan in scans.values())
    return 1 if faulty or (blind and os.environ.get("AUDIT_STRICT") == "1") else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
