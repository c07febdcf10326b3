#!/usr/bin/env bash
# Proves that voiceagent can be installed without a clone, as a user does it: builds the wheel, puts it with the packages of
# requirements/ into a package index on loopback that has nothing else, and installs it far from the checkout by `pip install
# voiceagent` and by `pipx run voiceagent`. Each of the two serves on bundled models, and answers a real call. pipx itself is one of
# the programs of requirements/supply.lock.
#   WHEELHOUSE=FOLDER SUPPLY_VENV=FOLDER wheel-test.sh
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
supply=$(cd "${SUPPLY_VENV:?}" && pwd)
bash "$here/scripts/wheelhouse.sh" "${WHEELHOUSE:?}"
house=$(cd "$WHEELHOUSE" && pwd)
away=$(mktemp -d)
running=()
trap 'kill "${running[@]}" 2>/dev/null || true; rm -rf "$away"' EXIT

"$here/.venv/bin/python" -m pip wheel -qq --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir "$away" "$here"
ls -l "$away"/voiceagent-*.whl

# A simple index (PEP 503) is a folder for each package, named in its normal form; the server lists what is in it.
for file in "$away"/voiceagent-*.whl "$house"/*.whl; do
  name=$(basename "$file" | sed -E 's/-[0-9].*//; s/[-_.]+/-/g' | tr '[:upper:]' '[:lower:]')
  mkdir -p "$away/index/simple/$name"
  ln -s "$file" "$away/index/simple/$name/"
done
# Nothing of this machine's configuration may reach beyond that index.
for variable in $(compgen -e | grep -E '^(PIP|PIPX|UV|VOICEAGENT)_' || true); do unset "$variable"; done
unset PYTHONPATH VIRTUAL_ENV
export PIP_CONFIG_FILE=/dev/null PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 UV_NO_CONFIG=1 UV_NO_CACHE=1 UV_LINK_MODE=copy
export HOME="$away" XDG_CACHE_HOME="$away/cache" OMP_NUM_THREADS=1
: >"$away/index.log"
"$here/.venv/bin/python" -u -m http.server --bind 127.0.0.1 --directory "$away/index" 0 >>"$away/index.log" 2>&1 &
running+=($!)
port=$(set +o pipefail; tail -n +1 -f --pid=$! "$away/index.log" | sed -nE '/^Serving HTTP on .* port ([0-9]+) .*/{s//\1/p;q}')
export PIP_INDEX_URL="http://127.0.0.1:$port/simple" UV_DEFAULT_INDEX="http://127.0.0.1:$port/simple"
cd "$away"

# Starts a server by the command given, waits until it answers, calls it, and stops it.
answers() {
  local name=$1 began=$SECONDS
  shift
  mkdir -p "$away/$name"
  : >"$away/$name/log"
  VOICEAGENT_DATA="$away/$name/data" PYTHONUNBUFFERED=1 "$@" serve --port 0 >>"$away/$name/log" 2>&1 &
  local server=$!
  running+=("$server")
  local url
  url=$(set +o pipefail; timeout 180 tail -n +1 -f --pid="$server" "$away/$name/log" | sed -nE '/answers at (http[^ ]+)/{s/.*answers at (http[^ ]+).*/\1/p;q}')
  if [ -z "$url" ] || ! "$away/venv/bin/voiceagent" call --url "$url" --say "What time is it in Paris?" >"$away/$name/call"; then
    echo "$name does not serve:" >&2
    cat "$away/$name"/* >&2
    exit 1
  fi
  grep -E '^ +get_time' "$away/$name/call"
  "$here/.venv/bin/python" -c 'import sys, urllib.request as r; assert "<html" in r.urlopen(sys.argv[1], timeout=5).read().decode()' "$url"
  kill "$server"
  wait "$server"
  echo "ok: $name serves its page and answers a call ($((SECONDS - began)) s)"
}

"${PYTHON:-python3}" -m venv "$away/venv"
"$away/venv/bin/pip" install -qq voiceagent
"$away/venv/bin/pip" check
"$away/venv/bin/voiceagent" --version
"$away/venv/bin/voiceagent" models verify
"$away/venv/bin/voiceagent" init own --yes
"$away/venv/bin/voiceagent" eval own/scenarios --agent own/agent.yaml --profile embedded
answers "pip install voiceagent" "$away/venv/bin/voiceagent"
answers "pipx run voiceagent" "$supply/bin/pipx" run --backend uv voiceagent
