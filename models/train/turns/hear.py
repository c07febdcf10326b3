"""Hears the turns as a call does: at each silence of 100 ms what Whisper wrote, how the voice ended, how long it lasted, and what
the judges say. The evidence is kept outside the checkout, by part, line, seed and the code that made it: it is made once, scored
in seconds.

    python -m models.train.turns.hear --part fit --turns 790 [--line telephone] [--slice 0/2]
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import hashlib
import json
import os
import random
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import get_args

from models.train.endpoint_hear import SAMPLES_PER_MS, HeardPause, HeardTurn, hear_turn
from models.train.endpoint_speak import SpokenTurn
from models.train.turns.draw import SEED, DrawnTurn, turns
from models.train.turns.judges import Meaning
from models.train.turns.patterns import FOLDER, Part
from models.train.turns.speak import Line, Voice, Voices, draw_voice
from voiceagent.audio.format import HEARD_HZ
from voiceagent.models.registry import profile, resolve
from voiceagent.stt.whisper import create
from voiceagent.turn_judges.judge import MAX_AUDIO_S, JudgedPause
from voiceagent.turn_judges.meaning import without_closing_marks
from voiceagent.turn_judges.smart_turn import SmartTurn

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "voiceagent" / "turns"
JOE, EAR, MEANING = "piper-joe", "smart-turn-v3.2", "smollm2-135m-tools"
"""Models of the registry."""
HEARD_BY = "starter"
"""The profile whose recogniser writes the words: those of its first decode. What it decodes again in doubt comes too late."""
JUDGED_FROM_MS = 180.0
"""Shorter pauses end nothing."""
PARTIALS_FROM_MS = 8000.0
"""Sooner the recogniser of `HEARD_BY` lets go of no audio (`StreamOptions.trim_after_s`)."""
MAKERS = (
    "draw.py",
    "hear.py",
    "patterns.py",
    "speak.py",
    "values.py",
    "values.yaml",
    "../endpoint_hear.py",
    "../endpoint_speak.py",
)


@dataclass(frozen=True, slots=True)
class JudgedHearing:
    """A pause as it was heard, and what the ear says of it."""

    pause: HeardPause
    ear: float | None
    """When it was noticed; None where it was too short to end anything."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One turn's."""

    topic: str
    kind: str
    pattern: str
    voice: str
    speed: str
    line: str
    asked: str
    said: str
    end_ms: float
    """When the caller had finished, in the audio."""
    pauses: tuple[JudgedHearing, ...]


def version() -> str:
    """Of the data and the code that makes the evidence, whatever its layout."""
    here = Path(__file__).parent
    digest = hashlib.sha256()
    for path in [*(here / name for name in MAKERS), *sorted(FOLDER.glob("*/*.yaml"))]:
        text = path.read_text(encoding="utf-8")
        digest.update((ast.dump(ast.parse(text)) if path.suffix == ".py" else text).encode())
    return digest.hexdigest()[:10]


def evidence_file(part: Part, line: Line, seed: int = SEED, slice_of: str = "0/1") -> Path:
    """Where a slice of a part's evidence is kept."""
    return CACHE / version() / f"{part}-{line}-{seed}-{slice_of.replace('/', 'of')}.jsonl"


def drawn_voices(part: Part, seed: int) -> Iterator[tuple[int, DrawnTurn, Voice]]:
    """The turns of a part with their numbers and who speaks them, the same on any line."""
    rng = random.Random(f"voice {part} {seed}")
    for number, drawn in enumerate(turns(part, seed)):
        yield number, drawn, draw_voice(rng, part)


async def hear(part: Part, turns: int, line: Line = "wide", seed: int = SEED, slice_of: str = "0/1") -> None:
    """Write a slice of a part's evidence, going on where an earlier run stopped. Raises ModelError."""
    path = evidence_file(part, line, seed, slice_of)
    index, of = (int(number) for number in slice_of.split("/"))
    path.parent.mkdir(parents=True, exist_ok=True)
    done = sum(1 for _ in path.open(encoding="utf-8")) if path.exists() else 0
    voices, ear = Voices(resolve(JOE) / "voice.onnx", CACHE), SmartTurn(resolve(EAR))
    spec = profile(HEARD_BY).stt
    engine = create(resolve(spec.model), {**spec.options, "doubt_below": None})
    mine = (found for found in islice(drawn_voices(part, seed), turns) if found[0] % of == index)
    began = time.monotonic()
    try:
        with path.open("a", encoding="utf-8") as file:
            for number, drawn, voice in islice(mine, done, None):
                rng = random.Random(f"sound {part} {seed} {number}")
                spoken = voices.spoken(rng, drawn.turn, voice, line)
                if spoken is None:
                    raise SystemExit(f"no word times: {voice.name}: {drawn.pattern.text}")
                heard = await hear_turn(engine, drawn.turn, spoken, PARTIALS_FROM_MS)
                pauses = tuple([await judged(ear, spoken, pause) for pause in heard.pauses])
                file.write(json.dumps(asdict(_evidence(drawn, voice, line, heard, pauses)), ensure_ascii=False) + "\n")
                file.flush()
    finally:
        await engine.close()
        await ear.close()
    print(f"{path}: {time.monotonic() - began:.0f} s")


