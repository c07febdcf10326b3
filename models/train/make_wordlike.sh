#!/usr/bin/env bash
# Makes voiceagent/audio/wordlike.txt: some ten minutes on two cores, 0.9 GB of Debian packages. Their licences let everybody listen to
# the sounds; none of them is shipped. With a folder that has the unpacked packages, one below another, nothing is fetched.
#   bash models/train/make_wordlike.sh [FOLDER]
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${PYTHON:-.venv/bin/python}
export OMP_NUM_THREADS=1 PYTHONPATH=.
folder=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/voiceagent-people-sounds/x}
if [ -z "${1:-}" ]; then
  mkdir -p "$folder"
  for package in $("$python" -c 'from models.train.wordlike.material import PACKAGES; print(*PACKAGES)'); do
    [ -d "$folder/$package" ] && continue
    (cd "$folder" && apt-get download "$package" && dpkg -x "$package"_*.deb "$package" && rm "$package"_*.deb)
  done
fi
"$python" -m models.train.wordlike.fit "$folder"
