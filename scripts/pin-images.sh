#!/usr/bin/env bash
# Writes the digest of every image that is not ours behind its version, in docker-compose.yml and the Dockerfile: what runs is then what
# was looked at, whoever moves a tag. Asks the images' registry with skopeo (Debian: apt-get install skopeo). REGISTRY=HOST/ asks a
# mirror; further options for skopeo come as arguments.
set -euo pipefail
cd "${PIN_FOLDER:-$(dirname "$0")/..}"
command -v skopeo >/dev/null || { echo "skopeo is missing (Debian: apt-get install skopeo)" >&2; exit 1; }

images=$(sed -nE 's/^ +image: ([^@ ]+)(@[^ ]+)?$/\1/p; s/^ARG PYTHON_IMAGE=([^@ ]+)(@[^ ]+)?$/\1/p' docker-compose.yml Dockerfile | grep -v '^voiceagent:' | sort -u)
edits=()
for image in $images; do
  digest=$(skopeo inspect "$@" --format '{{.Digest}}' "docker://${REGISTRY:-}$image") \
    || { echo "$image was not looked up; nothing is changed" >&2; exit 1; }
  [[ $digest =~ ^sha256:[0-9a-f]{64}$ ]] || { echo "$image: $digest is no digest; nothing is changed" >&2; exit 1; }
  edits+=(-e "s|^( +image: \|ARG PYTHON_IMAGE=)${image//./\\.}(@[^ ]+)?\$|\\1$image@$digest|")
  echo "$image@$digest"
done
sed -E -i "${edits[@]}" docker-compose.yml Dockerfile
