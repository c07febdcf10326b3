"""What hearing and speaking cost, in seconds of one core for a second of audio, as far as it was measured."""

from __future__ import annotations

SPEECH_COSTS = {
    "micro-whisper": 0.0164,
    "whisper-small.en": 0.777,
    "micro-voice": 0.0025,
    "piper-ljspeech": 0.08,
}
"""By model. Recognition streams, a decode every 180 ms (bench/results/transcription.md; small.en on random weights of its shape).
A published voice is of the `medium` shape and says nineteen words (bench/results/synthesis.md); the bundled one was timed by
hand."""
