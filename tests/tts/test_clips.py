"""Recordings as phrases: cut with their clauses, joined they are whole again; every mistake is one line."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np
import pytest

from tests.speech import silence, tone
from voiceagent.errors import ConfigError
from voiceagent.tts.clips import load_clips

RATE_HZ = 16_000


def write(file: Path, *, channels: int = 1, rate_hz: int = RATE_HZ, seconds: float = 0.0) -> None:
    """Two tones with a silence between them, or zeros."""
    pcm = np.concatenate([tone(700, 440), silence(200), tone(900, 660)]) if not seconds else silence(seconds * 1000)
    with wave.open(str(file), "wb") as clip:
        clip.setnchannels(channels)
        clip.setsampwidth(2)
        clip.setframerate(rate_hz)
        clip.writeframes(np.repeat(pcm.astype("<i2"), channels).tobytes())


def test_a_clip_is_cut_in_the_silence_between_its_clauses(tmp_path: Path) -> None:
    write(tmp_path / "sorry.wav")
    phrase = "Sorry, that went wrong. Please say that again."
    clips = load_clips({"apology": "sorry.wav"}, {"apology": phrase}, str(tmp_path), RATE_HZ)
    assert list(clips) == ["Sorry, that went wrong.", "Please say that again."]
    first, second = clips.values()
    assert 0.7 < len(first.pcm) / RATE_HZ < 0.9
    assert len(first.pcm) + len(second.pcm) == 1.8 * RATE_HZ
    assert [word.text for word in second.words] == ["Please", "say", "that", "again."]
    assert second.words[-1].end_ms == pytest.approx(len(second.pcm) * 1000 / RATE_HZ)


def test_a_clip_is_resampled_and_mixed_down(tmp_path: Path) -> None:
    write(tmp_path / "wait.wav", channels=2)
    (clip,) = load_clips({"Let me check that.": "wait.wav"}, {}, str(tmp_path), 24_000).values()
    assert len(clip.pcm) == pytest.approx(1.8 * 24_000, abs=2)
    assert np.abs(clip.pcm).max() == pytest.approx(0.3 * 32767, rel=0.1)


def test_what_cannot_be_a_clip_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "text.wav").write_text("no audio")
    write(tmp_path / "quiet.wav", seconds=1)
    write(tmp_path / "long.wav", seconds=61)
    for file, told in (
        ("none.wav", "cannot be read"),
        ("text.wav", "is no WAV file"),
        ("quiet.wav", "holds no sound, only 1.0 s of silence"),
        ("long.wav", "is longer than 60 s"),
    ):
        with pytest.raises(ConfigError, match=f"{file}: {told}"):
            load_clips({"Hello.": file}, {}, str(tmp_path), RATE_HZ)
    with pytest.raises(ConfigError, match="the phrase greeting says nothing"):
        load_clips({"greeting": "quiet.wav"}, {"greeting": ""}, str(tmp_path), RATE_HZ)
