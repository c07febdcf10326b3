"""A Whisper that encodes the audio there is. faster-whisper pads every stretch of audio to 30 seconds of features
before the encoder; CTranslate2's encoder takes any length, and for a two-second turn that is 20 to 50 times cheaper.
`ShortWhisper` drops the padding again, all but a margin, just before encoding; everything else is faster-whisper's.
"""

from __future__ import annotations

from typing import Any

import ctranslate2
import numpy as np
import numpy.typing as npt
from faster_whisper import WhisperModel

MICRO_MIN_FRAMES = 50
"""Shortest input of the bundled model, in feature frames: one second at its hop of 20 ms."""
MICRO_MARGIN_FRAMES = 10
"""Padding the bundled model is given after the audio, in feature frames."""


def frames_to_encode(content_frames: int, *, margin_frames: int, min_frames: int, feature_size: int) -> int:
    """How many feature frames to hand to the encoder for audio that fills `content_frames` of them.

    The result is even, at least `min_frames`, and never twice `feature_size`: CTranslate2 takes an encoder output that
    has as many positions as there are mel bands for features and encodes it again. A batch of several stretches of
    audio uses the longest one's.
    """
    frames = max(content_frames + margin_frames, min_frames)
    frames += frames % 2
    return frames + 2 if frames == 2 * feature_size else frames


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
            loop when they see less than about 256.
        min_frames: shortest input of the encoder, in feature frames.
        options: as for `WhisperModel`; `cpu_threads=1` is the fastest for small models.
    """

    def __init__(
        self,
        model_path: str,
        *,
        margin_frames: int = MICRO_MARGIN_FRAMES,
        min_frames: int = MICRO_MIN_FRAMES,
        **options: Any,
    ) -> None:
        super().__init__(model_path, **options)
        self.margin_frames = margin_frames
        self.min_frames = min_frames

    def frames_to_encode(self, content_frames: int) -> int:
        """Feature frames this model's encoder should be given for audio of `content_frames` frames."""
        return frames_to_encode(
            content_frames,
            margin_frames=self.margin_frames,
            min_frames=self.min_frames,
            feature_size=len(self.feature_extractor.mel_filters),
        )

    def encode(self, features: npt.NDArray[np.float32]) -> ctranslate2.StorageView:
        """Encode log-mel features, shape (bands, frames) or (batch, bands, frames), cut to the audio in them."""
        wanted = self.frames_to_encode(content_frames(features))
        missing = wanted - features.shape[-1]
        if missing > 0:
            features = np.pad(features, [(0, 0)] * (features.ndim - 1) + [(0, missing)])
        return super().encode(np.ascontiguousarray(features[..., :wanted]))
