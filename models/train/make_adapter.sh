#!/usr/bin/env bash
# Makes the adapter of the small language model, and the graph it is filled into: ten hours, which TRAIN_MINUTES changes. It needs
# the GGUF file of `voiceagent models pull smollm2-135m-instruct-gguf`. With --tiny, a few steps of every script on a tiny base
# model with random weights, to see that the recipe runs; models/bundled/ is left alone then.
#   TRAIN_PYTHON=.venv-train/bin/python bash models/train/make_adapter.sh [--tiny]
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${TRAIN_PYTHON:-.venv-train/bin/python}
workers=${TRAIN_WORKERS:-2}
export OMP_NUM_THREADS=1 PYTHONPATH=.
if [ "${1:-}" = --tiny ]; then
  out=models/train/out/adapter-tiny bundled=models/train/out/adapter-tiny/bundled
  train=(--tiny --tokens 12000) graph=()
else
  out=models/train/out/adapter bundled=models/bundled/smollm2-tools
  models=${VOICEAGENT_MODELS:-$HOME/.cache/voiceagent/models}
  gguf=$(find "$models" -path '*/smollm2-135m-instruct-gguf-*/*.gguf' 2>/dev/null | head -n 1 || true)
  [ -n "$gguf" ] || { echo "no base model in $models: run voiceagent models pull smollm2-135m-instruct-gguf first" >&2; exit 1; }
  train=(--gguf "$gguf" --minutes "${TRAIN_MINUTES:-600}") graph=(--gguf "$gguf")
  [ ! -e "$out/checkpoint.pt" ] || train+=(--resume)
fi
"$python" -m models.train.adapter_train --out "$out" --workers "$workers" "${train[@]}"
"$python" -m models.train.adapter_export --run "$out" --out "$bundled"
"$python" -m models.train.adapter_graph --out "$bundled" "${graph[@]}"
