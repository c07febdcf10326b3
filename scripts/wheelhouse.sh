#!/usr/bin/env bash
# Collects the packages of requirements/build.lock and runtime.lock in a folder, each checked by its hash, for an installation from
# that folder alone. It is made anew only when a lock has changed.
#   wheelhouse.sh FOLDER
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
house=$1
locks=("$here/requirements/build.lock" "$here/requirements/runtime.lock")
wanted=$(cat "${locks[@]}" "$here/scripts/wheelhouse.sh" | sha256sum | cut -c1-64)
mkdir -p "$house"
exec 9>"$house/.lock"
flock 9
[ "$(cat "$house/.complete" 2>/dev/null)" != "$wanted" ] || exit 0
rm -f "$house"/*.whl "$house"/*.tar.gz "$house/.complete"
# docopt has no wheel, so one is built beside it: a package index need not have what builds it.
"$here/.venv/bin/python" -m pip download -qq --disable-pip-version-check --require-hashes --no-deps --only-binary :all: \
  --no-binary docopt --dest "$house" "${locks[@]/#/--requirement=}"
"$here/.venv/bin/python" -m pip wheel -qq --disable-pip-version-check --no-deps --no-index --no-build-isolation \
  --wheel-dir "$house" "$house"/docopt-*.tar.gz
echo "$wanted" >"$house/.complete"
