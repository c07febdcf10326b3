#!/usr/bin/env bash
# Makes the endpointer's weights, and the demo's own: about half an hour on two cores. It hears people's turns and synthetic ones with
# published models: `voiceagent models pull --profile starter` first. With --tiny, a few turns through every script, to see that the
# recipe runs; the weights are left alone then, and nothing is done where the models are not there.
#   TRAIN_PYTHON=.venv-train/bin/python bash models/train/make_endpoint.sh [--tiny]
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${TRAIN_PYTHON:-.venv-train/bin/python}
export OMP_NUM_THREADS=1 PYTHONPATH=.
fit=790 brief=640 most= weights=voiceagent/turn_taking/endpoint_weights.py
out=models/train/out/endpoint demo_fit=500 demo_tune=300 pack=examples/demo/endpointing.json
if [ "${1:-}" = --tiny ]; then
  missing=$("$python" -m models.train.turns.missing)
  if [ -n "$missing" ]; then
    echo "make_endpoint.sh --tiny: skipped, $missing"
    exit 0
  fi
  export VOICEAGENT_MODELS=${VOICEAGENT_MODELS:-${XDG_CACHE_HOME:-$HOME/.cache}/voiceagent/models}
  export XDG_CACHE_HOME=$PWD/models/train/out/endpoint-tiny
  fit=30 brief=6 most=4 weights=models/train/out/endpoint-tiny/endpoint_weights.py
  out=models/train/out/endpoint-tiny demo_fit=30 demo_tune=20 pack=models/train/out/endpoint-tiny/pack.json
  mkdir -p "$out"
fi
seed=$("$python" -c 'from models.train.turns.draw import SEED; print(SEED)')
"$python" -m models.train.turns.hear --part fit --turns "$fit"
"$python" -m models.train.turns.hear --part brief --turns "$brief"
"$python" -m models.train.turns.fit_people --out "$weights" ${most:+--most "$most"}
"$python" -m models.train.endpoint_hear --part fit --turns "$demo_fit" --seed "$seed" --out "$out/fit.jsonl"
"$python" -m models.train.endpoint_hear --part tune --turns "$demo_tune" --seed $((seed + 1)) --out "$out/tune.jsonl"
"$python" -m models.train.turns.fit "$out/fit.jsonl" "$out/tune.jsonl" --out "$pack"
