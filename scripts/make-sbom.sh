#!/usr/bin/env bash
# Writes what the environment of make setup consists of, as CycloneDX JSON, and checks that all that is locked is in it.
#   make-sbom.sh VENV FILE
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p "$(dirname "$2")"
"${SUPPLY_VENV:-.venv-supply}/bin/cyclonedx-py" environment --pyproject pyproject.toml --output-reproducible --validate -o "$2" "$1/bin/python"
"$1/bin/python" - "$2" requirements/runtime.lock requirements/test.lock requirements/build.lock <<'PYTHON'
import json
import pathlib
import re
import sys

bom, *locks = map(pathlib.Path, sys.argv[1:])
components = json.loads(bom.read_text())["components"]
named = {(re.sub("[-_.]+", "-", part["name"]).lower(), part["version"]) for part in components}
locked = {pin for lock in locks for pin in re.findall(r"^([A-Za-z0-9_.-]+)==(\S+)", lock.read_text(), re.MULTILINE)}
if missing := sorted(locked - named):
    sys.exit(f"{bom} has not what is locked: {missing}")
print(f"{bom}: {len(components)} packages, all {len(locked)} that are locked among them")
PYTHON
