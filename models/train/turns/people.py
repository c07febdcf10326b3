"""Hears people's turns as a call does, like `hear`, which hears synthetic ones. The recordings are those of `tests/people`. With
$VOICEAGENT_PEOPLE there are further sets, which may be measured with and must not be fitted to.

    python -m models.train.turns.people turns utterances digits_cc_by_sa
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.train.endpoint_hear import SAMPLES_PER_MS, hear_turn
from models.train.endpoint_speak import SpokenTurn
from models.train.endpoint_turns import Turn
from models.train.turns.hear import (
    CACHE,
    EAR,
    HEARD_BY,
    PARTIALS_FROM_MS,
    Evidence,
    JudgedHearing,
    ask_meaning_of,
    judged,
    read_jsonl,
)
from tests.people.people import Recording, recordings
from voiceagent.models.registry import profile, resolve
from voiceagent.stt.whisper import create
from voiceagent.turn_judges.smart_turn import SmartTurn

FITTED, MEASURED = ("turns", "utterances"), ("turns_measure_only",)
"""The sets that are fitted to, and those that must not be."""
LEAD_MS, KEPT_MS, REST_MS, NOISE = 400.0, 1400.0, 3200.0, 6.0
"""Silence before a recording; what is kept of it behind the turn; the silence behind the turn in all; the noise's deviation, of
32,768."""
MAKERS = ("people.py", "../endpoint_hear.py")


def sounding(recording: Recording) -> SpokenTurn:
    """A recording in a line that is never quite silent, as a call's is."""
    end_ms = recording.end_s * 1000.0
    kept = recording.audio()[: int((end_ms + KEPT_MS) * SAMPLES_PER_MS)]
    samples: NDArray[np.float64] = np.zeros(int((LEAD_MS + end_ms + REST_MS) * SAMPLES_PER_MS))
    lead = int(LEAD_MS * SAMPLES_PER_MS)
    samples[lead : lead + len(kept)] = kept
    samples += np.random.default_rng(1).normal(0.0, NOISE, len(samples))
    return SpokenTurn(np.clip(samples, -32768, 32767).astype(np.int16), end_ms + LEAD_MS, ())


def evidence_path(folder: str, most: int | None = None) -> Path:
    """Where the evidence of a set, or of its first recordings, is kept, by the code that makes it."""
    digest = hashlib.sha256()
    for name in MAKERS:
        digest.update(ast.dump(ast.parse((Path(__file__).parent / name).read_text(encoding="utf-8"))).encode())
    return CACHE / f"people-{digest.hexdigest()[:10]}" / (f"{folder}.jsonl" if most is None else f"{folder}-{most}.jsonl")


async def hear_people(folder: str, most: int | None = None) -> None:
    """Write the evidence of a set, or of its first recordings. Raises ModelError."""
    path, began = evidence_path(folder, most), time.monotonic()
    path.parent.mkdir(parents=True, exist_ok=True)
    spec = profile(HEARD_BY).stt
    engine, ear = create(resolve(spec.model), {**spec.options, "doubt_below": None}), SmartTurn(resolve(EAR))
    try:
        with path.with_suffix(".part").open("w", encoding="utf-8") as file:
            for recording in recordings(folder)[:most]:
                if recording.language == "en":
                    spoken = sounding(recording)
                    heard = await hear_turn(engine, Turn("", (), ()), spoken, PARTIALS_FROM_MS)
                    pauses = tuple([await judged(ear, spoken, pause) for pause in heard.pauses])
                    file.write(json.dumps(asdict(_evidence(folder, recording, spoken, pauses)), ensure_ascii=False) + "\n")
                    file.flush()
    finally:
        await engine.close()
        await ear.close()
    path.with_suffix(".part").rename(path)
    print(f"{path}: {time.monotonic() - began:.0f} s")


def _evidence(folder: str, recording: Recording, spoken: SpokenTurn, pauses: tuple[JudgedHearing, ...]) -> Evidence:
    speaker = recording.group or recording.source
    return Evidence(
        recording.kind, folder, recording.path.name, speaker, "", "telephone", "", recording.text, spoken.end_ms, pauses
    )


async def people(folders: Sequence[str], most: int | None = None) -> list[Evidence]:
    """The turns of these sets in the order of their calls, heard and judged now where they were not before. Raises ModelError."""
    found: list[Evidence] = []
    for folder in folders:
        if not evidence_path(folder, most).exists():
            await hear_people(folder, most)
        found += read_jsonl(evidence_path(folder, most))
    ask_meaning_of(found)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="SET", help="turns, utterances …")
    asyncio.run(people(parser.parse_args().folders))


if __name__ == "__main__":
    main()
