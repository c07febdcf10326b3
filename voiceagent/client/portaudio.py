"""The part of the package `sounddevice` that is used here, typed. It loads PortAudio when it is imported."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, cast

from voiceagent.errors import ConfigError

EXTRA = "voiceagent[talk]"

StreamCallback = Callable[[memoryview, int, object, object], None]
"""Called with a block's bytes, to be read or to be filled, its length in samples, and times and flags that nobody uses here."""


class PortAudioStream(Protocol):
    """One direction of one device."""

    def start(self) -> None:
        """Begin. Raises PortAudioError."""
        ...


class StreamKind(Protocol):
    """Opens a stream. Raises PortAudioError, ValueError."""

    def __call__(
        self,
        *,
        device: int,
        samplerate: int,
        blocksize: int,
        channels: int,
        dtype: str,
        latency: float,
        callback: StreamCallback,
        finished_callback: Callable[[], None],
    ) -> PortAudioStream:
        """`blocksize` is in samples, `latency` in seconds."""
        ...


class DefaultDevices(Protocol):
    """The system's own devices."""

    device: Sequence[int]
    """The numbers of the microphone and the loudspeaker; -1: none."""


class PortAudio(Protocol):
    """The package."""

    RawInputStream: StreamKind
    RawOutputStream: StreamKind
    PortAudioError: type[Exception]
    default: DefaultDevices

    def query_devices(self) -> Sequence[Mapping[str, object]]:
        """All devices."""
        ...

    def query_hostapis(self) -> Sequence[Mapping[str, object]]:
        """All systems of drivers."""
        ...


def portaudio() -> PortAudio:
    """The package. Raises ConfigError where it, or the library that it loads, is not installed."""
    try:
        return cast(PortAudio, importlib.import_module("sounddevice"))
    except ImportError as error:
        raise ConfigError(
            f"the microphone needs the package sounddevice: pip install '{EXTRA}'; --text needs no sound"
        ) from error
    except OSError as error:
        raise ConfigError(
            "the microphone needs the library PortAudio: install it (on Debian libportaudio2); --text needs no sound"
        ) from error
    except Exception as error:  # PortAudio's own, of a class that comes with the module
        raise ConfigError(f"PortAudio does not start ({error}); --text needs no sound") from error
