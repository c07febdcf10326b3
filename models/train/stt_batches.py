"""Turns spoken clips into training batches of the micro Whisper, augmented afresh each time: speed, level, padding,
noise, another voice behind, telephone band, spectral tilt and masks; one clip in seven is cut off as a live transcript's
audio is, with the words that were said by then; one in 25 is replaced by a sound that is not speech.

Clips come in (`stt_corpus`), tensors go out: features, tokens in and out, the phoneme of every encoder position and where
each token's sound lies.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from faster_whisper.feature_extractor import FeatureExtractor
from tokenizers import Tokenizer
from torch import Tensor

from models.train.not_speech import KINDS, coloured_noise, not_speech
from models.train.stt_corpus import SAMPLE_RATE_HZ, Clip
from models.train.stt_model import HOP_SAMPLES, MAX_POSITIONS, MEL_BANDS, POSITION_SAMPLES
from models.train.stt_tokenizer import END_OF_TEXT, FIRST_TIMESTAMP, NO_SPEECH, NO_TIMESTAMPS, START, TIMESTAMPS
from models.train.telephone import telephone_band

IGNORED = -100
_PARTIAL_SHARE = 0.15
_NOT_SPEECH_SHARE = 0.04
_TELEPHONE_SHARE = 0.18
_TIMESTAMP_SHARE = 0.1
_FIRST_NOT_SPEECH_SEED = 1_000_000
_TIMESTAMP_SAMPLES = 320
Audio = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Batch:
    """B clips, T feature frames, L tokens."""

    features: Tensor
    """(B, MEL_BANDS, T) float32."""
    tokens_in: Tensor
    """(B, L)."""
    tokens_out: Tensor
    """(B, L), IGNORED where nothing is to be learned."""
    phonemes: Tensor
    """(B, T / 2) phoneme class of each encoder position, IGNORED where unknown."""
    places: Tensor
    """(B, L, T / 2): 1 where the sound of the token to be written lies."""
    placed: Tensor
    """(B, L): 1 for the tokens whose place is known."""


@dataclass(slots=True)
class Example:
    """One clip on its way into a batch; times in samples of `audio`."""

    audio: Audio
    tokens: list[int]
    spans: list[tuple[float, float]]
    phonemes: list[tuple[float, str]]
    is_speech: bool = True


class LogMel:
    """faster-whisper's features, batched: `FeatureExtractor(hop_length=HOP_SAMPLES)` gives the same figures."""

    def __init__(self) -> None:
        extractor = FeatureExtractor(feature_size=MEL_BANDS, hop_length=HOP_SAMPLES)
        self._filters = torch.tensor(extractor.mel_filters)
        self._window = torch.tensor(np.hanning(401)[:-1].astype(np.float32))

    @staticmethod
    def frames(samples: int) -> int:
        """Feature frames of that much audio."""
        return (samples + 160) // HOP_SAMPLES

    def power(self, audio: list[Audio]) -> Tensor:
        """Power spectra (B, 201, T) of clips padded to the longest."""
        longest = max(map(len, audio)) + 160
        padded = torch.zeros(len(audio), longest)
        for row, clip in zip(padded, audio, strict=True):
            row[: len(clip)] = torch.from_numpy(clip)
        spectra = torch.stft(padded, 400, HOP_SAMPLES, window=self._window, center=True, pad_mode="reflect", return_complex=True)
        return torch.view_as_real(spectra[..., :-1]).square().sum(-1)

    def log_mel(self, power: Tensor, frames: list[int], total: int) -> Tensor:
        """Normalised log-mel features (B, MEL_BANDS, total), zero after each clip's own frames."""
        mel = torch.log10(torch.clamp(self._filters @ power, min=1e-10))
        features = torch.zeros(len(frames), MEL_BANDS, total)
        for index, count in enumerate(frames):
            own = mel[index, :, :count]
            features[index, :, :count] = (torch.maximum(own, own.max() - 8.0) + 4.0) / 4.0
        return features


