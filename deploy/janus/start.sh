#!/bin/sh
# Starts Janus with the secret that it shares with voiceagent. Whoever can list a machine's processes reads their command lines, so
# the secret comes from a file and goes into a configuration that this user alone can read.
set -eu
umask 077
secret=${JANUS_SECRET_FILE:-/run/secrets/janus_secret}
from=${JANUS_CONFIGURATION:-/etc/voiceagent-janus}
made=${JANUS_RUN_FOLDER:-/tmp/janus}
[ -s "$secret" ] || { echo "$secret is missing or empty: run deploy/secrets.sh" >&2; exit 1; }
libraries=${JANUS_LIBRARIES:-$(dirname "$(find /usr/lib -path '*/janus/plugins/libjanus_sip.so' | head -n 1)")/..}
local_address=${JANUS_LOCAL_ADDRESS:+local_ip = \"$JANUS_LOCAL_ADDRESS\"}
public_address=${JANUS_PUBLIC_ADDRESS:+sdp_ip = \"$JANUS_PUBLIC_ADDRESS\"}
enforced=${JANUS_INTERFACE:+	ice_enforce_list = \"$JANUS_INTERFACE\"}
mkdir -p "$made"
for name in janus janus.plugin.sip janus.transport.websockets; do
  rm -f "$made/$name.jcfg"
  sed -e "s|@FOLDER@|$made|" -e "s|@LIBRARIES@|$libraries|" -e "s|@SECRET@|$(cat "$secret")|" \
    -e "s|@MEDIA_PORTS@|${JANUS_MEDIA_PORTS:-21000-21199}|" -e "s|@SIP_PORTS@|${JANUS_SIP_PORTS:-22000-22199}|" \
    -e "s|@LISTEN@|${JANUS_LISTEN:-127.0.0.1}|" -e "s|@PORT@|${JANUS_PORT:-8188}|" -e "s|@BEHIND_NAT@|${JANUS_BEHIND_NAT:-false}|" \
    -e "s|@LOCAL_ADDRESS@|$local_address|" -e "s|@PUBLIC_ADDRESS@|$public_address|" -e "s|@ENFORCED@|$enforced|" \
    "$from/$name.jcfg" >"$made/$name.jcfg"
done
exec janus --configs-folder="$made" "$@"
