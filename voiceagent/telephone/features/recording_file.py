"""A recording's file, and the timeline that it is written from. The timeline has both sides of a call on one clock: the caller
left, the agent right. Pieces come as they are heard and played; whole stretches are taken out, in which both sides stand where
they belong. The file is written piece by piece so that what is there can be played at any moment, also after a crash. It is
WAV, or Opus in Ogg (RFC 7845), and blocks: it is written in a thread."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, Protocol

import av
import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.format import HEARD_HZ
from voiceagent.data_files import FILE_MODE, private_folder

# --- the timeline of both sides ---------------------------------------------------------------------------------------

SIDES: tuple[Literal["caller", "agent"], ...] = ("caller", "agent")
SLACK = {"caller": HEARD_HZ // 5, "agent": HEARD_HZ // 20}
"""A side that is behind the clock by more, in samples, was silent: its next piece stands at the clock's time."""
MAX_AHEAD = HEARD_HZ
"""A side that is ahead of the clock by more sends too much: the piece is left out."""
MAX_BURST = 10 * HEARD_HZ
"""The most of the caller's audio that a network may hold back and deliver at once, in samples. No more comes than the caller was
silent before."""
QUIET = 0.05
"""A piece whose peak is less than this part of the caller's loudest has no words. It is left out where the caller is ahead of the
clock."""


@dataclass(slots=True)
class _Side:
    """The position of one side."""

    end: int = 0
    """The end of its last piece."""
    run: int = 0
    """The place among its pieces of the first that came without a gap since."""
    floor: int = 0
    """The end of what was before that one."""
    is_interrupted: bool = False
    """True if something is missing since the last piece."""
    allowed: int = MAX_AHEAD
    """Samples that may come at once."""
    at: int = 0
    """The time at which its last piece came."""
    peak: int = 0
    """The peak of all its pieces."""


class CallTimeline:
    """The timeline of one call. Times are samples since its beginning."""

    def __init__(self) -> None:
        self._pieces: dict[str, list[tuple[int, NDArray[np.int16]]]] = {side: [] for side in SIDES}
        """The pieces that were not taken yet, each with its start."""
        self._sides = {side: _Side() for side in SIDES}
        self._taken = 0

    @property
    def caller_end(self) -> int:
        """The end of the caller's last piece. It may be later than the time at which the piece came."""
        return self._sides["caller"].end

    def put(self, side: Literal["caller", "agent"], pcm: NDArray[np.int16], at: int) -> None:
        """Add audio of a side that was said at this time; mono 16 kHz."""
        one, pieces = self._sides[side], self._pieces[side]
        has_gap = at > one.end and (at - one.end > SLACK[side] or one.is_interrupted)
        start = max(at if has_gap else one.end, self._taken)
        if not len(pcm) or not (self._may_come(pcm, at) if side == "caller" else start - at <= MAX_AHEAD):
            return
        if has_gap:
            one.run, one.floor = len(pieces), one.end
        one.is_interrupted = False
        pieces.append((start, pcm))
        one.end = start + len(pcm)
        if side == "caller" and start > at:
            self._move_back(start - at)

    def miss(self, side: Literal["caller", "agent"]) -> None:
        """Nothing has come from a side where something was due. Its next piece stands at the clock's time, or before it if it
        comes with others at once."""
        self._sides[side].is_interrupted = True

    def drop_agent(self, at: int) -> None:
        """Drop the agent's audio from this time on: it is not played."""
        agent = self._sides["agent"]
        kept = [(start, pcm[: max(0, at - start)]) for start, pcm in self._pieces["agent"]]
        self._pieces["agent"] = [(start, pcm) for start, pcm in kept if len(pcm)]
        agent.end = min(agent.end, max(at, self._taken))

    def take(self, until: int) -> NDArray[np.int16]:
        """All up to this time that was not taken yet, shape (samples, 2)."""
        since, self._taken = self._taken, max(self._taken, until)
        out = np.zeros((self._taken - since, 2), np.int16)
        for column, side in enumerate(SIDES):
            one = self._sides[side]
            left: list[tuple[int, NDArray[np.int16]]] = []
            for start, pcm in self._pieces[side]:
                now = pcm[: max(0, self._taken - start)]
                out[start - since : start - since + len(now), column] = now
                if len(now) < len(pcm):
                    left.append((start + len(now), pcm[len(now) :]))
            one.run = max(0, one.run - (len(self._pieces[side]) - len(left)))
            self._pieces[side] = left
        return out

    def _may_come(self, pcm: NDArray[np.int16], at: int) -> bool:
        """True if the caller can have said it by now. A piece without words is left out where there is no room for it."""
        caller = self._sides["caller"]
        caller.allowed = min(MAX_AHEAD + MAX_BURST, caller.allowed + max(0, at - caller.at))
        caller.at = max(caller.at, at)
        peak = int(np.abs(pcm.astype(np.int32)).max())
        caller.peak = max(caller.peak, peak)
        is_ahead = caller.end - at - self._room() > SLACK["caller"]
        if len(pcm) > caller.allowed or (is_ahead and peak < QUIET * caller.peak):
            return False
        caller.allowed -= len(pcm)
        return True

    def _room(self) -> int:
        """The silence before what the caller said without a gap, as far as it was not taken."""
        caller, pieces = self._sides["caller"], self._pieces["caller"]
        start = pieces[caller.run][0] if caller.run < len(pieces) else self._taken
        return max(0, start - max(caller.floor, self._taken))

    def _move_back(self, ahead: int) -> None:
        """Move audio that was held back to the silence in which it was missing: it was said before it came."""
        caller, pieces = self._sides["caller"], self._pieces["caller"]
        if by := min(ahead, self._room()):
            pieces[caller.run :] = [(start - by, pcm) for start, pcm in pieces[caller.run :]]
            caller.end -= by


