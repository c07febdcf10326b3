"""Finds the kept words of the turns that a report shows, and their sound in the call's recording."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import av
import av.error
import numpy as np
from numpy.typing import NDArray

from voiceagent.latency.spans import TurnReport
from voiceagent.store.call_events import TranscriptEntry, transcript
from voiceagent.store.database import StoreAddress, StoreError
from voiceagent.store.records import all_events, find_call
from voiceagent.store.schema import reading

BEFORE_MS, AFTER_MS = 6_000.0, 4_000.0
"""The part of the call around a turn: before the end of the caller's speech, and behind the reply's first sound."""
OPUS_HZ, BIT_RATE = 48_000, 24_000


@dataclass(frozen=True, slots=True)
class KeptTurn:
    """The kept words and sound of a turn; empty where nothing is."""

    entries: tuple[TranscriptEntry, ...] = ()
    audio: str = ""
    """A `data:` address of Opus in Ogg: the caller left, the agent right."""


def kept_turns(address: StoreAddress, turns: Sequence[TurnReport]) -> list[KeptTurn]:
    """Reads what is kept of each turn. Raises StoreError for a store that cannot be read."""
    with reading(address) as database:
        found = []
        for turn in turns:
            if turn.wait is None:
                found.append(KeptTurn())
                continue
            first_ms, last_ms = turn.wait.began_ms - BEFORE_MS, turn.wait.began_ms + turn.wait.duration_ms + AFTER_MS
            try:
                call = find_call(database, turn.call_id)
            except StoreError:
                found.append(KeptTurn())
                continue
            entries = transcript(all_events(database, call.call_id))
            around = tuple(entry for entry in entries if first_ms <= entry.at_ms <= last_ms)
            found.append(KeptTurn(around, _cut(Path(call.recording), first_ms, last_ms) if call.recording else ""))
        return found


def _cut(recording: Path, first_ms: float, last_ms: float) -> str:
    """A part of a recording; empty if the file is gone or damaged."""
    out = io.BytesIO()
    try:
        with av.open(str(recording)) as source, av.open(out, "w", format="ogg") as target:
            opus = target.add_stream("libopus", rate=OPUS_HZ, layout="stereo", bit_rate=BIT_RATE)
            resampler = av.AudioResampler("s16", "stereo", OPUS_HZ)
            first, last = (round(max(0.0, ms) * OPUS_HZ / 1000) for ms in (first_ms, last_ms))
            at = 0
            for frame in source.decode(source.streams.audio[0]):
                for piece in resampler.resample(frame):
                    samples: NDArray[np.int16] = piece.to_ndarray().astype(np.int16).reshape(-1, 2)
                    kept = samples[max(0, first - at) : max(0, last - at)]
                    at += len(samples)
                    if len(kept):
                        cut = av.AudioFrame.from_ndarray(np.ascontiguousarray(kept.reshape(1, -1)), "s16", "stereo")
                        cut.sample_rate = OPUS_HZ
                        target.mux(opus.encode(cut))
                if at >= last:
                    break
            target.mux(opus.encode(None))
    except (av.error.FFmpegError, OSError, IndexError, ValueError):
        return ""
    return f"data:audio/ogg;base64,{base64.b64encode(out.getvalue()).decode()}"
