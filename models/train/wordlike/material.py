"""People's words, coughs, laughs and hums, and noises, from Debian packages and from `tests/people`. The packages are unpacked
below one folder; nothing of them is shipped. A package that is missing gives no sounds."""

from __future__ import annotations

import io
import random
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import av
import numpy as np
from numpy.typing import NDArray

from tests.people.people import recordings

RATE_HZ = 16_000
LONGEST_S = 4.0
SHORTEST_SAMPLES, QUIETEST = 1600, 200
TUXPAINT_WORDS, TUXPAINT_THINGS = 500, 120
Kind = Literal["words", "cough", "laugh", "grunt", "hum", "noise", "backchannel"]
Pcm = NDArray[np.int16]

PACKAGES = (
    "hedgewars-data", "scratch", "sonic-pi-samples", "lmms-common", "ktuberling-data", "wesnoth-1.16-data", "openarena-data",
    "openarena-081-players", "openarena-081-maps", "openarena-081-misc", "openarena-085-data", "openarena-088-data",
    "tuxpaint-stamps-default",
)  # fmt: skip
LAUGHS = {"Laugh": "laugh", "PoisonCough": "cough", "PoisonMoan": "grunt", "Hmm": "hum"}
NEITHER = re.compile(r"Firepunch|Jump|Ouch|Nooo|Kamikaze|Uh-oh|Oops")
GRUNT = re.compile(r"(Ow|Ooff)\d")


@dataclass(frozen=True, slots=True)
class Clip:
    """One sound."""

    kind: Kind
    group: str
    """The speaker or package. Groups are kept together when sounds are held back."""
    name: str
    pcm: Pcm
    """Mono 16 kHz, shape (samples,)."""


def clips(folder: Path) -> Iterator[Clip]:
    """All sounds of the packages below `folder`, and of people."""
    for kind, group, name, source in _files(folder):
        pcm = _decoded(source)
        if pcm is not None and len(pcm) >= SHORTEST_SAMPLES and np.abs(pcm).max() >= QUIETEST:
            yield Clip(kind, group, name, pcm[: int(LONGEST_S * RATE_HZ)])
    yield from _people()


def _files(folder: Path) -> Iterator[tuple[Kind, str, str, str | io.BytesIO]]:
    yield from _hedgewars(folder / "hedgewars-data")
    yield from _scratch(folder / "scratch")
    for path in sorted(folder.glob("sonic-pi-samples/**/misc_*.flac")) + sorted(folder.glob("lmms-common/**/misc/breath01.ogg")):
        yield "grunt" if re.search("burp|breath", path.name) else "noise", "daw", path.name, str(path)
    for path in sorted(folder.glob("ktuberling-data/usr/share/ktuberling/sounds/*/*")):
        language = path.parent.name
        yield "words", f"kt-{language.split('@')[0]}", f"{path.name}@{language}", str(path)
    wesnoth = folder / "wesnoth-1.16-data/usr/share/games/wesnoth/1.16/data"
    for pattern in ("core/sounds/human-*.ogg", "core/sounds/dwarf-*", "core/sounds/groan*", "**/witches-laugh.wav"):
        for path in sorted(wesnoth.glob(pattern)):
            group = "wesnoth-" + "-".join(path.name.split("-")[:2])
            yield "laugh" if "laugh" in path.name else "grunt", group, path.name, str(path)
    yield from _openarena(folder)
    rng = random.Random(1)
    spoken = sorted(folder.glob("tuxpaint-stamps-default/**/*_desc*.ogg"))
    for path in rng.sample(spoken, min(TUXPAINT_WORDS, len(spoken))):
        tag = re.search(r"_desc_([a-z_A-Z]+)\.ogg", path.name)
        yield "words", f"tp-{tag.group(1) if tag else 'en'}", path.name, str(path)
    things = [path for path in sorted(folder.glob("tuxpaint-stamps-default/**/*.ogg")) if "_desc" not in path.name]
    for path in rng.sample(things, min(TUXPAINT_THINGS, len(things))):
        yield "noise", "tp-things", path.name, str(path)


def _hedgewars(package: Path) -> Iterator[tuple[Kind, str, str, str]]:
    """A dozen voices, each with the same words, a laugh, a hum and cries."""
    for path in sorted(package.glob("usr/share/games/hedgewars/Data/Sounds/voices/*/*.ogg")):
        voice, name = path.parent.name, path.stem
        if voice != "Robot" and not NEITHER.match(name):
            kind = LAUGHS.get(name, "grunt" if GRUNT.match(name) else "words")
            yield kind, f"hw-{voice.split('_')[0]}", f"{name}@{voice}", str(path)  # type: ignore[misc]  # a Kind, by LAUGHS


def _scratch(package: Path) -> Iterator[tuple[Kind, str, str, str]]:
    sounds = package / "usr/share/scratch/Media/Sounds"
    for path in sorted(sounds.glob("Human/*")):
        kind: Kind = "noise"
        for pattern, meant in (("Cough|Sneeze", "cough"), ("Laugh", "laugh"), ("Scream|BabyCry|Slurp|PartyNoise", "grunt")):
            kind = meant if re.search(pattern, path.name) else kind  # type: ignore[assignment]  # each of them is a Kind
        yield kind, "scratch", path.name, str(path)
    for of in ("Animal", "Effects", "Percussion"):
        for path in sorted(sounds.glob(f"{of}/*")):
            yield "noise", "scratch-things", path.name, str(path)


def _openarena(folder: Path) -> Iterator[tuple[Kind, str, str, io.BytesIO]]:
    """Cries of many characters."""
    for archive in sorted(folder.glob("openarena*/**/*.pk3")):
        with zipfile.ZipFile(archive) as files:
            for name in files.namelist():
                found = re.fullmatch(r"sound/player/([^/]+)/([^/]+)\.(?:wav|ogg)", name, re.IGNORECASE)
                if found:
                    who, what = found.group(1).lower(), found.group(2).lower()
                    if re.match(r"pain|death|gasp|drown|jump|fall", what):
                        yield "grunt", f"oa-{who}", f"{what}@{who}", io.BytesIO(files.read(name))


def _people() -> Iterator[Clip]:
    for folder, prefix in (("utterances", "u"), ("digits_cc_by_sa", "u"), ("turns", "t")):
        for each in recordings(folder):
            pcm = each.audio()[int(max(0.0, each.start_s - 0.3) * RATE_HZ) :]
            yield Clip("words", f"{prefix}-{each.group}", each.path.stem, pcm[: int(LONGEST_S * RATE_HZ)])
    for each in recordings("rooms"):
        yield Clip("noise", "rooms", each.path.stem, each.audio()[: int(LONGEST_S * RATE_HZ)])


def _decoded(source: str | io.BytesIO) -> Pcm | None:
    try:
        with av.open(source, mode="r") as file:
            resampler = av.AudioResampler("s16", "mono", RATE_HZ)
            frames = [out for frame in file.decode(audio=0) for out in resampler.resample(frame)] + resampler.resample(None)
    except (av.FFmpegError, IndexError):
        return None
    return np.concatenate([frame.to_ndarray().reshape(-1) for frame in frames]) if frames else None
