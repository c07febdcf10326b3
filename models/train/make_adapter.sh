#!/usr/bin/env bash
# Makes the adapter of the small language model, and the graph it is filled into: ten hours, which TRAIN_MINUTES changes. It needs
# the models of `voiceagent models pull --profile starter`: the GGUF file, and the voice and the recogniser that half an hour
# (HEAR_MINUTES) of conversations are spoken and heard by first, in voiceagent's own environment (PYTHON). With --tiny, a few steps
# of every script but that one on a tiny base model with random weights, to see that the recipe runs; models/bundled/ is left alone.
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
  mkdir -p "$out"
  [ -e "$out/heard.jsonl" ] || for seed in $(seq "$workers"); do
    "${PYTHON:-.venv/bin/python}" -m models.train.adapter_hear --out "$out/heard.$seed" --minutes "${HEAR_MINUTES:-30}" --seed "$seed" &
  done
  wait
  [ -e "$out/heard.jsonl" ] || cat "$out"/heard.[0-9]* > "$out/heard.jsonl"
  train=(--gguf "$gguf" --minutes "${TRAIN_MINUTES:-600}" --heard "$out/heard.jsonl") graph=(--gguf "$gguf")
  [ ! -e "$out/checkpoint.pt" ] || train+=(--resume)
fi
"$python" -m models.train.adapter_train --out "$out" --workers "$workers" "${train[@]}"
"$python" -m models.train.adapter_export --run "$out" --out "$bundled"
"$python" -m models.train.adapter_graph --out "$bundled" "${graph[@]}"
