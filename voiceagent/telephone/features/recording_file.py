"""A recording's file, written piece by piece so that what is there can be played at any moment, also after a crash. WAV, or Opus
in Ogg (RFC 7845). All of it blocks: it runs in a thread."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import BinaryIO, Literal, Protocol

import av
import numpy as np
from numpy.typing import NDArray

from voiceagent.private_files import FILE_MODE, private_folder

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
