#!/usr/bin/env bash
# Installs what the browser tests drive: Debian's Chromium and Firefox, where root may and they are missing, and the npm packages of
# package-lock.json. What cannot be installed is named, and its tests skip themselves visibly (with CI=true they fail).
set -euo pipefail
cd "$(dirname "$0")/.."

# One that may be installed under several names: Debian's package, then the commands.
browser() {
  local package=$1 name
  for name in "$@"; do
    if command -v "$name" >/dev/null; then return; fi
  done
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing $package"
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package" >/dev/null
  else
    echo "$package is missing: its browser tests will be skipped. Install it (Debian: apt-get install $package)." >&2
  fi
}

browser chromium chromium-browser google-chrome
browser firefox-esr firefox
if ! command -v npm >/dev/null; then
  echo "npm is missing: the browser tests will be skipped. Install Node.js 18 or newer (Debian: apt-get install nodejs npm)." >&2
elif [ ! -e node_modules/.installed ] || [ package-lock.json -nt node_modules/.installed ]; then
  npm ci --silent
  touch node_modules/.installed
fi
