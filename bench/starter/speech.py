"""Said to heard: sentences spoken by a published Piper voice and heard by a published Whisper, each through the engine that
serves calls. What was heard is kept, so that every language model is asked
the same: by the files of both models, the recogniser's options and the sentence."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.resample import resample
from voiceagent.stt.stream import UtteranceTranscriber
from voiceagent.stt.whisper import WhisperEngine, WhisperOptions
from voiceagent.tts.piper import PiperEngine

CACHE = Path.home() / ".cache" / "voiceagent" / "bench" / "heard.json"
RATE_HZ = 16_000
SILENCE_MS = 200
"""Before and after the speech: what a call keeps of it."""
SAVE_EVERY = 20


class Listener:
    """Speaks and hears, or remembers."""

    def __init__(self, voice: Path, whisper: Path, options: WhisperOptions) -> None:
        self._voice, self._whisper, self._options = voice, whisper, options
        self._models = f"{_digest(voice)} {_digest(whisper / 'model.bin')} {options}"
        self._known: dict[str, str] = json.loads(CACHE.read_text(encoding="utf-8")) if CACHE.is_file() else {}
        self._new = 0
        self._speaker: PiperEngine | None = None
        self._hearer: WhisperEngine | None = None

    async def heard(self, said: str) -> str:
        """The sentence as it is heard."""
        key = hashlib.sha256(f"{self._models}\n{said}".encode()).hexdigest()
        if key not in self._known:
            self._known[key] = await self._hear(await self._speak(said))
            self._new += 1
            if self._new % SAVE_EVERY == 0:
                self._save()
        return self._known[key]

    async def _speak(self, said: str) -> NDArray[np.int16]:
        """Mono at `RATE_HZ`, shape (samples,)."""
        if self._speaker is None:
            self._speaker = PiperEngine(self._voice)
        pieces = [chunk.pcm async for chunk in self._speaker.synthesise(said)]
        speech = resample(np.concatenate(pieces), self._speaker.sample_rate_hz, RATE_HZ)
        return np.pad(speech, SILENCE_MS * RATE_HZ // 1000)

    async def _hear(self, audio: NDArray[np.int16]) -> str:
        if self._hearer is None:
            self._hearer = WhisperEngine(self._whisper, self._options)
        transcriber = UtteranceTranscriber(self._hearer)
        transcriber.begin(0, audio)
        final = await transcriber.final()
        await transcriber.close()
        return final.text if final is not None else ""

    async def close(self) -> None:
        """Keep what was heard and free the models."""
        self._save()
        if self._speaker is not None:
            await self._speaker.close()
        if self._hearer is not None:
            await self._hearer.close()

    def _save(self) -> None:
        if self._new:
            CACHE.parent.mkdir(parents=True, exist_ok=True)
            others = json.loads(CACHE.read_text(encoding="utf-8")) if CACHE.is_file() else {}
            text = json.dumps(others | self._known, ensure_ascii=False, indent=0)
            part = CACHE.with_suffix(".part")
            part.write_text(text, encoding="utf-8")
            part.replace(CACHE)


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
