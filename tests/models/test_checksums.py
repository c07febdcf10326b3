import hashlib
from pathlib import Path

import pytest

from voiceagent.errors import ModelError
from voiceagent.models.checksums import check_sums, read_sums, sha256_of, write_sums


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "whisper").mkdir()
    (tmp_path / "whisper" / "model.bin").write_bytes(b"weights" * 1000)
    (tmp_path / "voice").mkdir()
    (tmp_path / "voice" / "voice.onnx").write_bytes(b"voice")
    assert write_sums(tmp_path) == 2
    return tmp_path


def test_what_was_listed_checks_out(folder: Path) -> None:
    assert check_sums(folder) == []
    assert check_sums(folder, "whisper") == []
    assert read_sums(folder)["voice/voice.onnx"] == hashlib.sha256(b"voice").hexdigest()


def test_a_changed_a_missing_and_a_new_file_are_told(folder: Path) -> None:
    (folder / "whisper" / "model.bin").write_bytes(b"weightS" * 1000)
    (folder / "voice" / "voice.onnx").unlink()
    (folder / "voice" / "new").write_bytes(b"")
    assert check_sums(folder) == [
        "voice/voice.onnx: is missing",
        "voice/new: is not in SHA256SUMS",
        "whisper/model.bin: is corrupt (its SHA-256 is not the listed one)",
    ]
    assert check_sums(folder, "whisper") == ["whisper/model.bin: is corrupt (its SHA-256 is not the listed one)"]


def test_a_folder_without_listed_files_is_told(folder: Path) -> None:
    assert check_sums(folder, "lm") == ["lm: no file of it is in SHA256SUMS"]


def test_a_missing_or_malformed_list_is_one_clear_line(folder: Path) -> None:
    (folder / "SHA256SUMS").write_text("abc  x\n")
    with pytest.raises(ModelError, match="SHA256SUMS:1: expected a SHA-256 digest"):
        check_sums(folder)
    (folder / "SHA256SUMS").unlink()
    with pytest.raises(ModelError, match="cannot be read"):
        check_sums(folder)


def test_reading_tells_its_progress(folder: Path) -> None:
    seen: list[int] = []
    sha256_of(folder / "whisper" / "model.bin", seen.append)
    assert sum(seen) == 7000
