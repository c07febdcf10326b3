"""Makes conversations as they are heard in calls: agents and conversations of `tools/`, each sentence of a caller spoken by a
published Piper voice, faster or slower, on noise or by telephone now and then, and heard by a published Whisper, through the
engines that serve calls.

    python -m models.train.adapter_hear --out FILE --minutes 30 [--seed 1]

A row of the file is JSON: an agent's prompt, conversations with it, and its callers' sentences as they were said and heard.
`adapter_train --heard` learns from it. Rows are added until the minutes are over; a further run with another seed adds more.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import time
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from bench.starter.transcript import transcript
from models.train.adapter_prompt import prompt_text
from models.train.telephone import telephone_band
from models.train.tools.conversations import example
from models.train.tools.hearing import enum_values, heard
from models.train.tools.played import played
from models.train.tools.talk import Message
from voiceagent.audio.resample import resample
from voiceagent.models.registry import profile, resolve
from voiceagent.stt.stream import UtteranceTranscriber
from voiceagent.stt.whisper import WhisperEngine, WhisperOptions
from voiceagent.tts.piper import PiperEngine

PROFILE, VOICE, WHISPER = "starter", "piper-joe", "whisper-tiny.en"
RATE_HZ = 16_000
SILENCE_SAMPLES = 3200
WRITTEN_SHARE, NOISY_SHARE, TELEPHONE_SHARE = 0.25, 0.3, 0.2
"""Of the sentences those that stay as they are written, and those that are spoken on noise or by telephone."""
TEMPLATE_SHARE = 0.35
"""Of the rows those whose conversations are grown from templates, not written by hand."""
CONVERSATIONS = 6
SPEEDS, NOISE_DB = (0.88, 1.15), (10.0, 30.0)
"""A voice that is played faster is another's: higher too."""


class Ears:
    """Speaks and hears."""

    def __init__(self, rng: random.Random, written_share: float = WRITTEN_SHARE) -> None:
        self._rng, self._written_share = rng, written_share
        self.sentences: list[tuple[str, str]] = []
        """What was said and heard, for `Mishearing`."""
        options = msgspec.convert(dict(profile(PROFILE).stt.options), WhisperOptions)
        self._speaker = PiperEngine(resolve(VOICE) / "voice.onnx")
        self._whisper = WhisperEngine(resolve(WHISPER), options)
        self._loop = asyncio.new_event_loop()

    def hear(self, text: str) -> str:
        """A sentence as it is heard; now and then as it is written, or as a faultless recogniser would write it."""
        if "@" in text or self._rng.random() < self._written_share:
            return text if self._rng.random() < 0.5 else transcript(text)
        listened = self._loop.run_until_complete(self._heard(spoken(text)))
        self.sentences.append((text, listened))
        return listened

    async def _heard(self, text: str) -> str:
        transcriber = UtteranceTranscriber(self._whisper)
        transcriber.begin(0, np.pad(await self._said(text), SILENCE_SAMPLES))
        final = await transcriber.final()
        await transcriber.close()
        return final.text if final is not None else ""

    async def _said(self, text: str) -> NDArray[np.int16]:
        """Mono at `RATE_HZ`, shape (samples,)."""
        pieces = [chunk.pcm async for chunk in self._speaker.synthesise(text)]
        rate_hz = round(self._speaker.sample_rate_hz * self._rng.uniform(*SPEEDS))
        speech = resample(np.concatenate(pieces), rate_hz, RATE_HZ).astype(np.float32)
        if self._rng.random() < NOISY_SHARE:
            noise = np.random.default_rng(self._rng.randrange(2**32)).standard_normal(len(speech)).astype(np.float32)
            speech += noise * np.sqrt(np.mean(speech**2)) * 10 ** (-self._rng.uniform(*NOISE_DB) / 20)
        if self._rng.random() < TELEPHONE_SHARE:
            speech = telephone_band(speech / np.float32(32768)) * 32768
        return np.clip(speech, -32768, 32767).astype(np.int16)


def spoken(text: str) -> str:
    """A sentence as a voice is to say it: codes digit by digit."""
    text = re.sub(r"(?<=\d)-(?=\d)", " ", text)
    text = re.sub(
        r"(?<![\d$.,:])\b\d{3,}\b(?![.,]\d|%| (?:dollars|euros|pounds|degrees|percent|plus|minus|times|divided))", _read_out, text
    )
    return re.sub(r"\b([A-Z]{1,3})[ -]?(\d{2,})\b", lambda found: " ".join(found[1] + found[2]), text)


def _read_out(found: re.Match[str]) -> str:
    return found[0] if found[0].endswith("00") else " ".join(found[0])


def row(rng: random.Random, ears: Ears) -> tuple[str, list[list[Message]]]:
    """An agent's prompt, and conversations with it as they are heard."""
    agent, conversations = example(rng, CONVERSATIONS) if rng.random() < TEMPLATE_SHARE else played(rng, CONVERSATIONS)
    listened = [heard(messages, ears.hear, enum_values(agent.schemas)) for messages in conversations]
    return prompt_text(agent), [one for one in listened if any(message["role"] == "assistant" for message in one[1:])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = random.Random(f"heard {arguments.seed}")
    ears = Ears(random.Random(f"voices {arguments.seed}"))
    ends = time.monotonic() + 60 * arguments.minutes
    with arguments.out.open("a", encoding="utf-8") as file:
        while time.monotonic() < ends:
            prompt, conversations = row(rng, ears)
            if conversations:
                kept = {"prompt": prompt, "conversations": conversations, "sentences": ears.sentences}
                file.write(json.dumps(kept, ensure_ascii=False) + "\n")
                file.flush()
            ears.sentences = []


if __name__ == "__main__":
    main()
