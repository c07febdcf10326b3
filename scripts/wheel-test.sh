#!/usr/bin/env bash
# Proves that the wheel is whole: builds it, installs it with what requirements/runtime.lock names into an empty virtual environment
# far from the checkout, checks that nothing that it requires is missing there, serves with it, and asks for readiness and the page.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
away=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$away"' EXIT

"$here/.venv/bin/python" -m pip wheel -qq --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir "$away" "$here"
ls -l "$away"/voiceagent-*.whl
"${PYTHON:-python3}" -m venv "$away/venv"
bash "$here/scripts/install-locked.sh" "$away/venv" "$here/requirements/runtime.lock"
bash "$here/scripts/remove-build-tools.sh" "$away/venv" "$here/requirements/runtime.lock"
"$away/venv/bin/pip" install -qq --disable-pip-version-check --no-deps --no-index "$away"/voiceagent-*.whl
"$away/venv/bin/pip" check --disable-pip-version-check
cd "$away"
export VOICEAGENT_DATA="$away/data" HOME="$away"
"$away/venv/bin/voiceagent" --version
"$away/venv/bin/voiceagent" models verify
port=$("$away/venv/bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$away/venv/bin/voiceagent" serve --port "$port" >"$away/server.log" 2>&1 &
server=$!
"$away/venv/bin/python" - "$port" "$server" <<'PY' || { echo "the installed wheel does not serve:" >&2; cat "$away/server.log" >&2; exit 1; }
import os, sys, time, urllib.error, urllib.request

port, server = sys.argv[1:]
address = f"http://127.0.0.1:{port}"
deadline_s = time.monotonic() + 120
while True:
    try:
        with urllib.request.urlopen(f"{address}/readyz", timeout=5) as answer:
            assert answer.status == 200
            break
    except (urllib.error.URLError, ConnectionError) as error:
        os.kill(int(server), 0)
        if time.monotonic() > deadline_s:
            sys.exit(f"not ready after two minutes: {error}")
        time.sleep(0.5)
with urllib.request.urlopen(address, timeout=5) as answer:
    page = answer.read().decode()
assert "<html" in page, page[:200]
print(f"the installed wheel is ready and serves its page ({len(page)} characters)")
PY
