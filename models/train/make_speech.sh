#!/usr/bin/env bash
# Makes the bundled voice and the bundled Whisper: about two and a half hours on one core. With --tiny, a few steps of every script,
# to see that the recipe runs; models/bundled/ is left alone then.
#   TRAIN_PYTHON=.venv-train/bin/python bash models/train/make_speech.sh [--tiny]
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${TRAIN_PYTHON:-.venv-train/bin/python}
export OMP_NUM_THREADS=1 PYTHONPATH=.
if [ "${1:-}" = --tiny ]; then
  out=models/train/out/speech-tiny bundled=models/train/out/speech-tiny/bundled
  tiny=--tiny espeak_clips=40 piper_clips=10 short_espeak_clips=10 short_piper_clips=10
  stt_limit="--steps 3" short_limit="--steps 3" voice_limit="--steps 60"
else
  out=models/train/out/speech bundled=models/bundled
  tiny="" espeak_clips=60000 piper_clips=7000 short_espeak_clips=30000 short_piper_clips=3000
  stt_limit="--minutes 82" short_limit="--steps 4600" voice_limit="--minutes 10"
fi
mkdir -p "$out/voice" "$out/corpus" "$bundled/whisper" "$bundled/voice"
run() {
  printf '\n--- %s\n' "$*"
  "$python" -m "$@"
}

run models.train.voice_prepare --out "$out/voice" $tiny
run models.train.voice_train --data "$out/voice" --out "$out/voice" $voice_limit $tiny
run models.train.voice_export --model "$out/voice/acoustic.pt" --out "$bundled/voice"

run models.train.stt_tokenizer --out "$out/tokenizer.json"
run models.train.stt_speak --out "$out/corpus" --clips "$espeak_clips" --seed 1 $tiny
run models.train.stt_speak --out "$out/corpus" --clips "$piper_clips" --seed 2 --piper "$bundled/voice/voice.onnx" $tiny
run models.train.stt_train --data "$out/corpus" --tokenizer "$out/tokenizer.json" --out "$out" $stt_limit $tiny

# Sentences first, then turns of a word or two beside them: a lone "No." has too little sound to learn to hear by.
run models.train.stt_speak --out "$out/corpus" --clips "$short_espeak_clips" --seed 3 --short-turns $tiny
run models.train.stt_speak --out "$out/corpus" --clips "$short_piper_clips" --seed 4 --short-turns \
  --piper "$bundled/voice/voice.onnx" $tiny
run models.train.stt_train --data "$out/corpus" --tokenizer "$out/tokenizer.json" --out "$out/short-turns" \
  --from "$out/whisper.pt" --learning-rate 6e-4 $short_limit $tiny
run models.train.stt_export --model "$out/short-turns/whisper.pt" --tokenizer "$out/tokenizer.json" --out "$bundled/whisper"

if [ -n "$tiny" ]; then
  run models.train.random_voice --out "$out/random-voice"
fi
