#!/usr/bin/env bash
# Makes the bundled language model, as safetensors and for onnxruntime-genai: hours on one core. With --tiny, a few steps of every
# script, to see that the recipe runs; models/bundled/ is left alone then.
#   TRAIN_PYTHON=.venv-train/bin/python bash models/train/make_lm.sh [--tiny]
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${TRAIN_PYTHON:-.venv-train/bin/python}
export OMP_NUM_THREADS=1 PYTHONPATH=.
if [ "${1:-}" = --tiny ]; then
  out=models/train/out/lm-tiny bundled=models/train/out/lm-tiny/bundled limit="--steps 3" tiny=--tiny
else
  out=models/train/out/lm bundled=models/bundled limit="--steps 5000 --tokens 4096" tiny=""
fi
mkdir -p "$out" "$bundled/lm"
"$python" -m models.train.lm_train --out "$out" $limit $tiny
"$python" -m models.train.lm_export --run "$out" --out "$bundled/lm" $tiny
