"""The sound card: PortAudio itself, on a machine that PipeWire plays; and the choice of devices."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import wave
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.sound_room import SoundRoom, sound_room
from voiceagent.audio.format import PLAYED_HZ
from voiceagent.client import sound_card_process
from voiceagent.client.caller import Caller
from voiceagent.client.live_audio import LiveAudio
from voiceagent.client.portaudio import portaudio
from voiceagent.client.sound_card import (
    HeardBlock,
    PlayedBlock,
    SoundCard,
    SoundCardError,
    SoundDevice,
    chosen_device,
    resampler,
)
from voiceagent.errors import ConfigError

FRAME = 480
HEADSET = SoundDevice(0, "USB headset: Audio (hw:1,0)", "ALSA", 1, 2, False, False)
MONITOR = SoundDevice(1, "HDMI monitor", "ALSA", 0, 8, False, False)
USUAL = SoundDevice(2, "default", "ALSA", 32, 32, True, True)


def tone(hz: float, seconds: float, rate_hz: int = PLAYED_HZ) -> NDArray[np.int16]:
    return (8000 * np.sin(2 * np.pi * hz * np.arange(int(rate_hz * seconds)) / rate_hz)).astype(np.int16)


def loudest_hz(pcm: NDArray[np.int16], rate_hz: int) -> float:
    return float(np.argmax(np.abs(np.fft.rfft(pcm.astype(float))))) * rate_hz / len(pcm)


def system_device(room: SoundRoom) -> SoundDevice:
    """The devices as the command lists them. PortAudio in this process may be older than the room."""
    command = [sys.executable, "-m", "voiceagent", "talk", "--devices", "--json"]
    run = subprocess.run(command, env=room.environment, capture_output=True, text=True, check=True, timeout=60)
    return chosen_device([SoundDevice(**row) for row in json.loads(run.stdout)], "", is_input=True)


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SoundRoom]:
    with sound_room(tmp_path) as running:
        monkeypatch.setenv("XDG_RUNTIME_DIR", running.environment["XDG_RUNTIME_DIR"])
        yield running


def test_a_device_is_chosen_by_number_name_or_a_part_of_it() -> None:
    devices = [HEADSET, MONITOR, USUAL]
    assert chosen_device(devices, "", is_input=True) is USUAL
    assert chosen_device(devices, "headset", is_input=True) is HEADSET
    assert chosen_device(devices, "1", is_input=False) is MONITOR
    assert chosen_device([HEADSET], "", is_input=True) is HEADSET


@pytest.mark.parametrize(
    ("devices", "wanted", "said"),
    [
        ([MONITOR], "", "this machine has no microphone; connect one, or use --text"),
        ([HEADSET, USUAL], "hedset", "--microphone 'hedset': there is no such microphone"),
        ([USUAL, MONITOR], "monitor", "there is no such microphone"),
        ([HEADSET, SoundDevice(5, "USB camera", "ALSA", 1, 0, False, False)], "usb", "several fit: 0 'USB headset"),
    ],
)
def test_a_wrong_device_is_one_line(devices: list[SoundDevice], wanted: str, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        chosen_device(devices, wanted, is_input=True)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_what_is_not_installed_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sounddevice", None)
    with pytest.raises(ConfigError, match=r"pip install 'voiceagent\[talk\]'; --text needs no sound"):
        portaudio()
    monkeypatch.delitem(sys.modules, "sounddevice")
    monkeypatch.setattr("importlib.import_module", _no_library)
    with pytest.raises(ConfigError, match="the library PortAudio: install it"):
        portaudio()


def _no_library(name: str) -> None:
    raise OSError("PortAudio library not found")


@pytest.mark.parametrize(("from_hz", "to_hz"), [(48_000, 16_000), (24_000, 48_000), (44_100, 16_000), (24_000, 44_100)])
def test_audio_keeps_its_pitch_between_the_card_and_the_call(from_hz: int, to_hz: int) -> None:
    made, size = resampler(from_hz, to_hz), from_hz // 50
    pcm = tone(1000, 1.0, from_hz)
    out = np.concatenate([made.process(pcm[start : start + size]) for start in range(0, len(pcm), size)])
    assert abs(loudest_hz(out, to_hz) - 1000) < 3
    assert abs(len(out) - to_hz) < to_hz * 0.05


async def test_the_room_is_heard_and_the_loudspeaker_plays(room: SoundRoom, tmp_path: Path) -> None:
    with wave.open(str(tmp_path / "said.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(48_000)
        file.writeframes(tone(700, 1.0, 48_000).tobytes())
    device = system_device(room)
    heard: list[NDArray[np.int16]] = []
    played = 0
    with room.recorded(tmp_path / "played.wav"):
        async with SoundCard(device, device) as card:
            saying = asyncio.create_task(asyncio.to_thread(room.say, tmp_path / "said.wav"))
            sound = tone(440, 2.0)
            async for block in card.blocks():
                if isinstance(block, HeardBlock):
                    heard.append(block.pcm)
                    if len(sound):
                        card.play(sound[:FRAME])
                        sound = sound[FRAME:]
                elif block.pcm is not None:
                    assert len(block.pcm) == FRAME
                    played += 1
                if saying.done() and played >= 80:
                    break
            await saying
            pcm = np.concatenate(heard)
            loud = pcm[np.abs(pcm.astype(int)) > 1000]
            assert len(loud) > 0.3 * card.heard_hz
            assert abs(loudest_hz(pcm, card.heard_hz) - 700) < 30
    with wave.open(str(tmp_path / "played.wav")) as file:
        recorded = np.frombuffer(file.readframes(file.getnframes()), np.int16)
    assert abs(loudest_hz(recorded, 48_000) - 440) < 30


async def test_devices_that_go_away_end_it_with_one_line(room: SoundRoom) -> None:
    device = system_device(room)

    async def listen(card: SoundCard) -> None:
        async for block in card.blocks():
            if isinstance(block, HeardBlock) and room.daemon.poll() is None:
                room.break_down()

    async with SoundCard(device, device) as card:
        with pytest.raises(SoundCardError, match="is gone, and with it the call's sound"):
            await listen(card)


async def test_a_device_that_does_not_exist_is_one_line() -> None:
    with pytest.raises(SoundCardError) as raised:
        async with SoundCard(SoundDevice(999, "none", "ALSA", 1, 1, False, False), USUAL):
            pass
    assert "\n" not in str(raised.value)


class FakeCard(SoundCard):
    """Plays and hears nothing: blocks come from the test."""

    def __init__(self, *blocks: HeardBlock | PlayedBlock) -> None:
        super().__init__(USUAL, USUAL)
        self.heard_hz = 16_000
        self._blocks = blocks

    async def blocks(self):  # type: ignore[no-untyped-def]
        for block in self._blocks:
            yield block


def taking(audio: LiveAudio, caller: Caller, got: list[NDArray[np.int16]]) -> Callable[[NDArray[np.int16], float], None]:
    """Takes each frame as soon as it is there, as the network does."""
    take = audio._take

    def taken(pcm: NDArray[np.int16], at_ms: float) -> None:
        take(pcm, at_ms)
        assert caller.live is not None
        while (frame := caller.live()) is not None:
            got.append(frame)

    return taken


async def test_the_echo_of_what_is_played_is_taken_out_though_threads_wake_unevenly() -> None:
    rng = np.random.default_rng(1)
    speech = (rng.normal(size=PLAYED_HZ * 6) * 3000 * np.repeat(rng.random(300), FRAME)).astype(np.int16)
    down = resampler(PLAYED_HZ, 16_000)
    frames = [speech[start : start + FRAME] for start in range(0, len(speech), FRAME)]
    echoes = [(down.process(frame) * 0.3).astype(np.int16) for frame in frames]
    blocks: list[HeardBlock | PlayedBlock] = []
    for number, frame in enumerate(frames):
        woken_ms = 1000.0 + number * 20.0 + float(rng.random()) * 4.0
        blocks.append(PlayedBlock(frame, woken_ms))
        blocks.append(HeardBlock(echoes[number - 4] if number >= 4 else np.zeros(320, np.int16), woken_ms + 1.0))
    sent: dict[bool, float] = {}
    for cancels in (True, False):
        caller = Caller("http://127.0.0.1:9")
        audio = LiveAudio(FakeCard(*blocks), caller, cancels_echo=cancels)
        got: list[NDArray[np.int16]] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(audio, "_take", taking(audio, caller, got))
            await audio.run()
        late = np.concatenate(got[150:]).astype(float)
        sent[cancels] = float(np.sqrt(np.mean(late**2)))
    assert sent[True] < sent[False] / 10


async def test_a_muted_microphone_sends_silence_and_a_full_queue_is_counted() -> None:
    caller = Caller("http://127.0.0.1:9")
    audio = LiveAudio(FakeCard(*(HeardBlock(tone(500, 0.02, 16_000), 20.0 * n) for n in range(20))), caller, cancels_echo=False)
    await audio.run()
    assert audio.left_out_ms == 300
    assert caller.live is not None
    assert caller.live() is not None
    audio.is_muted = True
    assert caller.live() is None


def test_a_message_fits_a_pipe_s_atomic_write() -> None:
    largest = sound_card_process.TOLD.size + max(sound_card_process.RATES_HZ) // 50 * 2
    assert largest <= 4096
