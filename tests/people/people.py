"""People's speech: recordings of real speakers with their text, pauses and ends. A folder of FLAC files and its `index.json`
goes in; typed recordings that decode to 16 kHz audio come out. `recordings/README.md` lists the sources and licences."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import av
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from voiceagent.audio.resample import resample

RATE_HZ = 16_000
RECORDINGS = Path(__file__).parent / "recordings"
FOLDERS = ("turns", "utterances", "digits_cc_by_sa", "backchannels", "rooms")
MORE_VARIABLE = "VOICEAGENT_PEOPLE"
"""Names a folder with more sets in the same form: recordings that may be measured with and must not be shipped."""


class Silence(Struct, frozen=True):
    """A silence of 200 ms or more inside a turn, after which the same person goes on."""

    start_s: float
    """From the start of the file."""
    end_s: float


class Recording(Struct, frozen=True):
    """One file: a person's turn, utterance or sound, or the noise of a room."""

    path: Path
    language: str
    """An ISO 639-1 code."""
    text: str
    """The words that were said, or a recogniser's. Empty where nobody knows them."""
    text_is_certain: bool
    """Whether the words are known. Otherwise a recogniser wrote them, and nobody checked them."""
    group: str
    """The recording or speaker that the file comes from. Cross-validation leaves out whole groups."""
    speaker: str
    """Who speaks, where the index tells; otherwise the group."""
    start_s: float
    """The start of the speech, from the start of the file. By Silero, in frames of 32 ms, as all edges."""
    end_s: float
    """The end of the turn."""
    pauses: tuple[Silence, ...]
    duration_s: float
    kind: str
    """What it is a sample of: a telephone call, a request to an assistant, a single digit, a filler …"""
    source: str
    licence: str

    def audio(self) -> NDArray[np.int16]:
        """Decodes the file: mono, 16 kHz, shape (samples,). A file of 8 kHz keeps its telephone band."""
        with av.open(str(self.path)) as file:
            stream = file.streams.audio[0]
            pieces = [frame.to_ndarray().reshape(-1) for frame in file.decode(stream)]
            rate_hz = stream.rate
        return resample(np.concatenate(pieces).astype(np.int16), rate_hz, RATE_HZ)


def recordings(folder: str) -> tuple[Recording, ...]:
    """Reads the index of a folder, in the order of its files. Raises FileNotFoundError if neither the repository nor
    $VOICEAGENT_PEOPLE has the folder."""
    places = [RECORDINGS / folder]
    if more := os.environ.get(MORE_VARIABLE):
        places.append(Path(more) / folder)
    place = next((each for each in places if (each / "index.json").is_file()), None)
    if place is None:
        raise FileNotFoundError(
            f"no set {folder!r} of people's speech in {RECORDINGS}; set {MORE_VARIABLE} to a folder that has it"
        )
    rows = json.loads((place / "index.json").read_text(encoding="utf-8"))
    return tuple(_recording(place, row) for row in rows)


def _recording(place: Path, row: dict[str, Any]) -> Recording:
    text, source = row.get("text"), row.get("text_source") or ""
    group = row.get("recording") or row.get("speaker") or ""
    duration_s = row["duration"]
    return Recording(
        path=place / row["file"],
        language=row.get("lang") or "en",
        text=text or row.get("asr_text") or "",
        text_is_certain=bool(text) and "unchecked" not in source,
        group=group,
        speaker=row.get("speaker") or group,
        start_s=row.get("start", 0.0),
        end_s=row.get("end_of_turn", row.get("end", duration_s)),
        pauses=tuple(Silence(pause["start"], pause["end"]) for pause in row.get("pauses", ())),
        duration_s=duration_s,
        kind=row.get("kind") or row.get("class") or row.get("label") or "",
        source=row["source"],
        licence=row["licence"],
    )
