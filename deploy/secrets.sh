#!/bin/sh
# Makes the secrets that docker-compose.yml needs, once: .env beside it, readable by you alone, and the key with which Prometheus
# reads the agent's metrics. What is there already is left as it is.
set -eu
cd "$(dirname "$0")/.."
umask 077
[ ! -e .env ] || { echo ".env is there already; remove it first to make new secrets" >&2; exit 1; }
random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
metrics_key=$(random)
cat >.env <<END
VOICEAGENT_KEYS=$(random)
VOICEAGENT_METRICS_KEY=$metrics_key
VOICEAGENT_TURN_SECRET=$(random)
GRAFANA_PASSWORD=$(random)
END
mkdir -p deploy/secrets && chmod 700 deploy/secrets
printf %s "$metrics_key" >deploy/secrets/metrics.key
chmod 644 deploy/secrets/metrics.key # read in a container by another user; the folder keeps others of this machine out
echo "made .env and deploy/secrets/metrics.key; VOICEAGENT_KEYS in .env is the key that callers enter"
