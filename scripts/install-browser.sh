#!/usr/bin/env bash
# Installs what the browser tests drive: Debian's Chromium, where root may and it is missing, and the npm packages of
# package-lock.json. What cannot be installed is named, and its tests skip themselves visibly (with CI=true they fail).
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null && ! command -v google-chrome >/dev/null; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing chromium"
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null
  else
    echo "Chromium is missing: the browser tests will be skipped. Install it (Debian: apt-get install chromium)." >&2
  fi
fi
if ! command -v npm >/dev/null; then
  echo "npm is missing: the browser tests will be skipped. Install Node.js 18 or newer (Debian: apt-get install nodejs npm)." >&2
elif [ ! -e node_modules/.installed ] || [ package-lock.json -nt node_modules/.installed ]; then
  npm ci --silent
  touch node_modules/.installed
fi
