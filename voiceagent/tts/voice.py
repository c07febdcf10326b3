"""A Piper voice's model. It is spoken in chunks where its graph can be cut, else a sentence at a time."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from typing_extensions import override

from voiceagent.json_types import JsonObject

log = logging.getLogger(__name__)

Floats = NDArray[np.float32]
Inputs = Mapping[str, NDArray[np.generic]]
"""Piper's: `input` int64 (1, ids), `input_lengths` int64 (1,), `scales` float32 (3,); with several speakers `sid` int64 (1,)."""
LEAST_DB = 40.0
"""The least likeness of the joined chunks to the whole sentence, in dB; where the cut is right they are the same."""


class Sentence(Protocol):
    """A sentence that is being spoken."""

    samples: int
    """Its length, known before any of it is spoken."""
    id_samples: NDArray[np.int64] | None
    """The length of each id, shape (ids,); None where the voice does not give it."""

    def chunks(self) -> Iterator[Floats]:
        """The audio in order, each chunk of shape (samples,), -1..1."""
        ...


class Voice(Protocol):
    """A loaded model. Not for two threads at once."""

    aligned: bool
    """True when it gives the lengths of ids."""

    def begin(self, inputs: Inputs) -> Sentence:
        """Do what comes before the first chunk. Raises what onnxruntime raises."""
        ...


class WholeVoice(Voice):
    """A voice that is spoken a sentence at a time."""

    def __init__(self, session: onnxruntime.InferenceSession, hop_samples: int) -> None:
        self._session = session
        self._hop_samples = hop_samples
        self.aligned = len(session.get_outputs()) > 1

    @override
    def begin(self, inputs: Inputs) -> WholeSentence:
        audio, *others = self._session.run(None, dict(inputs))
        frames = others[0].reshape(-1).astype(np.int64) if others else None
        return WholeSentence(audio.reshape(-1), None if frames is None else frames * self._hop_samples)


class WholeSentence:
    """A spoken sentence."""

    def __init__(self, audio: Floats, id_samples: NDArray[np.int64] | None) -> None:
        self.samples = len(audio)
        self.id_samples = id_samples
        self._audio = audio

    def chunks(self) -> Iterator[Floats]:
        """The audio, in one chunk."""
        yield self._audio


def load_voice(model: Path, config: JsonObject, options: onnxruntime.SessionOptions, probe: Inputs) -> Voice:
    """Load the voice in `model`. `probe`, a second or two of speech, tests whether it can be spoken in chunks. A voice whose
    configuration says `"streams": false` is spoken whole; so is one that cannot be cut, with a warning. Raises what onnx and
    onnxruntime raise on a file that is none of theirs."""
    hop_samples = int(config.get("hop_length", 256))
    if config.get("streams") is False:
        return WholeVoice(_session(str(model), options), hop_samples)
    import onnx  # slow to import, and only needed here

    from voiceagent.tts.chunks import ChunkedVoice
    from voiceagent.tts.split import NotSplittableError, split, with_durations

    graph = onnx.load(str(model))
    reasons: list[str] = []
    for flow in (True, False):
        try:
            voice = ChunkedVoice(split(graph, flow=flow), options)
            if (near_db := voice.likeness_db(probe)) >= LEAST_DB:
                return voice
            reasons.append(f"its chunks come only within {near_db:.0f} dB of the whole")
        except NotSplittableError as error:
            reasons.append(str(error))
    log.warning("%s: is spoken a sentence at a time, so it answers later: %s", model, "; ".join(dict.fromkeys(reasons)))
    return WholeVoice(_session(with_durations(graph).SerializeToString(), options), hop_samples)


def _session(model: str | bytes, options: onnxruntime.SessionOptions) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(model, sess_options=options, providers=["CPUExecutionProvider"])
