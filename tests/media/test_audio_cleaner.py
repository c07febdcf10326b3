"""Noise and the agent's echo, taken out of what the voice detector hears: on real legs, with the real library."""

from __future__ import annotations

import asyncio
import builtins
import gc
import logging
import weakref
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.media.conftest import MediaServer, tone
from tests.speech import frames, noise, said, silence
from voiceagent.audio import voice_processing
from voiceagent.audio.levels import dbfs
from voiceagent.audio.resample import resample
from voiceagent.audio.voice_processing import VoiceProcessor
from voiceagent.client.caller import Caller
from voiceagent.errors import ConfigError
from voiceagent.latency.spans import LegKind
from voiceagent.media import audio_cleaner
from voiceagent.media.audio_cleaner import (
    MAX_LATE_MS,
    WATCHED_FRAMES,
    AudioCleaner,
    AudioCleaning,
    CallerClock,
    EchoReference,
    check_cleaning,
)
from voiceagent.media.inbound_frames import InboundFrames
from voiceagent.media.webrtc.ports import MediaSettings
from voiceagent.media.webrtc.webrtc_leg import WebRtcLeg
from voiceagent.settings.agent import AgentConfig
from voiceagent.vad.detector import SpeechDetector, SpeechOnset

ECHO = AudioCleaning(echo_cancellation=True)
NOISE = AudioCleaning(noise_suppression=True)
BOTH = AudioCleaning(echo_cancellation=True, noise_suppression=True)
AGENT = said("I have found three restaurants near the station that still have a free table on Friday evening at seven.")
CALLER = said("No, I meant the other station.", "en-us+f3")


def sent(pcm: np.ndarray) -> np.ndarray:
    """The same at the leg's 24 kHz."""
    return resample(pcm, 16_000, 24_000)


