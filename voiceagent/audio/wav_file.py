"""Reads WAV files by FFmpeg, and FLAC by its suffix. WAV may be PCM of 8 to 32 bits, floating point, µ-law and A-law, also in the
extensible form. Its header may name no length or a wrong one, as in a stream or a file that was cut off: then the audio that is
there is read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import av
import av.error
import numpy as np
from numpy.typing import NDArray

from voiceagent.errors import ConfigError

RATES_HZ = (1_000, 384_000)


@contextmanager
def opened_wav(file: Path) -> Iterator[tuple[Iterator[NDArray[np.float32]], int, int]]:
    """The pieces of a file in -1..1, shape (samples, channels), its channels and its rate in Hz. Raises ConfigError, in one line,
    also while the pieces are read."""
    try:
        with file.open("rb") as opened, av.open(opened, mode="r", format=_format(file)) as container:
            stream = container.streams.audio[0]
            if not RATES_HZ[0] <= stream.rate <= RATES_HZ[1]:
                raise ConfigError(f"{file}: has {stream.rate} samples a second; expected {RATES_HZ[0]} to {RATES_HZ[1]}")
            yield _pieces(container, stream.channels), stream.channels, stream.rate
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read ({error.strerror}); name a WAV file") from error
    except (av.error.FFmpegError, IndexError, ValueError) as error:
        why = "it is empty" if not file.stat().st_size else getattr(error, "strerror", "") or "no sound in it"
        raise ConfigError(f"{file}: is no WAV file that can be played ({why}); expected PCM, such as 16 bits") from error


def _format(file: Path) -> str:
    return "flac" if file.suffix.lower() == ".flac" else "wav"


def _pieces(container: av.container.InputContainer, channels: int) -> Iterator[NDArray[np.float32]]:
    with suppress(av.error.InvalidDataError):  # a last sample that was cut
        for frame in container.decode(container.streams.audio[0]):
            yield _scaled(frame.to_ndarray()).reshape(-1, channels)


def _scaled(samples: NDArray[np.generic]) -> NDArray[np.float32]:
    values: NDArray[np.float32] = samples.astype(np.float32)
    if samples.dtype.kind == "f":
        return np.nan_to_num(values, nan=0.0, posinf=1.0, neginf=-1.0)
    if samples.dtype.kind == "u":  # 8 bits have no sign: silence is 128
        return values / np.float32(128) - np.float32(1)
    return values / np.float32(2.0 ** (8 * samples.dtype.itemsize - 1))


def as_int16(samples: NDArray[np.float32]) -> NDArray[np.int16]:
    """Samples in -1..1 as 16 bits; what is louder is cut off."""
    whole: NDArray[np.int16] = np.clip(np.rint(samples * 32_768.0), -32_768, 32_767).astype(np.int16)
    return whole
