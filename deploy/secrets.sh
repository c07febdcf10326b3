#!/bin/sh
# Makes the secrets that docker-compose.yml needs, once: .env beside it, readable by you alone, the key with which Prometheus reads the
# agent's metrics, and the secrets that coturn and Janus share with the agent. What is there already is left as it is.
set -eu
cd "$(dirname "$0")/.."
umask 077
random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
# A container reads its file as another user; the folder keeps others of this machine out.
secret_file() {
  mkdir -p deploy/secrets && chmod 700 deploy/secrets
  printf %s "$2" >"deploy/secrets/$1"
  chmod 644 "deploy/secrets/$1"
}
if [ -e .env ]; then
  turn_secret=$(sed -n 's/^VOICEAGENT_TURN_SECRET=//p' .env)
  if [ -e deploy/secrets/turn.secret ] || [ -z "$turn_secret" ]; then
    echo ".env is there already; remove it first to make new secrets" >&2
    exit 1
  fi
  secret_file turn.secret "$turn_secret"
  echo "made deploy/secrets/turn.secret of what .env holds; the rest is left as it is"
  exit 0
fi
metrics_key=$(random)
turn_secret=$(random)
janus_secret=$(random)
cat >.env <<END
VOICEAGENT_KEYS=$(random)
VOICEAGENT_METRICS_KEY=$metrics_key
VOICEAGENT_TURN_SECRET=$turn_secret
VOICEAGENT_JANUS_SECRET=$janus_secret
GRAFANA_PASSWORD=$(random)
END
secret_file metrics.key "$metrics_key"
secret_file turn.secret "$turn_secret"
secret_file janus.secret "$janus_secret"
echo "made .env and what deploy/secrets holds; VOICEAGENT_KEYS in .env is the key that callers enter"