def called(cleaner: AudioCleaner, played: np.ndarray, heard: np.ndarray) -> list[np.ndarray]:
    """What the detector gets of a call in which both go on at the same time."""
    speaker = [*sent(played)[: len(played) // 320 * 480].reshape(-1, 480)]
    found = []
    for number, frame in enumerate(frames(heard)):
        if number < len(speaker):
            cleaner.played(speaker[number], number * 20.0)
        cleaned = cleaner.clean(frame, number * 20.0 + 20.0)
        found.append(frame if cleaned is None else cleaned)
    return found


def onsets(pcm: list[np.ndarray]) -> list[float]:
    """When speech was noticed, in ms."""
    detector, found = SpeechDetector(), []
    for number, frame in enumerate(pcm):
        if isinstance(detector.feed(frame, number * 20.0 + 20.0), SpeechOnset):
            found.append(number * 20.0 + 20.0)
    return found


@pytest.mark.parametrize("delay_ms", [60, 300])
def test_the_agents_voice_that_comes_back_is_not_heard(delay_ms: int) -> None:
    echo = np.concatenate([silence(delay_ms), AGENT // 2])
    assert onsets(frames(echo))
    assert not onsets(called(AudioCleaner(ECHO), AGENT, echo))


def test_a_caller_who_speaks_over_the_echo_is_heard() -> None:
    echo = np.concatenate([silence(100), AGENT // 4])[: len(AGENT)]
    begins_ms = 2500
    voice = np.concatenate([silence(begins_ms), CALLER])
    both = echo + np.pad(voice, (0, max(0, len(echo) - len(voice))))[: len(echo)]
    found = onsets(called(AudioCleaner(ECHO), AGENT, both))
    assert len(found) == 1
    assert begins_ms < found[0] < begins_ms + 800


def test_where_nothing_comes_back_the_callers_voice_stays_as_it_is() -> None:
    hiss = noise(len(AGENT) / 16, 0.0005)
    voice = np.concatenate([silence(2500), CALLER])
    heard = hiss + np.pad(voice, (0, max(0, len(hiss) - len(voice))))[: len(hiss)]
    cleaned = called(AudioCleaner(ECHO), AGENT, heard)
    assert np.array_equal(np.concatenate(cleaned)[40_000:], np.concatenate(frames(heard))[40_000:])


def test_noise_becomes_softer_for_the_detector_and_stays_for_the_recogniser() -> None:
    inbound = InboundFrames(AudioCleaner(NOISE))
    came = frames(noise(1000, 0.05))
    for number, frame in enumerate(came):
        inbound.put(frame, number * 20.0, concealed=number == 7)
    inbound.end()

    async def read() -> list[Any]:
        return [frame async for frame in inbound.read()]

    got = asyncio.run(read())
    assert [frame.received_ms for frame in got] == [number * 20.0 for number in range(50)]
    assert [number for number, frame in enumerate(got) if frame.concealed] == [7]
    assert all(np.array_equal(frame.pcm, was) for frame, was in zip(got, came, strict=True))
    assert dbfs(got[-1].cleaned) < dbfs(got[-1].pcm) - 6


def test_off_means_that_nothing_is_made_and_nothing_is_changed() -> None:
    cleaner = AudioCleaner()
    cleaner.played(tone(0.02), 0.0)
    assert cleaner.clean(CALLER[:320], 20.0) is None
    inbound = InboundFrames()
    frame = CALLER[:320].copy()
    inbound.put(frame, 20.0, concealed=False)
    waiting = inbound._waiting[0]
    assert waiting.pcm is frame
    assert np.array_equal(frame, CALLER[:320])
    assert waiting.cleaned is None


def test_a_library_that_fails_is_told_once_and_the_audio_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    cleaner = AudioCleaner(BOTH)
    assert cleaner.clean(CALLER[:320], 20.0) is not None

    def broken(self: VoiceProcessor, *audio: np.ndarray) -> np.ndarray:
        raise RuntimeError("out of order")

    monkeypatch.setattr(VoiceProcessor, "clean", broken)
    with caplog.at_level(logging.ERROR):
        assert [cleaner.clean(CALLER[:320], at_ms) for at_ms in (40.0, 60.0, 80.0)] == [None] * 3
    assert caplog.text.count("a caller's audio is cleaned no more") == 1


def test_the_end_of_a_leg_frees_the_library_s_objects() -> None:
    cleaner = AudioCleaner(BOTH)
    inbound = InboundFrames(cleaner)
    inbound.put(CALLER[:320], 20.0, concealed=False)
    assert cleaner._echo is not None
    module = weakref.ref(cleaner._echo._module)
    assert module() is not None
    inbound.end()
    inbound.end()
    gc.collect()
    assert module() is None
    inbound.put(CALLER[:320], 40.0, concealed=False)
    assert cleaner._echo is None


def test_a_change_in_the_middle_of_a_call_takes_effect_with_the_next_frame() -> None:
    cleaner = AudioCleaner()
    assert cleaner.clean(CALLER[:320], 20.0) is None
    cleaner.use(NOISE)
    assert cleaner.clean(CALLER[:320], 40.0) is not None
    cleaner.use(BOTH)
    cleaner.clean(CALLER[:320], 60.0)
    echo = cleaner._echo
    cleaner.use(ECHO)
    assert cleaner._noise is None
    assert cleaner._echo is echo is not None, "what it has learnt of the echo stays"
    cleaner.use(AudioCleaning())
    assert cleaner.clean(CALLER[:320], 80.0) is None


def test_a_setting_that_needs_an_absent_package_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    check_cleaning(BOTH, "media.telephone")
    monkeypatch.setattr(audio_cleaner, "is_installed", partial(voice_processing.is_installed, "no_such_package"))
    check_cleaning(AudioCleaning(), "media.telephone")
    with pytest.raises(ConfigError) as refused:
        check_cleaning(ECHO, "media.telephone")
    assert str(refused.value) == (
        "media.telephone.echo_cancellation is on, but it needs the package livekit, which is not installed: "
        "pip install 'voiceagent[noise]', or leave the setting out"
    )


def test_a_package_that_does_not_load_is_refused_too(monkeypatch: pytest.MonkeyPatch) -> None:
    imported = builtins.__import__

    def broken(name: str, *rest: Any) -> Any:
        if name.startswith("livekit"):
            raise ImportError("failed to load liblivekit_ffi.so")
        return imported(name, *rest)

    monkeypatch.setattr(builtins, "__import__", broken)
    with pytest.raises(ConfigError, match=r"media\.webrtc\.noise_suppression is on, but livekit does not load \(failed to load"):
        check_cleaning(NOISE, "media.webrtc")


def test_each_kind_of_leg_has_settings_of_its_own() -> None:
    media = AgentConfig(media=MediaSettings(telephone=ECHO)).media
    assert (media.cleaning(LegKind.TELEPHONE), media.cleaning(LegKind.WEBRTC)) == (ECHO, AudioCleaning())


# --- its parts ---


def test_the_reference_is_what_was_played_at_that_time() -> None:
    reference = EchoReference()
    ramp = np.arange(960, dtype=np.int16)
    reference.put(ramp[:480], 1000.0)
    reference.put(ramp[480:], 1020.0)
    assert np.array_equal(reference.until(1030.0), ramp[240:720])
    assert not reference.until(1000.0).any()
    assert np.array_equal(reference.until(1050.0), [*ramp[720:], *[0] * 240])
    reference.forget_from(1030.0)
    assert np.array_equal(reference.until(1040.0), [*ramp[480:720], *[0] * 240])
    for second in range(2, 60):
        reference.put(ramp[:480], second * 1000.0)
    assert len(reference) <= 2


def test_the_callers_clock_goes_on_evenly_under_jitter_and_follows_a_slow_clock() -> None:
    clock, rng = CallerClock(), np.random.default_rng(1)
    even = [clock.next(number * 20.0 + float(rng.exponential(15.0))) for number in range(500)]
    steps = np.diff(even)[100:]
    assert np.mean(steps == 20.0) > 0.95
    late = CallerClock()
    for number in range(WATCHED_FRAMES):
        late.next(number * 20.0)
    for number in range(WATCHED_FRAMES, 3 * WATCHED_FRAMES):
        last_ms = late.next(number * 20.0 + 300.0)
    assert last_ms == pytest.approx((3 * WATCHED_FRAMES - 1) * 20.0 + 300.0, abs=10.0)


# --- a leg ---


def test_the_callers_clock_goes_on_at_once_after_a_long_pause() -> None:
    clock = CallerClock()
    for number in range(50):
        clock.next(1000.0 + number * 20.0)
    assert 30_000.0 - clock.next(30_000.0) < MAX_LATE_MS


async def test_a_call_that_hears_nobody_keeps_what_the_canceller_has_learnt() -> None:
    inbound, played = InboundFrames(cleaner := AudioCleaner(ECHO)), sent(AGENT)[:96_000].reshape(-1, 480)
    heard = frames(AGENT // 4)
    for number in range(100):
        cleaner.played(played[number], number * 20.0)
        inbound.put(heard[number], number * 20.0 + 20.0, concealed=False)
    assert cleaner._evidence._found
    inbound.clear()
    for number in range(400):  # the caller waits, or holds the call, while the agent speaks
        cleaner.played(played[number % len(played)], 2000.0 + number * 20.0)
        inbound.put_silence(2000.0 + number * 20.0 + 20.0)
    assert cleaner._evidence._found
    inbound.end()
    silent = [frame async for frame in inbound.read()]
    assert len(silent) == 400
    assert not any(frame.pcm.any() or frame.cleaned is not None for frame in silent)


async def test_a_leg_cancels_the_echo_of_what_its_playout_sends(media_server: MediaServer) -> None:
    cleaned: list[np.ndarray] = []
    came: list[np.ndarray] = []

    async def speak(leg: WebRtcLeg) -> None:
        leg.cleaner.use(ECHO)
        await leg.wait_connected()
        leg.playout.push(1, 0, sent(AGENT), complete=True)
        async for frame in leg.frames():
            assert frame.cleaned is not None
            came.append(frame.pcm)
            cleaned.append(frame.cleaned)

    media_server.behaviour = speak
    async with asyncio.timeout(30), Caller(media_server.url) as caller:
        back = asyncio.Event()
        spoken = 0

        def repeat(frame: Any) -> None:
            nonlocal spoken
            caller.say(frame.pcm // 2)
            spoken += bool(np.abs(frame.pcm).max() > 500)
            if spoken > 200:
                back.set()

        caller.on_frame = repeat
        await back.wait()
    await media_server.finish()
    assert onsets(came)
    assert dbfs(np.concatenate(cleaned)) < dbfs(np.concatenate(came)) - 10
