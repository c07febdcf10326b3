"""A Whisper that encodes only the audio there is. faster-whisper pads every stretch of audio to 30 seconds of features before the
encoder. CTranslate2's encoder takes any length, and for a two-second turn a short input is 20 to 50 times cheaper. `ShortWhisper`
drops the padding again, except a margin, just before encoding; everything else is faster-whisper's.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Literal

import ctranslate2
import numpy as np
import numpy.typing as npt
from faster_whisper import WhisperModel

MICRO_MIN_FRAMES = 50
"""Shortest input of the bundled model, in feature frames: one second at its hop of 20 ms."""
MICRO_MARGIN_FRAMES = 10
"""Padding the bundled model is given after the audio, in feature frames."""
MAX_FRAMES = 3000
"""The longest input of a published model's encoder; CTranslate2 refuses more."""
MIN_SAMPLES = 640
"""Audio shorter than this is padded with silence: the features need a whole window."""
Fill = float | Literal["silence"]
"""The content of the padding: a value in the features' own scale, or digital silence, as in the 30 seconds that published models
learned on."""
SILENCE_BELOW = 2.0
"""The distance of digital silence below the loudest feature: Whisper's features keep eight powers of ten, at four to the unit."""


def frames_to_encode(content_frames: int, *, margin_frames: int, min_frames: int, feature_size: int, step_frames: int = 2) -> int:
    """The number of feature frames to hand to the encoder for audio that fills `content_frames` of them.

    The result is at least `min_frames`, at most `MAX_FRAMES`, even, a multiple of `step_frames` (so that stretches of
    similar length come out alike), and never twice `feature_size`: CTranslate2 takes an encoder output that has as many
    positions as there are mel bands for features and encodes it again."""
    step = step_frames + step_frames % 2
    frames = -(-max(content_frames + margin_frames, min_frames) // step) * step
    return min(frames + step if frames == 2 * feature_size else frames, MAX_FRAMES)


def content_frames(features: npt.NDArray[np.float32]) -> int:
    """Frames before the zero padding of log-mel `features`, shape (bands, frames) or (batch, bands, frames).

    Real frames are never zero in all bands: digital silence is -1.5.
    """
    bands = tuple(range(features.ndim - 1))
    filled = np.flatnonzero(np.any(features != 0, axis=bands))
    return int(filled[-1]) + 1 if len(filled) else 0


class ShortWhisper(WhisperModel):  # type: ignore[misc]
    """`faster_whisper.WhisperModel` without the padding.

    Args:
        model_path: folder of a CTranslate2 Whisper.
        margin_frames: padding kept after the audio, in feature frames; the bundled model wants 10, published ones
            loop more often the less they see (bench/results/ears.md).
        min_frames: shortest input of the encoder, in feature frames.
        step_frames: lengths handed to the encoder are multiples of it.
        margin_fill: what stands in the padding. Of values, 0 is what faster-whisper pads with; speech reaches 1.5.
        options: as for `WhisperModel`; `cpu_threads=1` is the fastest for small models.
    """

    def __init__(
        self,
        model_path: str,
        *,
        margin_frames: int = MICRO_MARGIN_FRAMES,
        min_frames: int = MICRO_MIN_FRAMES,
        step_frames: int = 2,
        margin_fill: Fill = 0.0,
        **options: object,
    ) -> None:
        super().__init__(model_path, **options)
        self.margin_frames = margin_frames
        self.min_frames = min_frames
        self.step_frames = step_frames
        self.margin_fill = margin_fill

    def with_margin(self, margin_frames: int) -> ShortWhisper:
        """The same model, loaded once, with another margin, filled with 0."""
        other = copy.copy(self)
        other.margin_frames, other.margin_fill = margin_frames, 0.0
        return other

    def frames_to_encode(self, content_frames: int) -> int:
        """Feature frames this model's encoder should be given for audio of `content_frames` frames."""
        return frames_to_encode(
            content_frames,
            margin_frames=self.margin_frames,
            min_frames=self.min_frames,
            feature_size=len(self.feature_extractor.mel_filters),
            step_frames=self.step_frames,
        )

    def frames_of(self, samples: int) -> int:
        """Feature frames that `samples` of 16 kHz audio fill: as many as `features` returns."""
        hop_samples = int(self.feature_extractor.hop_length)
        return max(1, (max(samples, MIN_SAMPLES) + 160) // hop_samples - 1)

    def features(self, audio: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Log-mel features of mono 16 kHz audio, shape (bands, frames)."""
        missing = max(0, MIN_SAMPLES - len(audio))
        computed = self.feature_extractor(np.pad(audio, (0, missing)) if missing else audio)
        return np.asarray(computed[:, : self.frames_of(len(audio))], np.float32)

    def encode_frames(self, features: Sequence[npt.NDArray[np.float32]], frames: int) -> ctranslate2.StorageView:
        """Encode several stretches of features, each of shape (bands, at most `frames`), in one run of `frames` frames."""
        batch = np.empty((len(features), features[0].shape[0], frames), np.float32)
        for row, stretch in zip(batch, features, strict=True):
            row[:, : stretch.shape[1]] = stretch
            row[:, stretch.shape[1] :] = self._fill_of(stretch)
        return self.model.encode(ctranslate2.StorageView.from_array(batch), to_cpu=False)

    def encode(self, features: npt.NDArray[np.float32]) -> ctranslate2.StorageView:
        """Encode log-mel features, shape (bands, frames) or (batch, bands, frames), cut to the audio in them."""
        content = content_frames(features)
        wanted = self.frames_to_encode(content)
        padded = np.full((*features.shape[:-1], wanted), self._fill_of(features[..., :content]), np.float32)
        padded[..., :content] = features[..., :wanted][..., :content]
        return super().encode(padded)

    def _fill_of(self, features: npt.NDArray[np.float32]) -> float:
        """The value of the padding behind the features of some audio."""
        if isinstance(self.margin_fill, str):
            return float(features.max(initial=0.0)) - SILENCE_BELOW
        return self.margin_fill
