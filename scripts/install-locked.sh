#!/usr/bin/env bash
# Installs the packages of lock files into a virtual environment, each file checked by its hash, and first what builds packages, from
# requirements/build.lock: so nothing is built with tools that were not checked.
#   install-locked.sh VENV LOCK…
set -euo pipefail
python=$1/bin/python
shift
pip=("$python" -m pip install -qq --disable-pip-version-check --require-hashes --no-deps)
"${pip[@]}" --only-binary :all: -r "$(dirname "$0")/../requirements/build.lock"
# docopt has no wheel; whatever else had none would be refused here.
"${pip[@]}" --no-build-isolation --only-binary :all: --no-binary docopt "${@/#/--requirement=}"
