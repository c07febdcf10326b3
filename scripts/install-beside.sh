#!/usr/bin/env bash
# Makes a virtual environment for other people's programs that tests run beside voiceagent, from a list of exact versions:
#   install-beside.sh LIST VENV
# The environment lies outside the checkout and is made anew only when the list has changed. Lines of the list that begin with
# "# import:" name the modules that must be there.
set -euo pipefail
[ $# = 2 ] || { echo "usage: $0 LIST VENV" >&2; exit 2; }
list=$(realpath "$1")
venv=$2
python=${PYTHON:-python3}
wanted=$(cat "$list" "$0" | sha256sum | cut -c1-64)

fail() {
  echo "what $list names cannot be installed: $1" >&2
  exit 1
}

mkdir -p "$(dirname "$venv")"
exec 9>"$venv.lock"
flock 9
[ "$(cat "$venv/.installed" 2>/dev/null)" != "$wanted" ] || exit 0

"$python" -c 'import sys; sys.exit(sys.version_info[:2] < (3, 11))' || fail "Python 3.11 or newer is needed; name one with PYTHON=…"
echo "making $venv from $(basename "$list") (half a minute, up to 250 MB)"
"$python" -m venv --clear "$venv"
"$venv/bin/python" -m pip install -qq --disable-pip-version-check --no-deps --only-binary :all: -r "$list" \
  || fail "a package could not be installed, see above"
sed -n 's/^# import: //p' "$list" | while read -r module; do
  "$venv/bin/python" -c "import $module" >/dev/null 2>&1 || fail "$venv/bin/python cannot import $module; delete $venv and try again"
done
echo "$wanted" > "$venv/.installed"
