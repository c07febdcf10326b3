"""SHA-256 of model files, and the `SHA256SUMS` list that ships with the bundled models (the format of coreutils' sha256sum).

python -m voiceagent.models.checksums models/bundled      # write the list anew
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable
from pathlib import Path

from voiceagent.errors import ModelError

LIST_NAME = "SHA256SUMS"
CHUNK_BYTES = 1 << 20
_LINE = re.compile(r"([0-9a-f]{64})  (\S.*)")


def sha256_of(path: Path, progress: Callable[[int], None] | None = None) -> str:
    """The hex digest of a file; `progress` is given the bytes read since its last call. Raises OSError."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
            if progress is not None:
                progress(len(chunk))
    return digest.hexdigest()


def _files(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file() and p.name != LIST_NAME)


def write_sums(folder: Path) -> int:
    """List every file below `folder`; returns how many there are. Raises OSError."""
    names = _files(folder)
    lines = [f"{sha256_of(folder / name)}  {name}\n" for name in names]
    (folder / LIST_NAME).write_text("".join(lines), encoding="utf-8")
    return len(names)


def read_sums(folder: Path) -> dict[str, str]:
    """File name (relative, with slashes) → digest. Raises ModelError when the list is missing or malformed."""
    path = folder / LIST_NAME
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text"
        raise ModelError(f"{path}: cannot be read ({reason}); install voiceagent again") from error
    sums: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        match = _LINE.fullmatch(line)
        if match is None:
            raise ModelError(f"{path}:{number}: expected a SHA-256 digest, two spaces and a file name; install voiceagent again")
        sums[match[2]] = match[1]
    return sums


def check_sums(folder: Path, below: str = "") -> list[str]:
    """Checks the listed files, or those below one sub-folder if it is named. Returns what is wrong, a line each; empty when all
    is well. Raises ModelError when there is no list."""
    prefix = f"{below}/" if below else ""
    listed = {name: digest for name, digest in read_sums(folder).items() if name.startswith(prefix)}
    present = {name for name in _files(folder) if name.startswith(prefix)}
    problems = [f"{name}: is missing" for name in sorted(set(listed) - present)]
    problems += [f"{name}: is not in {LIST_NAME}" for name in sorted(present - set(listed))]
    for name in sorted(present & set(listed)):
        if sha256_of(folder / name) != listed[name]:
            problems.append(f"{name}: is corrupt (its SHA-256 is not the listed one)")
    if not listed:
        problems.append(f"{below or folder}: no file of it is in {LIST_NAME}")
    return problems


if __name__ == "__main__":
    print(f"{write_sums(Path(sys.argv[1]))} files")
