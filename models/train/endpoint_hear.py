"""Hears spoken turns as a call does (`voiceagent/call/hearing.py`): frames through the speech detector, a partial decode every
200 ms, the final decode and the voice's fall in every pause of 100 ms. Out come the pauses, those inside the turn and the
one behind it alike, and how long each lasted: all that a rule for endpoints can be judged on.

    python -m models.train.endpoint_hear --part fit --turns 5000 --seed 1 --out FILE.jsonl [--piper VOICE.onnx]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from models.train.endpoint_speak import SpokenTurn, speak_turn, voices
from models.train.endpoint_turns import Part, Turn, draw_turn
from models.train.stt_speak import espeak_speaker, piper_speaker
from voiceagent.audio.prosody import prosody_of
from voiceagent.models.registry import profile, resolve
from voiceagent.stt.engine import SttEngine
from voiceagent.stt.stream import UtteranceTranscriber
from voiceagent.stt.whisper import WhisperEngine, create
from voiceagent.turn_taking.endpointing import PauseEvidence, Prosody
from voiceagent.vad.detector import DetectorOptions, SpeechDetector, SpeechOnset, SpeechProgress

FRAME_MS, PAUSE_MS, PREROLL_MS, PROSODY_FRAMES, SAMPLES_PER_MS = 20.0, 100.0, 400.0, 75, 16
"""Those of `voiceagent.call.hearing`, which needs more packages than training has; a test compares them."""
PARTIAL_MS = 200.0
TRIMMED_MS = 5000.0
"""Partial decodes change the final one only where they let go of audio, which no shorter utterance does."""
FRAME_SAMPLES = int(FRAME_MS * SAMPLES_PER_MS)


@dataclass(frozen=True, slots=True)
class HeardPause:
    """A silence of 100 ms or more, as the pipeline knows it. Times are milliseconds of received audio."""

    words: str
    """What Whisper wrote of the turn up to here."""
    said: str
    """What was said up to here."""
    voiced_ms: float
    pitch_fall_st: float | None
    energy_fall_db: float
    at_ms: float
    """When it was noticed."""
    silence_ms: float
    """How long it had been silent by then."""
    lasted_ms: float
    """How long it was silent in the end: until speech went on, or the recording ended."""
    decode_ms: float
    """How long Whisper took."""
    is_end: bool
    """Whether the caller said no more."""

    def evidence(self, asked: str) -> PauseEvidence:
        """As the endpointer gets it."""
        return PauseEvidence(self.words, asked, self.voiced_ms, Prosody(self.pitch_fall_st, self.energy_fall_db))


@dataclass(frozen=True, slots=True)
class HeardTurn:
    """A turn's pauses in their order."""

    asked: str
    said: str
    end_ms: float
    """When the caller had finished."""
    pauses: tuple[HeardPause, ...]