# --- the file ---------------------------------------------------------------------------------------------------------

Format = Literal["wav", "opus"]
SUFFIXES: dict[Format, str] = {"wav": ".wav", "opus": ".opus"}
CHANNELS = 2
PAGE_US = 1_000_000
"""An Ogg page is complete with a second of audio."""


class RecordingFile(Protocol):
    """A file that is being written."""

    def write(self, pcm: NDArray[np.int16]) -> None:
        """Add shape (samples, 2). Raises OSError."""
        ...

    def close(self) -> None:
        """No more comes. Raises OSError."""
        ...


def open_recording(path: Path, kind: Format, rate_hz: int) -> RecordingFile:
    """Begin a new, private file, in a folder that is made when it is missing. Raises OSError."""
    private_folder(path.parent)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    file = os.fdopen(os.open(path, flags, FILE_MODE), "wb")
    return _Wav(file, rate_hz) if kind == "wav" else _Opus(file, rate_hz)


class _Wav:
    def __init__(self, file: BinaryIO, rate_hz: int) -> None:
        self._file = file
        self._bytes = 0
        self._rate_hz = rate_hz
        self._write_head()

    def write(self, pcm: NDArray[np.int16]) -> None:
        data = pcm.astype("<i2").tobytes()
        self._file.seek(0, os.SEEK_END)
        self._file.write(data)
        self._bytes += len(data)
        self._write_head()

    def close(self) -> None:
        self._file.close()

    def _write_head(self) -> None:
        """Write the head with the sizes so far."""
        frame_bytes = 2 * CHANNELS
        head = struct.pack("<4sI4s", b"RIFF", 36 + self._bytes, b"WAVE")
        layout = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, CHANNELS, self._rate_hz, self._rate_hz * frame_bytes, frame_bytes, 16)
        self._file.seek(0)
        self._file.write(head + layout + struct.pack("<4sI", b"data", self._bytes))
        self._file.flush()


class _Opus:
    def __init__(self, file: BinaryIO, rate_hz: int) -> None:
        self._file = file
        self._rate_hz = rate_hz
        self._container = av.open(file, "w", format="ogg", options={"page_duration": str(PAGE_US)})
        self._stream = self._container.add_stream("libopus", rate=rate_hz, options={"b": "48000", "application": "voip"})
        self._stream.layout = "stereo"
        self._samples = 0

    def write(self, pcm: NDArray[np.int16]) -> None:
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(pcm).reshape(1, -1), format="s16", layout="stereo")
        frame.sample_rate, frame.pts = self._rate_hz, self._samples
        self._samples += len(pcm)
        self._container.mux(self._stream.encode(frame))
        self._file.flush()

    def close(self) -> None:
        self._container.mux(self._stream.encode(None))
        self._container.close()
        self._file.close()
