"""WAV files as recorders, streams and converters write them: what is there is played, what is not is told in one line."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.speech import tone
from voiceagent.audio.format import PHONE_HZ
from voiceagent.errors import ConfigError
from voiceagent.tts.clips import read_wav

RATE_HZ = 16_000
SPEECH = tone(1000, 440)
PLAIN = SPEECH.astype("<i2").tobytes()
GUID = b"\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71"
"""The end of a subformat's name, after its code."""
PCM, FLOAT, ALAW, ULAW = 1, 3, 6, 7


def wav(
    data: bytes,
    *,
    form: int = PCM,
    bits: int = 16,
    channels: int = 1,
    rate_hz: int = RATE_HZ,
    size: int | None = None,
    extensible: bool = False,
    before: bytes = b"",
    after: bytes = b"",
) -> bytes:
    """A file whose header names `size` bytes of data."""
    code = 0xFFFE if extensible else form
    head = struct.pack("<HHIIHH", code, channels, rate_hz, rate_hz * channels * bits // 8, channels * bits // 8, bits)
    if extensible:
        head += struct.pack("<HHI", 22, bits, (1 << channels) - 1) + struct.pack("<H", form) + GUID
    length = len(data) if size is None else size
    body = b"fmt " + struct.pack("<I", len(head)) + head + before + b"data" + struct.pack("<I", length) + data + after
    return b"RIFF" + struct.pack("<I", 0xFFFFFFFF if length == 0xFFFFFFFF else 4 + len(body)) + b"WAVE" + body


def in_bytes(bits: int) -> bytes:
    if bits == 8:
        return ((SPEECH // 256) + 128).astype(np.uint8).tobytes()
    wide = SPEECH.astype(np.int64) << (bits - 16)
    return b"".join(struct.pack("<q", int(sample))[: bits // 8] for sample in wide)


def chunk(name: bytes, content: bytes) -> bytes:
    return name + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)


def read(tmp_path: Path, content: bytes, rate_hz: int = RATE_HZ) -> NDArray[np.int16]:
    (tmp_path / "clip.wav").write_bytes(content)
    return read_wav(tmp_path / "clip.wav", rate_hz, 60)


def is_speech(heard: NDArray[np.int16], within: int = 300, missing: int = 0) -> bool:
    """Whether the tone is there, to so many steps of its samples, with at most so many samples missing or more."""
    count = min(len(heard), len(SPEECH))
    close = np.abs(heard[:count].astype(int) - SPEECH[:count]).max() <= within
    return bool(close) and abs(len(heard) - len(SPEECH)) <= missing


FLOATS = (SPEECH / 32_768).astype("<f4").tobytes()
LIST, JUNK = chunk(b"LIST", b"INFOISFT\x05\0\0\0Lavf\0"), chunk(b"JUNK", bytes(28))


@pytest.mark.parametrize(
    ("content", "within", "missing"),
    [
        (wav(PLAIN), 0, 0),
        (wav(PLAIN, size=0xFFFFFFFF), 0, 0),  # a stream: nobody knew how long it would be
        (wav(PLAIN, size=0), 0, 0),  # a recorder that was ended before it wrote its header again
        (wav(PLAIN, size=10 * len(PLAIN)), 0, 0),
        (wav(PLAIN[:-1], size=len(PLAIN)), 0, 1),
        (wav(PLAIN + b"\x01"), 0, 0),
        (wav(PLAIN, before=LIST + JUNK), 0, 0),
        (wav(PLAIN, before=chunk(b"bext", bytes(603)), after=LIST), 0, 0),
        (wav(in_bytes(8), bits=8), 256, 0),
        (wav(in_bytes(24), bits=24), 0, 0),
        (wav(in_bytes(32), bits=32), 0, 0),
        (wav(FLOATS, form=FLOAT, bits=32), 0, 0),
        (wav((SPEECH / 32_768).astype("<f8").tobytes(), form=FLOAT, bits=64), 0, 0),
        (wav(PLAIN, extensible=True), 0, 0),
        (wav(in_bytes(24), bits=24, extensible=True), 0, 0),
        (wav(FLOATS, form=FLOAT, bits=32, extensible=True), 0, 0),
        (wav(FLOATS[:-3], form=FLOAT, bits=32, extensible=True, size=0xFFFFFFFF), 0, 1),
    ],
)
def test_what_is_there_is_played(content: bytes, within: int, missing: int, tmp_path: Path) -> None:
    assert is_speech(read(tmp_path, content), within, missing)


@pytest.mark.parametrize("form", [ALAW, ULAW])
@pytest.mark.parametrize("extensible", [False, True])
def test_the_telephones_codes_are_played(form: int, extensible: bool, tmp_path: Path) -> None:
    codes = np.tile(np.array([0x80, 0x00], np.uint8), PHONE_HZ // 2).tobytes()
    heard = read(tmp_path, wav(codes, form=form, bits=8, rate_hz=PHONE_HZ, extensible=extensible), PHONE_HZ)
    assert len(heard) == PHONE_HZ
    assert np.abs(heard.astype(int)).max() > 5_000


@pytest.mark.parametrize("rate_hz", [1_000, 8_000, 11_025, 22_050, 44_100, 48_000, 96_000, 192_000])
def test_any_usual_rate_is_resampled(rate_hz: int, tmp_path: Path) -> None:
    sound = (8000 * np.sin(2 * np.pi * 200 * np.arange(rate_hz) / rate_hz)).astype("<i2")
    heard = read(tmp_path, wav(sound.tobytes(), rate_hz=rate_hz))
    assert abs(len(heard) - RATE_HZ) <= 2
    assert np.abs(heard).max() == pytest.approx(8000, rel=0.1)


def stereo(left: NDArray[np.generic], right: NDArray[np.generic]) -> bytes:
    return np.stack([left, right], axis=1).astype("<i2").tobytes()


def test_channels_are_mixed_unless_they_cancel_each_other(tmp_path: Path) -> None:
    assert is_speech(read(tmp_path, wav(stereo(SPEECH, SPEECH), channels=2)), 1)
    assert is_speech(read(tmp_path, wav(stereo(SPEECH, -SPEECH), channels=2)), 1)
    assert is_speech(read(tmp_path, wav(stereo(SPEECH, -0.8 * SPEECH), channels=2)), 1)
    assert is_speech(2 * read(tmp_path, wav(stereo(SPEECH, 0 * SPEECH), channels=2)), 2)
    six = np.zeros((len(SPEECH), 6), "<i2")
    six[:, 2] = SPEECH
    assert is_speech(read(tmp_path, wav(six.tobytes(), channels=6, extensible=True)), 1)


def test_the_last_frame_of_two_channels_may_be_cut(tmp_path: Path) -> None:
    assert is_speech(read(tmp_path, wav(stereo(SPEECH, SPEECH)[:-2], channels=2, size=0xFFFFFFFF)), 1, missing=1)


def test_values_beyond_full_scale_are_clipped_and_no_number_is_silence(tmp_path: Path) -> None:
    values = np.array([2.0, -2.0, np.nan, np.inf, -np.inf, 0.5], "<f4")
    assert read(tmp_path, wav(values.tobytes(), form=FLOAT, bits=32)).tolist() == [32767, -32768, 0, 32767, -32768, 16384]


SILENT = np.zeros(RATE_HZ, "<i2")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is no WAV file that can be played (it is empty)"),
        (b"This is text, and no audio.", "is no WAV file that can be played"),
        (b"ID3\x04" + bytes(400), "is no WAV file that can be played"),
        (b"OggS" + bytes(400), "is no WAV file that can be played"),
        (wav(PLAIN)[:20], "is no WAV file that can be played"),
        (wav(PLAIN, channels=0), "is no WAV file that can be played"),
        (wav(b""), "holds no audio"),
        (wav(b"", size=0xFFFFFFFF), "holds no audio"),
        (wav(PLAIN[:1], size=0xFFFFFFFF), "holds no audio"),
        (wav(SILENT.tobytes()), "holds no sound, only 1.0 s of silence"),
        (wav((SILENT + 1000).tobytes()), "holds no sound"),  # nothing but an offset
        (wav(np.tile(np.array([1, -1], "<i2"), RATE_HZ).tobytes()), "holds no sound, only 2.0 s"),
        (wav(np.full(RATE_HZ, 128, np.uint8).tobytes(), bits=8), "holds no sound"),
        (wav(SILENT.tobytes() * 61), "is longer than 60 s"),
        (wav(PLAIN, rate_hz=0), "is no WAV file that can be played"),
        (wav(PLAIN, rate_hz=10), "has 10 samples a second; expected 1000 to 384000"),
        (wav(PLAIN, rate_hz=4_000_000), "has 4000000 samples a second"),
    ],
)
def test_what_cannot_be_played_is_told_in_one_line(content: bytes, told: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        read(tmp_path, content)
    assert str(refused.value).startswith(f"{tmp_path / 'clip.wav'}: {told}")
    assert "\n" not in str(refused.value)


def test_a_folder_and_a_missing_file_cannot_be_read(tmp_path: Path) -> None:
    for path, why in ((tmp_path, "Is a directory"), (tmp_path / "none.wav", "No such file")):
        with pytest.raises(ConfigError, match=f"cannot be read \\({why}"):
            read_wav(path, RATE_HZ, 60)
