#!/usr/bin/env bash
# Makes the virtual environment of `make test-telephony-peers`: the vendors' own libraries and Pipecat's serializers, at the versions of
# telephony-peers.txt. It lies outside the checkout ($TELEPHONY_VENV, else the user's cache), takes 250 MB and half a minute once, and is
# made anew only when the list has changed.
set -euo pipefail
cd "$(dirname "$0")"
venv=${TELEPHONY_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/voiceagent-telephony-peers}
python=${PYTHON:-python3}
wanted=$(sha256sum telephony-peers.txt install-telephony-peers.sh | sha256sum | cut -c1-64)

fail() {
  echo "the telephony peers cannot be installed: $1" >&2
  exit 1
}

mkdir -p "$(dirname "$venv")"
exec 9>"$venv.lock"
flock 9
[ "$(cat "$venv/.installed" 2>/dev/null)" != "$wanted" ] || exit 0

"$python" -c 'import sys; sys.exit(sys.version_info[:2] < (3, 11))' || fail "they need Python 3.11 or newer; name one with PYTHON=…"
echo "making $venv: Twilio's and Plivo's libraries, Pipecat's serializers (250 MB, half a minute)"
"$python" -m venv --clear "$venv"
"$venv/bin/python" -m pip install -qq --disable-pip-version-check --no-deps --only-binary :all: -r telephony-peers.txt \
  || fail "a package of scripts/telephony-peers.txt could not be installed, see above"
"$venv/bin/python" - <<'PYTHON' >/dev/null 2>&1 || fail "$venv/bin/python cannot import them; delete $venv and try again"
import plivo.utils.signature_v3
import pipecat.serializers.vonage
import twilio.request_validator
PYTHON
echo "$wanted" > "$venv/.installed"
