#!/usr/bin/env bash
# Makes the endpointer's weights: about ten minutes on one core. With --tiny, a few turns through every script, to see that the
# recipe runs; the weights are left alone then.
#   TRAIN_PYTHON=.venv-train/bin/python bash models/train/make_endpoint.sh [--tiny]
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${TRAIN_PYTHON:-.venv-train/bin/python}
export OMP_NUM_THREADS=1 PYTHONPATH=.
if [ "${1:-}" = --tiny ]; then
  out=models/train/out/endpoint-tiny weights=models/train/out/endpoint-tiny/endpoint_weights.py
  fit_turns=30 piper_turns=6 tune_turns=20
else
  out=models/train/out/endpoint weights=voiceagent/turn_taking/endpoint_weights.py
  fit_turns=3000 piper_turns=400 tune_turns=1200
fi
voice=models/bundled/voice/voice.onnx
"$python" -m models.train.endpoint_hear --part fit --turns "$fit_turns" --seed 1 --out "$out/fit.jsonl"
"$python" -m models.train.endpoint_hear --part fit --turns "$piper_turns" --seed 3 --piper "$voice" --out "$out/fit-piper.jsonl"
"$python" -m models.train.endpoint_hear --part tune --turns "$tune_turns" --seed 2 --out "$out/tune.jsonl"
"$python" -m models.train.endpoint_fit --fit "$out/fit.jsonl" "$out/fit-piper.jsonl" --tune "$out/tune.jsonl" --out "$weights"
