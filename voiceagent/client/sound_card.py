"""The machine's microphone and loudspeaker, by PortAudio (the package `sounddevice` of the extra `voiceagent[talk]`), which runs
in a process of its own (`sound_card_process.py`). Frames of 20 ms go there and come from there through pipes."""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.format import FRAME_MS, PLAYED_HZ
from voiceagent.audio.resample import ShortResampler, StreamResampler
from voiceagent.client.portaudio import PortAudio
from voiceagent.client.sound_card_process import CLEAR, HEARD, MAX_PLAYED_FRAMES, TO_PLAY, TOLD
from voiceagent.errors import ConfigError, MediaError
from voiceagent.json_types import JsonObject
from voiceagent.settings_file import did_you_mean
from voiceagent.untrusted_json import read_struct

PROCESS = "voiceagent.client.sound_card_process"
ENOUGH_FRAMES = 4
QUIET = 64
"""While as many frames wait, one softer than this (peak, on a full scale of 32768) is left out: the delay of a stall ends."""
OPEN_S = 15.0
"""The longest time that devices take to open."""
MAX_PIPE_BYTES = 100_000
"""Audio that may wait for the process: a second. Further frames are left out."""


class SoundCardError(MediaError):
    """There is no sound, or no more of it."""


@dataclass(frozen=True, slots=True)
class SoundDevice:
    """A device of the machine."""

    number: int
    name: str
    system: str
    """The system of drivers by which it is reached, such as ALSA."""
    inputs: int
    outputs: int
    """Channels."""
    is_default_input: bool
    is_default_output: bool


def sound_devices(module: PortAudio) -> list[SoundDevice]:
    """All devices of the machine, in PortAudio's order."""
    systems = [str(one["name"]) for one in module.query_hostapis()]
    inputs, outputs = (int(number) for number in module.default.device)
    return [
        SoundDevice(
            number,
            str(one["name"]),
            systems[int(str(one["hostapi"]))],
            int(str(one["max_input_channels"])),
            int(str(one["max_output_channels"])),
            number == inputs,
            number == outputs,
        )
        for number, one in enumerate(module.query_devices())
    ]


def chosen_device(devices: Sequence[SoundDevice], wanted: str, *, is_input: bool) -> SoundDevice:
    """The device of this number, name or part of a name; the system's own where none is wanted. Raises ConfigError."""
    what, option = ("microphone", "--microphone") if is_input else ("loudspeaker", "--loudspeaker")
    able = [one for one in devices if (one.inputs if is_input else one.outputs) > 0]
    if not able:
        raise ConfigError(f"this machine has no {what}; connect one, or use --text")
    if not wanted:
        return next((one for one in able if (one.is_default_input if is_input else one.is_default_output)), able[0])
    found = [one for one in able if wanted in (str(one.number), one.name)]
    found = found or [one for one in able if wanted.lower() in one.name.lower()]
    if len(found) == 1 or (found and len({one.name for one in found}) == 1):
        return found[0]
    if found:
        names = ", ".join(f"{one.number} {one.name!r}" for one in found[:5])
        raise ConfigError(f"{option} {wanted!r}: several fit: {names}; name one by its number")
    near = did_you_mean(wanted, [one.name for one in able])
    raise ConfigError(f"{option} {wanted!r}: there is no such {what}{near or '; `voiceagent talk --devices` lists them'}")


@dataclass(frozen=True, slots=True)
class HeardBlock:
    """20 ms of the microphone."""

    pcm: NDArray[np.int16]
    """Mono, at the card's `heard_hz`."""
    received_ms: float
    """The time of `time.monotonic`, in milliseconds."""


@dataclass(frozen=True, slots=True)
class PlayedBlock:
    """20 ms that were handed to the loudspeaker; None is silence."""

    pcm: NDArray[np.int16] | None
    """Mono 24 kHz, shape (480,)."""
    at_ms: float


