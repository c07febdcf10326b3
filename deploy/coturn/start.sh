#!/bin/sh
# Starts coturn with the secret that it shares with voiceagent. Whoever can list a machine's processes reads their command lines, so
# the secret comes from a file and goes into a configuration that this user alone can read; further options come as arguments.
# With TURN_CERTIFICATE and TURN_KEY, PEM files, it speaks TLS, too.
set -eu
umask 077
secret=${TURN_SECRET_FILE:-/run/secrets/turn_secret}
made=${TURN_RUN_FOLDER:-/tmp}/turnserver.conf
[ -s "$secret" ] || { echo "$secret is missing or empty: run deploy/secrets.sh" >&2; exit 1; }
rm -f "$made"
{
  if [ -n "${TURN_CERTIFICATE:-}" ]; then
    grep -v '^no-tls$' "${TURN_CONFIGURATION:-/etc/coturn/turnserver.conf}"
    printf '\ncert=%s\npkey=%s\n' "$TURN_CERTIFICATE" "$TURN_KEY"
  else
    cat "${TURN_CONFIGURATION:-/etc/coturn/turnserver.conf}"
  fi
  printf '\nstatic-auth-secret=%s\n' "$(cat "$secret")"
} >"$made"
exec turnserver -c "$made" "$@"
