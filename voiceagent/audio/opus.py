"""Opus (RFC 6716) by ctypes on the libopus in PyAV's wheel, or on the system's. It encodes PCM to packets and decodes them, with
in-band error correction and concealment, which PyAV's own codec wrappers do not offer. One call takes 20–200 µs, so it runs on
the event loop."""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import importlib.util
import weakref
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from voiceagent.errors import MediaError

RTP_CLOCK_HZ = 48_000
"""The RTP clock of Opus, whatever the audio's rate (RFC 7587 §4.1)."""
MAX_PACKET_BYTES = 1275 * 3 + 7
"""The largest packet (RFC 6716 §3.4)."""

_APPLICATION_VOIP = 2048
_SIGNAL_VOICE = 3001
_SET_BITRATE = 4002
_SET_COMPLEXITY = 4010
_SET_INBAND_FEC = 4012
_SET_PACKET_LOSS_PERC = 4014
_SET_DTX = 4016
_SET_SIGNAL = 4024
_LONGEST_MS = 120


def _candidates() -> Iterator[str]:
    spec = importlib.util.find_spec("av")
    for package in (spec.submodule_search_locations or []) if spec else []:
        for folder in (Path(package).parent / "av.libs", Path(package) / ".dylibs"):
            yield from sorted(str(path) for path in folder.glob("*opus*") if path.is_file())
    system = ctypes.util.find_library("opus")
    if system:
        yield system


@functools.cache
def _library() -> ctypes.PyDLL:
    # PyDLL keeps the GIL: giving it up for 20 µs can cost the event loop 5 ms to get it back.
    problems: list[str] = []
    for name in _candidates():
        try:
            lib = ctypes.PyDLL(name)
            lib.opus_encoder_create.restype = ctypes.c_void_p
            lib.opus_decoder_create.restype = ctypes.c_void_p
        except (OSError, AttributeError) as error:
            problems.append(f"{Path(name).name}: {error}")
            continue
        handle, integer, data = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
        lib.opus_encoder_create.argtypes = [integer, integer, integer, ctypes.c_void_p]
        lib.opus_decoder_create.argtypes = [integer, integer, ctypes.c_void_p]
        lib.opus_encoder_destroy.argtypes = [handle]
        lib.opus_decoder_destroy.argtypes = [handle]
        lib.opus_encoder_destroy.restype = lib.opus_decoder_destroy.restype = None
        lib.opus_encoder_ctl.argtypes = [handle, integer]  # the third is variadic
        lib.opus_encode.argtypes = [handle, data, integer, ctypes.c_void_p, integer]
        lib.opus_decode.argtypes = [handle, data, integer, ctypes.c_void_p, integer, integer]
        lib.opus_packet_get_nb_samples.argtypes = [data, integer, integer]
        lib.opus_strerror.restype = lib.opus_get_version_string.restype = ctypes.c_char_p
        return lib
    tried = f" (tried {'; '.join(problems)})" if problems else ""
    raise MediaError(
        f"libopus was not found{tried}; expected it inside the `av` package or on the system: "
        "install the `av` wheel from PyPI, or the system's libopus (Debian: libopus0)"
    )


def _text(code: int) -> str:
    return str(_library().opus_strerror(code).decode())


def version() -> str:
    """The version of the libopus in use. Raises MediaError when there is none."""
    return str(_library().opus_get_version_string().decode())


def packet_samples(payload: bytes) -> int:
    """The length of a packet, in samples of the 48 kHz RTP clock; 0 when it is not an Opus packet."""
    # The first byte says it; where that says "any number of frames", the second one does (RFC 6716 §3.1, §3.2.5).
    return _samples_of(payload[: 2 if payload[0] & 0b11 == 0b11 else 1]) if payload else 0


@functools.cache
def _samples_of(head: bytes) -> int:
    return max(0, int(_library().opus_packet_get_nb_samples(head, len(head), RTP_CLOCK_HZ)))


def quiet_packet(payload: bytes) -> bytes:
    """A packet of one frame without audio, by which a sender says that it is silent (DTX, RFC 6716 §3.2.1). It has the mode of
    `payload`, a packet that this sender sent before."""
    return bytes([payload[0] & 0b1111_1100])


