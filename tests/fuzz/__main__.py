"""`make fuzz`: new mutations for as long as one likes, target after target in short rounds. What fails is written into a folder,
as small as it could be made, with what it did."""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import time
from pathlib import Path

from tests.fuzz.every import TARGETS
from tests.fuzz.target import CORPUS, Target, Trial, corpus

EXAMPLES = 300
"""Inputs in a round."""


def fuzz_once(kind: type[Target], number: int, out: Path) -> tuple[int, Path | None]:
    """One round: how many inputs were tried, and the file of the one that failed. Ctrl-C ends it."""
    trial = Trial(kind())
    try:
        with trial:
            for data in corpus(kind.name) if number == 0 else ():
                trial.give(data)
            trial.search(EXAMPLES, number)
    except Exception as error:  # noqa: BLE001  whatever a target raises is what is looked for
        folder = out / kind.name
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{kind.__name__}-{hashlib.sha256(trial.last).hexdigest()[:12]}"
        file.write_bytes(trial.last)
        file.with_suffix(".txt").write_text(f"{kind.__name__}, round {number}\n{type(error).__name__}: {error}\n")
        return trial.tried, file
    return trial.tried, None


def main() -> int:
    """Ends with 1 when an input failed."""
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--out", type=Path, default=Path("build/fuzz"))
    parser.add_argument(
        "--target", action="append", choices=[kind.__name__ for kind in TARGETS], help="only this one; may be repeated"
    )
    parser.add_argument("--first", type=int, default=0, help="number of the first round")
    given = parser.parse_args()
    kinds = [kind for kind in TARGETS if not given.target or kind.__name__ in given.target]
    ends_s = time.monotonic() + given.minutes * 60.0
    tried = dict.fromkeys(kinds, 0)
    found: list[Path] = []
    number = given.first
    while time.monotonic() < ends_s:
        for kind in kinds:
            if time.monotonic() >= ends_s:
                break
            count, file = fuzz_once(kind, number, given.out)
            tried[kind] += count
            if file is not None and file not in found:
                found.append(file)
                print(f"FOUND {kind.__name__}: {file} ({file.stat().st_size} bytes)", flush=True)
                print("      " + "\n      ".join(file.with_suffix(".txt").read_text().splitlines()[-6:]), flush=True)
        number += 1
    for kind, count in tried.items():
        print(f"{kind.__name__}: {count} inputs")
    for file in found:
        kept = os.path.relpath(CORPUS / file.parent.name / f"found-{file.name.rpartition('-')[2]}")
        print(f"to keep it: cp {file} {kept}; it is then tried by make test-attacks")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