class _Listener:
    """One turn's way through detector and recogniser."""

    def __init__(self, engine: SttEngine, turn: Turn, spoken: SpokenTurn, partials_from_ms: float) -> None:
        self._engine = engine
        self._partials_from_ms = partials_from_ms
        self._turn, self._spoken = turn, spoken
        self._detector = SpeechDetector(DetectorOptions(preroll_ms=PREROLL_MS))
        self._recent: deque[NDArray[np.int16]] = deque(maxlen=PROSODY_FRAMES)
        self._transcriber: UtteranceTranscriber | None = None
        self._since_partial_ms = 0.0
        self._open: HeardPause | None = None
        self._pauses: list[HeardPause] = []

    async def hear(self) -> HeardTurn:
        whole = len(self._spoken.audio) // FRAME_SAMPLES * FRAME_SAMPLES
        for index, frame in enumerate(self._spoken.audio[:whole].reshape(-1, FRAME_SAMPLES)):
            at_ms = (index + 1) * FRAME_MS
            self._recent.append(frame)
            progress = self._detector.feed(frame, at_ms)
            if progress is not None:
                await self._follow(progress, frame, at_ms)
        self._close(is_end=True)
        said = _written(self._turn, len(self._turn.units))
        return HeardTurn(self._turn.asked, said, self._spoken.end_ms, tuple(self._pauses))

    async def _follow(self, progress: SpeechProgress, frame: NDArray[np.int16], at_ms: float) -> None:
        if isinstance(progress, SpeechOnset):
            self._transcriber = UtteranceTranscriber(self._engine)
            self._transcriber.begin(1, progress.audio)
        assert self._transcriber is not None
        if not isinstance(progress, SpeechOnset):
            self._transcriber.feed(frame, progress.silence_ms)
        if progress.silence_ms >= PAUSE_MS:
            if self._open is None:
                self._open = await self._paused(self._transcriber, progress, at_ms)
            self._open = replace(self._open, lasted_ms=progress.silence_ms)
            return
        self._close()
        self._since_partial_ms += FRAME_MS
        if self._since_partial_ms >= PARTIAL_MS and progress.voiced_ms >= self._partials_from_ms:
            self._since_partial_ms = 0.0
            await self._transcriber.partial()

    async def _paused(self, transcriber: UtteranceTranscriber, progress: SpeechProgress, at_ms: float) -> HeardPause:
        spoken = np.concatenate(self._recent)[: -int(progress.silence_ms * SAMPLES_PER_MS)]
        prosody = prosody_of(spoken)
        began = time.perf_counter()
        final = await transcriber.final()
        decode_ms = (time.perf_counter() - began) * 1000.0
        units = sum(end <= at_ms - PAUSE_MS / 2 for end in self._spoken.word_ends_ms)
        return HeardPause(
            words=final.text if final is not None else "",
            said=_written(self._turn, units),
            voiced_ms=progress.voiced_ms,
            pitch_fall_st=prosody.pitch_fall_st,
            energy_fall_db=prosody.energy_fall_db,
            at_ms=at_ms,
            silence_ms=progress.silence_ms,
            lasted_ms=progress.silence_ms,
            decode_ms=round(decode_ms, 2),
            is_end=False,
        )

    def _close(self, *, is_end: bool = False) -> None:
        if self._open is not None:
            over = is_end or self._open.at_ms >= self._spoken.end_ms
            self._pauses.append(replace(self._open, is_end=over))
            self._open = None


def _written(turn: Turn, units: int) -> str:
    return "".join(unit.written if unit.glue or not i else f" {unit.written}" for i, unit in enumerate(turn.units[:units]))


async def hear_turn(engine: SttEngine, turn: Turn, spoken: SpokenTurn, partials_from_ms: float = TRIMMED_MS / 2) -> HeardTurn:
    """The turn's pauses as the pipeline hears them; partials are decoded once so much was said, before the recogniser lets go of
    audio."""
    return await _Listener(engine, turn, spoken, partials_from_ms).hear()


def bundled_whisper() -> WhisperEngine:
    """The recogniser of the profile `embedded`. Raises ModelError."""
    spec = profile("embedded").stt
    return create(resolve(spec.model), spec.options)


def spoken_turns(part: Part, seed: int, piper: Path | None = None) -> Iterator[tuple[Turn, SpokenTurn]]:
    """Turns of a part without end, each in another voice of that part, or all in a Piper voice."""
    rng = random.Random(seed)
    mine = voices(part)
    draw_voice: Callable[[random.Random], str] = lambda drawn: drawn.choice(mine)  # noqa: E731
    speak = piper_speaker(piper) if piper else espeak_speaker(draw_voice)
    while True:
        turn = draw_turn(rng, part)
        spoken = speak_turn(rng, turn, speak)
        if spoken is not None:
            yield turn, spoken


async def heard_turns(part: Part, seed: int, turns: int, piper: Path | None = None) -> AsyncIterator[HeardTurn]:
    """The first `turns` turns of a part, heard."""
    engine = bundled_whisper()
    try:
        for _, (turn, spoken) in zip(range(turns), spoken_turns(part, seed, piper), strict=False):
            yield await hear_turn(engine, turn, spoken)
    finally:
        await engine.close()


def read_turns(path: Path) -> list[HeardTurn]:
    """What `main` wrote."""
    entries = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return [HeardTurn(**{**entry, "pauses": tuple(HeardPause(**pause) for pause in entry["pauses"])}) for entry in entries]


async def _write(options: argparse.Namespace) -> None:
    began = time.monotonic()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with options.out.open("w", encoding="utf-8") as file:
        async for turn in heard_turns(options.part, options.seed, options.turns, options.piper):
            file.write(json.dumps(asdict(turn), ensure_ascii=False) + "\n")
    print(f"{options.out}: {options.turns} turns in {time.monotonic() - began:.0f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=get_args(Part), required=True)
    parser.add_argument("--turns", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--piper", type=Path, help="speak with this Piper voice instead of espeak-ng")
    parser.add_argument("--out", type=Path, required=True)
    asyncio.run(_write(parser.parse_args()))


if __name__ == "__main__":
    main()
