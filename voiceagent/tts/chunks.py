"""Speaks a sentence with the parts of a cut voice: the text part once, then the flow and the vocoder in windows of frames.
Windows overlap by the margin that each part must see. The joined chunks are the audio of the whole sentence, sample for
sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray

from voiceagent.tts.split import Margin, NotSplittableError, SplitModel

FIRST_FRAMES = 8
"""Frames of the first chunk: about 90 ms of audio at 22 kHz. The caller waits for no more than these."""
MOST_FRAMES = 96
"""Most frames of any chunk: about a second. While it is computed, other calls wait and the reply cannot be stopped."""
FLOW_FRAMES = 128
"""Most frames that the flow computes at a time beyond what the chunk needs."""

Floats = NDArray[np.float32]
Tensors = Mapping[str, NDArray[np.generic]]


def spans(frames: int) -> Iterator[tuple[int, int]]:
    """The chunks of a sentence, `(from, to)` in frames. Each is up to twice as long as the one before it, so that it is ready
    before that one was played, and has at most `MOST_FRAMES`. A rest shorter than half a chunk joins the last one."""
    start, size = 0, FIRST_FRAMES
    while start < frames:
        end = frames if frames - start < size * 3 // 2 else start + size
        yield start, end
        start, size = end, min(size * 2, MOST_FRAMES)


@dataclass(frozen=True, slots=True)
class FrameWindow:
    """The frames that are computed for a wanted stretch."""

    start: int
    end: int

    @classmethod
    def around(cls, start: int, end: int, margin: Margin, frames: int) -> FrameWindow:
        """The stretch and its margins, within the sentence: beyond the sentence's edges the graph's own padding is right."""
        return cls(max(0, start - margin.before), min(frames, end + margin.after))


class ChunkedVoice:
    """The sessions of a cut voice. Not for two threads at once: its owner has one worker."""

    def __init__(self, parts: SplitModel, options: onnxruntime.SessionOptions) -> None:
        """Load the parts. Raises NotSplittableError."""
        self.parts = parts
        self.hop_samples = parts.hop_samples
        self._text = _session(parts.text, options)
        self._outputs = [output.name for output in self._text.get_outputs()]
        self._flow = _session(parts.flow.model, options) if parts.flow else None
        self._vocoder = _session(parts.vocoder.model, options)
        self.aligned = parts.durations is not None

    def likeness_db(self, inputs: Tensors) -> float:
        """The likeness of the joined chunks of a sentence to the whole sentence, in dB. Raises NotSplittableError."""
        try:
            tensors = self.begin(inputs).tensors
            joined = np.concatenate(list(ChunkedSentence(self, tensors).chunks()))
            return signal_to_noise_db(ChunkedSentence(self, tensors).whole(), joined)
        except Exception as error:  # onnxruntime's share no base
            raise NotSplittableError(f"a part of it cannot be run ({_line(error)})") from error

    def begin(self, inputs: Tensors) -> ChunkedSentence:
        """Compute everything of a sentence that cannot be done in chunks."""
        tensors = dict(zip(self._outputs, self._text.run(None, dict(inputs)), strict=True))
        return ChunkedSentence(self, tensors)

    def decode(self, sentence: ChunkedSentence, start: int, end: int) -> Floats:
        """Frames `start` to `end` of the latent as audio, shape ((end - start) * hop,), as the vocoder makes it (-1..1)."""
        part = self.parts.vocoder
        window = FrameWindow.around(start, end, part.margin, sentence.frames)
        feeds = _window_of(sentence.tensors, part.side_inputs, window, sentence.frames)
        feeds[part.name] = sentence.latent(window)
        at, rate = window.start, 1
        for step in self.parts.upsamplings:
            first = max(0, start * step.rate - step.margin.before)
            last = min(sentence.frames * step.rate, end * step.rate + step.margin.after)
            feeds[step.starts] = np.array([first - at], np.int64)
            feeds[step.ends] = np.array([last - at], np.int64)
            at, rate = first * step.stride, step.rate * step.stride
        audio = self._vocoder.run([part.output], feeds)[0].reshape(-1)
        wanted: Floats = audio[start * rate - at : end * rate - at]
        return wanted

    def flow(self, sentence: ChunkedSentence, start: int, end: int) -> Floats:
        """Frames `start` to `end` of the prior as latent, shape (1, channels, end - start)."""
        part = self.parts.flow
        if part is None or self._flow is None:
            raise ValueError("the voice's flow is in its text part")
        window = FrameWindow.around(start, end, part.margin, sentence.frames)
        feeds = _window_of(sentence.tensors, (part.name, *part.side_inputs), window, sentence.frames)
        latent: Floats = self._flow.run([part.output], feeds)[0]
        return latent[..., start - window.start : end - window.start]


class ChunkedSentence:
    """A sentence that is being spoken."""

    def __init__(self, voice: ChunkedVoice, tensors: dict[str, NDArray[np.generic]]) -> None:
        self.tensors = tensors
        """The text part's outputs."""
        self._voice = voice
        flow = voice.parts.flow
        source = tensors[(flow or voice.parts.vocoder).name]
        self.frames: int = source.shape[-1]
        self.samples = self.frames * voice.hop_samples
        durations = voice.parts.durations
        self.id_samples: NDArray[np.int64] | None = None
        """The length of each id, shape (ids,)."""
        if durations:
            self.id_samples = tensors[durations].reshape(-1).astype(np.int64) * voice.hop_samples
        self._latent: NDArray[np.generic] = source if flow is None else np.empty((1, 0, 0), np.float32)

    def latent(self, window: FrameWindow) -> NDArray[np.generic]:
        """A window of the latent. The flow computes as far as the window needs, and somewhat further."""
        while self._latent.shape[-1] < window.end:
            ready = self._latent.shape[-1]
            ahead = min(ready * 3, FLOW_FRAMES)  # nothing ahead for the first chunk: the caller waits for it
            end = min(self.frames, max(window.end, ready + ahead))
            piece = self._voice.flow(self, ready, end)
            self._latent = np.concatenate([self._latent, piece], axis=-1) if ready else piece
        return self._latent[..., window.start : window.end]

    def whole(self) -> Floats:
        """The whole sentence at once."""
        return self._voice.decode(self, 0, self.frames)

    def chunks(self) -> Iterator[Floats]:
        """The whole sentence, chunk by chunk."""
        for start, end in spans(self.frames):
            yield self._voice.decode(self, start, end)


def _window_of(tensors: Tensors, names: tuple[str, ...], window: FrameWindow, frames: int) -> dict[str, NDArray[np.generic]]:
    """The tensors that run along time, cut to the window, and the others as they are."""
    return {
        name: tensors[name][..., window.start : window.end]
        if tensors[name].ndim == 3 and tensors[name].shape[-1] == frames
        else tensors[name]
        for name in names
    }


def _session(model: onnx.ModelProto, options: onnxruntime.SessionOptions) -> onnxruntime.InferenceSession:
    try:
        return onnxruntime.InferenceSession(model.SerializeToString(), sess_options=options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's share no base
        raise NotSplittableError(f"a part of it cannot be loaded ({_line(error)})") from error


def _line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def signal_to_noise_db(wanted: Floats, found: Floats) -> float:
    """The level of the wanted audio above its difference from the found audio, in dB; infinite where they are the same."""
    if wanted.shape != found.shape:
        return -np.inf
    noise = float(np.sum((wanted.astype(np.float64) - found) ** 2))
    signal = float(np.sum(wanted.astype(np.float64) ** 2))
    if noise == 0.0:
        return np.inf
    return 10.0 * float(np.log10(signal / noise)) if signal else -np.inf