class Encoder:
    """A mono speech encoder (VOIP, in-band FEC, DTX off)."""

    def __init__(
        self, rate_hz: int = 24_000, *, bitrate_bps: int = 32_000, complexity: int = 5, expected_loss_percent: int = 10
    ) -> None:
        """`expected_loss_percent` above 0 makes each packet carry a coarse copy of the one before. Raises MediaError."""
        self.rate_hz = rate_hz
        lib = _library()
        error = ctypes.c_int()
        self._state = lib.opus_encoder_create(rate_hz, 1, _APPLICATION_VOIP, ctypes.byref(error))
        if error.value or not self._state:
            raise MediaError(f"Opus cannot encode at {rate_hz} Hz ({_text(error.value)}); use 8000, 12000, 16000, 24000 or 48000")
        self._free = weakref.finalize(self, lib.opus_encoder_destroy, self._state)
        self._encode = lib.opus_encode
        self._control = lib.opus_encoder_ctl
        self._complexity = complexity
        self._silent = False
        self._out = ctypes.create_string_buffer(MAX_PACKET_BYTES)
        for name, request, value in (
            ("bitrate_bps", _SET_BITRATE, bitrate_bps),
            ("complexity", _SET_COMPLEXITY, complexity),
            ("expected_loss_percent", _SET_PACKET_LOSS_PERC, expected_loss_percent),
            ("in-band FEC", _SET_INBAND_FEC, int(expected_loss_percent > 0)),
            ("DTX", _SET_DTX, 0),
            ("signal", _SET_SIGNAL, _SIGNAL_VOICE),
        ):
            code = self._control(self._state, request, ctypes.c_int(value))
            if code:
                raise MediaError(f"Opus refuses {name} {value} ({_text(code)})")

    def encode(self, pcm: NDArray[np.int16]) -> bytes:
        """One packet from a frame of mono int16, shape (samples,) of 2.5, 5, 10, 20, 40 or 60 ms. Raises MediaError."""
        silent = not pcm.any()
        if silent != self._silent:
            # Digital silence costs twice what speech does, except at complexity 1, where it costs a tenth.
            self._silent = silent
            self._control(self._state, _SET_COMPLEXITY, ctypes.c_int(min(1, self._complexity) if silent else self._complexity))
        size = self._encode(self._state, pcm.tobytes(), len(pcm), self._out, MAX_PACKET_BYTES)
        if size < 0:
            raise MediaError(
                f"Opus cannot encode a frame of {len(pcm)} samples at {self.rate_hz} Hz ({_text(size)}); "
                "expected 2.5, 5, 10, 20, 40 or 60 ms"
            )
        return ctypes.string_at(self._out, size)


class Decoder:
    """A decoder to mono int16 at its own rate, whatever rate and channels the sender used."""

    def __init__(self, rate_hz: int = 16_000) -> None:
        """Raises MediaError for a rate other than 8, 12, 16, 24 or 48 kHz."""
        self.rate_hz = rate_hz
        lib = _library()
        error = ctypes.c_int()
        self._state = lib.opus_decoder_create(rate_hz, 1, ctypes.byref(error))
        if error.value or not self._state:
            raise MediaError(f"Opus cannot decode to {rate_hz} Hz ({_text(error.value)}); use 8000, 12000, 16000, 24000 or 48000")
        self._free = weakref.finalize(self, lib.opus_decoder_destroy, self._state)
        self._decode = lib.opus_decode
        self._longest_samples = rate_hz * _LONGEST_MS // 1000
        self._step_samples = rate_hz // 400
        self._out = np.zeros(self._longest_samples, dtype=np.int16)
        self._out_address = self._out.ctypes.data

    def packet_samples(self, payload: bytes) -> int:
        """See the function of this name."""
        return packet_samples(payload)

    def decode(self, payload: bytes) -> NDArray[np.int16]:
        """The audio of a packet, shape (samples,). Raises MediaError when it is not an Opus packet."""
        return self._run(payload, self._longest_samples, fec=False)

    def conceal(self, samples: int) -> NDArray[np.int16]:
        """An extrapolation of lost audio, shape (samples,); `samples` is a multiple of 2.5 ms, at most 120 ms."""
        return self._run(None, self._steps(samples), fec=False)

    def recover(self, next_payload: bytes, samples: int) -> NDArray[np.int16]:
        """The lost audio just before the packet `next_payload`, shape (samples,), `samples` as for `conceal`. It is decoded from
        the coarse copy in that packet, or concealed when the packet holds none. Decode the packet itself afterwards. Raises
        MediaError."""
        return self._run(next_payload, self._steps(samples), fec=True)

    def _steps(self, samples: int) -> int:
        if samples <= 0 or samples % self._step_samples or samples > self._longest_samples:
            raise MediaError(
                f"Opus cannot make up {samples} samples at {self.rate_hz} Hz; "
                f"expected a multiple of {self._step_samples}, at most {self._longest_samples}"
            )
        return samples

    def _run(self, payload: bytes | None, samples: int, *, fec: bool) -> NDArray[np.int16]:
        if payload is not None and not payload:
            raise MediaError("an empty Opus packet; expected at least one byte")
        length = len(payload) if payload else 0
        size = int(self._decode(self._state, payload, length, self._out_address, samples, int(fec)))
        if size < 0:
            raise MediaError(f"not an Opus packet: {length} bytes ({_text(size)})")
        return self._out[:size].copy()
