#!/usr/bin/env bash
# Takes out of a virtual environment what builds packages and is needed no more: what build.lock has and the LOCKs have not.
#   remove-build-tools.sh VENV LOCK…
set -euo pipefail
python=$1/bin/python
shift
names() { sed -n 's/^\([A-Za-z0-9_.-]*\)==.*/\1/p' "$@" | sort -u; }
comm -23 <(names "$(dirname "$0")/../requirements/build.lock") <(names "$@") \
  | xargs "$python" -m pip uninstall -qq --disable-pip-version-check --yes