class Batcher:
    """Makes batches from a corpus, in an order and with changes that follow from the seed."""

    def __init__(self, clips: list[Clip], tokenizer: Tokenizer, phoneme_classes: dict[str, int], seed: int) -> None:
        self._clips = clips
        self._tokenizer = tokenizer
        self._classes = phoneme_classes
        self._random = random.Random(seed)
        self._noise_rng = np.random.default_rng(seed)
        self._mel = LogMel()
        self._noises = [coloured_noise(self._noise_rng, 20 * SAMPLE_RATE_HZ, e) for e in (0, 0, 0.3, 0.5, 0.8, 1)]
        self._final_marks = {tokenizer.token_to_id(mark) for mark in (".", "?", "!")}

    def epoch_part(self, batch_size: int, batches: int = 16) -> list[list[Clip]]:
        """A few batches of random clips, each of clips of similar length."""
        drawn = self._random.sample(range(len(self._clips)), min(batch_size * batches, len(self._clips)))
        drawn.sort(key=lambda i: len(self._clips[i].audio))
        parts = [drawn[i : i + batch_size] for i in range(0, len(drawn), batch_size)]
        self._random.shuffle(parts)
        return [[self._clips[i] for i in part] for part in parts]

    def batch(self, clips: list[Clip]) -> Batch:
        """Augment the clips and lay them out."""
        examples = [self._example(clip) for clip in clips]
        frames = [LogMel.frames(len(e.audio)) for e in examples]
        power = self._mel.power([e.audio for e in examples])
        for row in power:
            self._tilt(row)
        margin = self._random.choice([10, 10, self._random.randint(0, 40), self._random.randint(0, 160)])
        total = min(max(50, max(frames) + margin), 2 * MAX_POSITIONS)
        total += total % 2
        features = self._mel.log_mel(power, frames, total)
        for row, count in zip(features, frames, strict=True):
            self._mask(row, count)
        return self._lay_out(examples, features)

    def _example(self, clip: Clip) -> Example:
        rng = self._random
        if rng.random() < _NOT_SPEECH_SHARE:
            seed, seconds = rng.randint(_FIRST_NOT_SPEECH_SEED, 2**31), rng.uniform(0.3, 4)
            sound = not_speech(rng.choice(KINDS), seed, seconds, rng.uniform(-70, -6))
            return Example(self._line(sound), [], [], [], is_speech=False)
        example = self._labelled(clip)
        self._change_speed(example)
        if clip.label.spans and rng.random() < _PARTIAL_SHARE:
            self._cut_off(example)
        self._pad(example)
        example.audio = self._line(self._with_noise(example.audio * np.float32(10 ** (rng.uniform(-22, 4) / 20))))
        return example

    def _labelled(self, clip: Clip) -> Example:
        label = clip.label
        encoded = self._tokenizer.encode(" " + label.written)
        ends = np.cumsum([len(u.written) + (0 if u.glue and i else 1) for i, u in enumerate(label.units)])
        spans: list[tuple[float, float]] = []
        if label.spans:
            owners = [int(np.searchsorted(ends, max(start, end - 1), side="right")) for start, end in encoded.offsets]
            spans = [label.spans[min(owner, len(ends) - 1)] for owner in owners]
        audio = clip.audio.astype(np.float32) / np.float32(32768)
        return Example(audio, list(encoded.ids), spans, list(label.phonemes))

    def _change_speed(self, example: Example) -> None:
        if self._random.random() > 0.35:
            return
        stretch = self._random.uniform(0.88, 1.14)
        at = np.arange(int(len(example.audio) * stretch)) / stretch
        example.audio = np.interp(at, np.arange(len(example.audio)), example.audio).astype(np.float32)
        example.spans = [(start * stretch, end * stretch) for start, end in example.spans]
        example.phonemes = [(start * stretch, name) for start, name in example.phonemes]

    def _cut_off(self, example: Example) -> None:
        cut = self._random.uniform(0.15, 1.0) * len(example.audio)
        heard_until = cut + self._random.uniform(0, 0.05) * SAMPLE_RATE_HZ
        kept = sum(1 for _, end in example.spans if end <= heard_until)
        if kept < len(example.tokens):
            while kept and example.tokens[kept - 1] in self._final_marks:
                kept -= 1
            example.tokens, example.spans = example.tokens[:kept], example.spans[:kept]
        example.audio = example.audio[: int(cut)]
        example.phonemes = [(start, name) for start, name in example.phonemes if start < cut]

    def _pad(self, example: Example) -> None:
        rng = self._random
        before = int(rng.choice([0, rng.uniform(0, 0.15), rng.uniform(0, 0.6)]) * SAMPLE_RATE_HZ)
        after = int(rng.choice([0, rng.uniform(0, 0.2), rng.uniform(0, 0.8)]) * SAMPLE_RATE_HZ)
        example.audio = np.pad(example.audio, (before, after))
        example.spans = [(start + before, end + before) for start, end in example.spans]
        example.phonemes = [(start + before, name) for start, name in example.phonemes]

    def _noise(self, samples: int) -> Audio:
        noise = self._random.choice(self._noises)
        start = self._random.randrange(max(1, len(noise) - samples))
        return np.resize(noise[start:], samples)

    def _with_noise(self, audio: Audio) -> Audio:
        rng, level = self._random, float(audio.std()) + 1e-5
        kind = rng.random()
        if kind < 0.55:
            return audio + self._noise(len(audio)) * np.float32(level * 10 ** (-rng.uniform(5, 40) / 20))
        if kind < 0.63:
            other = np.resize(rng.choice(self._clips).audio, len(audio)).astype(np.float32)
            return audio + other * np.float32(level * 10 ** (-rng.uniform(12, 28) / 20) / (other.std() + 1))
        if kind < 0.8:
            return audio + self._noise(len(audio)) * np.float32(10 ** (-rng.uniform(70, 90) / 20))
        return audio

    def _line(self, audio: Audio) -> Audio:
        audio = np.clip(audio, -1, 1)
        if self._random.random() < _TELEPHONE_SHARE:
            audio = telephone_band(audio)
        return audio if len(audio) > 400 else np.pad(audio, (0, 400 - len(audio)))

    def _tilt(self, power: Tensor) -> None:
        if self._random.random() < 0.2:
            slope = torch.linspace(self._random.uniform(-1, 1), self._random.uniform(-1, 1), len(power))
            power *= torch.pow(10, slope)[:, None]

    def _mask(self, features: Tensor, frames: int) -> None:
        rng = self._random
        if rng.random() < 0.4:
            width = rng.randint(1, 10)
            low = rng.randint(0, MEL_BANDS - width)
            features[low : low + width, :frames] = features[:, :frames].mean()
        if rng.random() < 0.3:
            start = rng.randint(0, max(1, frames - 6))
            features[:, start : min(start + rng.randint(1, 6), frames)] = features[:, :frames].min()

    def _lay_out(self, examples: list[Example], features: Tensor) -> Batch:
        rows = [self._target(example) for example in examples]
        length, positions = max(len(tokens) for tokens, _ in rows) - 1, features.shape[2] // 2
        tokens_in = np.full((len(rows), length), END_OF_TEXT)
        tokens_out = np.full((len(rows), length), IGNORED)
        phonemes = np.full((len(rows), positions), IGNORED)
        places = np.zeros((len(rows), length, positions), np.float32)
        placed = np.zeros((len(rows), length), np.float32)
        for i, (example, (tokens, first_out)) in enumerate(zip(examples, rows, strict=True)):
            tokens_in[i, : len(tokens) - 1] = tokens[:-1]
            tokens_out[i, : len(tokens) - 1] = tokens[1:]
            tokens_out[i, 0] = first_out
            for k, (start, end) in enumerate(example.spans):
                places[i, 1 + k, max(0, int(start / POSITION_SAMPLES) - 1) : int(end / POSITION_SAMPLES) + 2] = 1
                placed[i, 1 + k] = 1
            if example.phonemes or not example.is_speech:
                phonemes[i] = 0
            ends = [start for start, _ in example.phonemes[1:]] + [example.phonemes[-1][0]] if example.phonemes else []
            for (start, name), end in zip(example.phonemes, ends, strict=True):
                phonemes[i, round(start / POSITION_SAMPLES) : round(end / POSITION_SAMPLES)] = self._classes.get(name, 0)
        arrays = (tokens_in, tokens_out, phonemes, places, placed)
        return Batch(features, *(torch.from_numpy(array) for array in arrays))

    def _target(self, example: Example) -> tuple[list[int], int]:
        """The token row from start to end, and what the model should say right after the start token."""
        if not example.is_speech:
            return [START, NO_TIMESTAMPS, END_OF_TEXT], NO_SPEECH
        if not example.tokens:
            return [START, NO_TIMESTAMPS, END_OF_TEXT], IGNORED
        if not example.spans or self._random.random() >= _TIMESTAMP_SHARE:
            return [START, NO_TIMESTAMPS, *example.tokens, END_OF_TEXT], NO_TIMESTAMPS
        start = min(50, int(example.spans[0][0] / _TIMESTAMP_SAMPLES))
        end = min(TIMESTAMPS - 1, max(start + 1, int(example.spans[-1][1] / _TIMESTAMP_SAMPLES)))
        row = [START, FIRST_TIMESTAMP + start, *example.tokens, FIRST_TIMESTAMP + end, END_OF_TEXT]
        return row, FIRST_TIMESTAMP + start


def phoneme_classes(clips: list[Clip], fewest: int = 20) -> dict[str, int]:
    """Class numbers, from 1, of the phonemes heard at least `fewest` times; 0 is silence and all others."""
    counts: dict[str, int] = {}
    for clip in clips:
        for _, name in clip.label.phonemes:
            counts[name] = counts.get(name, 0) + 1
    names = sorted(name for name, count in counts.items() if name and count >= fewest)
    return {name: index + 1 for index, name in enumerate(names)}
