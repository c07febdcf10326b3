"""What speech recognition and speech synthesis cost, in seconds of one core for a second of audio, as far as it was measured."""

from __future__ import annotations

SPEECH_COSTS = {
    "micro-whisper": 0.0164,
    "whisper-small.en": 0.777,
    "micro-voice": 0.0025,
    "piper-ljspeech": 0.08,
}
"""Costs by model. Recognition streams, with a decode every 180 ms (bench/results/transcription.md; small.en on random weights of
its shape). A published voice has the `medium` shape and says nineteen words (bench/results/synthesis.md). The bundled voice was
timed by hand."""