async def judged(ear: SmartTurn, spoken: SpokenTurn, pause: HeardPause) -> JudgedHearing:
    """The pause, and what the ear says when it is noticed."""
    if pause.lasted_ms < JUDGED_FROM_MS:
        return JudgedHearing(pause, None)
    end = int(pause.at_ms * SAMPLES_PER_MS)
    chance = await ear.judge(JudgedPause(spoken.audio[max(0, end - MAX_AUDIO_S * HEARD_HZ) : end]))
    return JudgedHearing(pause, None if chance is None else round(chance, 5))


def _evidence(drawn: DrawnTurn, voice: Voice, line: Line, heard: HeardTurn, pauses: tuple[JudgedHearing, ...]) -> Evidence:
    pattern = drawn.pattern
    place = (pattern.topic, pattern.kind, pattern.text, voice.name, voice.speed, line)
    return Evidence(*place, heard.asked, heard.said, heard.end_ms, pauses)


def evidence_files(part: Part, line: Line, seed: int = SEED) -> list[Path]:
    """The slices that are there."""
    return sorted(CACHE.glob(f"{version()}/{part}-{line}-{seed}-*.jsonl"))


def read_evidence(part: Part, line: Line, seed: int = SEED) -> list[Evidence]:
    """All slices of a part. Raises FileNotFoundError naming the command that makes them."""
    paths = evidence_files(part, line, seed)
    if not paths:
        command = f"python -m models.train.turns.hear --part {part} --line {line} --seed {seed}"
        raise FileNotFoundError(f"no evidence of {part}, {line}: make it with {command}")
    return [turn for path in paths for turn in read_jsonl(path)]


def read_jsonl(path: Path) -> list[Evidence]:
    """The evidence in one file."""
    return [_read(json.loads(text)) for text in path.read_text(encoding="utf-8").splitlines()]


def _read(entry: dict[str, object]) -> Evidence:
    # The ignores: JSON as `_evidence` made it. An annotation would change `version()`, and with it what lies in the cache.
    judged: list[dict[str, object]] = entry.pop("pauses")  # type: ignore[assignment]
    pauses = tuple(JudgedHearing(HeardPause(**one["pause"]), one["ear"]) for one in judged)  # type: ignore[arg-type]
    return Evidence(**entry, pauses=pauses)  # type: ignore[arg-type]


def read_meanings() -> dict[tuple[str, str], float]:
    """What the language model says of words after a question, as far as it was asked."""
    path = meanings_file()
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {(asked, words): chance for asked, words, chance in map(json.loads, lines)}


def meanings_file() -> Path:
    """Where its judgements are kept. Raises ModelError."""
    return CACHE / f"meanings-{resolve(MEANING).name}.jsonl"


def ask_meaning(part: Part, line: Line = "wide", seed: int = SEED) -> None:
    """Ask the language model about the words of a part's pauses that it was not asked about yet."""
    ask_meaning_of(read_evidence(part, line, seed))


def ask_meaning_of(turns: Iterable[Evidence]) -> None:
    """Ask the language model about the words of these pauses that it was not asked about yet, in order: so it reads little."""
    pauses = [(turn.asked, one.pause) for turn in turns for one in turn.pauses]
    wanted = {(asked, without_closing_marks(pause.words)) for asked, pause in pauses if pause.lasted_ms >= JUDGED_FROM_MS}
    new = sorted(pair for pair in wanted - set(read_meanings()) if pair[1])
    if not new:
        return
    judge, began = Meaning(resolve(MEANING)), time.monotonic()
    with meanings_file().open("a", encoding="utf-8") as file:
        for asked, words in new:
            file.write(json.dumps([asked, words, round(judge.chance(words, asked), 6)], ensure_ascii=False) + "\n")
    print(f"{MEANING}: {len(new)} judgements in {time.monotonic() - began:.0f} s")


async def evidence(part: Part, turns: int, line: Line = "wide", seed: int = SEED) -> list[Evidence]:
    """The first turns of a part, heard and judged now where they were not before. Raises ModelError."""
    if not evidence_files(part, line, seed) or len(read_evidence(part, line, seed)) < turns:
        await hear(part, turns, line, seed)
    ask_meaning(part, line, seed)
    return read_evidence(part, line, seed)[:turns]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=get_args(Part), required=True)
    parser.add_argument("--line", choices=get_args(Line), default="wide")
    parser.add_argument("--turns", type=int, default=600)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--slice", default="0/1", help="which turns: I/N, for N programs at once; then once more without it")
    options = parser.parse_args()
    if options.slice != "0/1":
        asyncio.run(hear(options.part, options.turns, options.line, options.seed, options.slice))
    else:
        asyncio.run(evidence(options.part, options.turns, options.line, options.seed))


if __name__ == "__main__":
    main()
