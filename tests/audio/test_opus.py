from __future__ import annotations

import ctypes.util
import importlib.util

import numpy as np
import pytest

from voiceagent.audio import opus
from voiceagent.audio.levels import dbfs
from voiceagent.errors import MediaError


def tone(seconds: float, rate_hz: int, hz: float = 440.0) -> np.ndarray:
    return (8000 * np.sin(2 * np.pi * hz * np.arange(int(seconds * rate_hz)) / rate_hz)).astype(np.int16)


def packets(pcm: np.ndarray, encoder: opus.Encoder) -> list[bytes]:
    size = encoder.rate_hz // 50
    return [encoder.encode(pcm[i : i + size]) for i in range(0, len(pcm) - size + 1, size)]


def test_a_tone_survives_at_another_rate() -> None:
    decoder = opus.Decoder(16_000)
    audio = np.concatenate([decoder.decode(p) for p in packets(tone(1.0, 24_000), opus.Encoder())])
    assert len(audio) == 16_000
    assert dbfs(audio[4000:]) == pytest.approx(dbfs(tone(1.0, 16_000)), abs=1.0)
    spectrum = np.abs(np.fft.rfft(audio[4000:12_000]))
    assert np.argmax(spectrum) * 2 == pytest.approx(440, abs=4)


def _pieces(rng: np.random.Generator) -> np.ndarray:
    """Speech-like: bursts of different tones, so that a guess from the past is wrong."""
    return np.concatenate([tone(0.06, 24_000, hz) for hz in rng.choice([200, 300, 450, 700], 20)])


def test_error_correction_recovers_what_concealment_can_only_guess() -> None:
    pcm = _pieces(np.random.default_rng(1))
    sent = packets(pcm, opus.Encoder(expected_loss_percent=20))
    clean = [d.copy() for d in map(opus.Decoder().decode, sent)]
    guessed_error = recovered_error = 0.0
    for lost in range(5, len(sent) - 1, 3):
        errors = []
        for recover in (False, True):
            decoder = opus.Decoder()
            for p in sent[:lost]:
                decoder.decode(p)
            made = decoder.recover(sent[lost + 1], 320) if recover else decoder.conceal(320)
            errors.append(float(np.sum((made.astype(float) - clean[lost]) ** 2)))
        guessed_error += errors[0]
        recovered_error += errors[1]
    assert recovered_error < guessed_error * 0.8


def test_concealment_gives_exactly_the_samples_asked_for() -> None:
    decoder = opus.Decoder()
    decoder.decode(opus.Encoder().encode(tone(0.02, 24_000)))
    assert decoder.conceal(320).shape == (320,)
    assert decoder.conceal(1920).shape == (1920,)
    with pytest.raises(MediaError, match="multiple of 40"):
        decoder.conceal(321)


@pytest.mark.parametrize("frame_ms", [2.5, 5, 10, 20, 40, 60])
def test_packets_say_how_long_they_are(frame_ms: float) -> None:
    packet = opus.Encoder(48_000).encode(np.zeros(int(48 * frame_ms), dtype=np.int16))
    assert opus.packet_samples(packet) == 48 * frame_ms


def test_what_is_not_opus_is_refused_in_one_line() -> None:
    with pytest.raises(MediaError, match="not an Opus packet"):
        opus.Decoder().decode(b"\xff")
    with pytest.raises(MediaError, match="empty"):
        opus.Decoder().decode(b"")
    assert opus.packet_samples(b"") == 0
    assert opus.packet_samples(b"\xff") == 0
    with pytest.raises(MediaError, match="44100 Hz"):
        opus.Encoder(44_100)
    with pytest.raises(MediaError, match="44100 Hz"):
        opus.Decoder(44_100)
    with pytest.raises(MediaError, match="100 samples"):
        opus.Encoder().encode(np.zeros(100, dtype=np.int16))
    with pytest.raises(MediaError, match="complexity 99"):
        opus.Encoder(complexity=99)


def test_random_bytes_never_do_worse_than_an_error() -> None:
    rng = np.random.default_rng(0)
    decoder = opus.Decoder()
    for _ in range(2000):
        data = rng.bytes(int(rng.integers(1, 60)))
        try:
            assert len(decoder.decode(data)) <= 1920
        except MediaError:
            continue


def test_without_libopus_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(ctypes.util, "find_library", lambda name: None)
    opus._library.cache_clear()
    try:
        with pytest.raises(MediaError, match="install the `av` wheel"):
            opus.version()
    finally:
        opus._library.cache_clear()