class SoundCard:
    """An open microphone and an open loudspeaker. `async with` it."""

    def __init__(self, microphone: SoundDevice, loudspeaker: SoundDevice) -> None:
        """Opens nothing yet."""
        self._devices = (microphone, loudspeaker)
        self.heard_hz = 0
        """The microphone's rate; 0 before it is open."""
        self.left_out_ms = 0
        """Sound that was lost on the way from the microphone or to the loudspeaker."""
        self._played_hz = 0
        self._waiting: deque[tuple[int, NDArray[np.int16]]] = deque()
        """Frames that were sent and not played so far."""
        self._number = self._last_heard = 0
        self._rest = np.zeros(0, np.int16)
        self._resampler: ShortResampler | StreamResampler = ShortResampler(1, 1)
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> SoundCard:
        try:
            async with asyncio.timeout(OPEN_S):
                await self._open()
        except TimeoutError as error:
            await self.close()
            raise SoundCardError(f"the sound card does not open within {OPEN_S:g} s") from error
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    def play(self, pcm: NDArray[np.int16]) -> None:
        """Queue a frame, mono 24 kHz, shape (480,)."""
        if len(self._waiting) >= ENOUGH_FRAMES and np.abs(pcm.astype(np.int32)).max(initial=0) < QUIET:
            return
        self._rest = np.concatenate((self._rest, self._resampler.process(pcm)))
        size = self._played_hz * FRAME_MS // 1000
        while len(self._rest) >= size:
            block, self._rest = self._rest[:size], self._rest[size:]
            if len(self._waiting) >= MAX_PLAYED_FRAMES:  # the process leaves the oldest out, too
                self._waiting.popleft()
                self.left_out_ms += FRAME_MS
            self._number += 1
            self._waiting.append((self._number, pcm))
            self._send(TO_PLAY.pack(self._number) + block.tobytes())

    def stop_playing(self) -> None:
        """Drop the frames that wait to be played."""
        self._waiting.clear()
        self._send(TO_PLAY.pack(CLEAR))

    async def blocks(self) -> AsyncIterator[HeardBlock | PlayedBlock]:
        """Blocks that are heard and played, as it happens. Raises SoundCardError when a device is lost."""
        assert self._process is not None
        assert self._process.stdout is not None
        pipe, size = self._process.stdout, self.heard_hz * FRAME_MS // 1000 * 2
        with suppress(asyncio.IncompleteReadError):
            while True:
                kind, at_ms, number = TOLD.unpack(await pipe.readexactly(TOLD.size))
                if kind == HEARD:
                    pcm = np.frombuffer(await pipe.readexactly(size), np.int16)
                    missed = number - self._last_heard - 1 if self._last_heard else 0
                    self.left_out_ms += missed * FRAME_MS
                    self._last_heard = number
                    yield HeardBlock(pcm, at_ms)
                else:
                    yield PlayedBlock(self._taken(number), at_ms)
        names = " and the ".join(dict.fromkeys(f"device {device.name!r}" for device in self._devices))
        raise SoundCardError(f"the {names} is gone, and with it the call's sound")

    async def close(self) -> None:
        """Free both devices. May be called twice."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _open(self) -> None:
        """Start the process. Raises SoundCardError."""
        self._process = process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", PROCESS, *(str(device.number) for device in self._devices)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,  # ctrl-c ends the call in order
        )
        assert process.stdout is not None
        line = await process.stdout.readline()
        try:
            told: JsonObject = read_struct(line, dict)
        except ValueError as error:
            raise SoundCardError("the sound card's process ended before it was open") from error
        if "error" in told:
            raise SoundCardError(str(told["error"]))
        self.heard_hz, self._played_hz = int(told["heard_hz"]), int(told["played_hz"])
        self._resampler = resampler(PLAYED_HZ, self._played_hz)

    def _send(self, message: bytes) -> None:
        pipe = self._process.stdin if self._process is not None else None
        if pipe is None or pipe.is_closing():
            return
        if pipe.transport.get_write_buffer_size() > MAX_PIPE_BYTES:
            self.left_out_ms += FRAME_MS
            return
        pipe.write(message)

    def _taken(self, number: int) -> NDArray[np.int16] | None:
        """The frame that is played; those before it were left out."""
        while self._waiting and number and self._waiting[0][0] <= number:
            at, pcm = self._waiting.popleft()
            if at == number:
                return pcm
        return None


def resampler(from_hz: int, to_hz: int) -> ShortResampler | StreamResampler:
    """A resampler of little delay. The short filter would be long between 44.1 kHz and the others."""
    simple = max(from_hz, to_hz) % min(from_hz, to_hz) == 0 or {from_hz, to_hz} == {16_000, PLAYED_HZ}
    return ShortResampler(from_hz, to_hz) if simple else StreamResampler(from_hz, to_hz, quality="MQ")
