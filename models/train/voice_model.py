"""The micro voice: an acoustic model and a vocoder in one graph.

Phoneme ids go in; convolution blocks predict how many frames each lasts, the ids are stretched to frames, more blocks
predict spectral envelope, aperiodicity, pitch and voicing, and a source-filter vocoder turns those into 16 kHz audio:
pulses and noise, filtered by the minimum-phase spectrum of the envelope and overlap-added. There is no recurrence and no
custom operator, so the whole of it exports to ONNX.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from piper.phoneme_ids import DEFAULT_PHONEME_ID_MAP
from torch import Tensor, nn

SAMPLE_RATE_HZ = 16000
HOP_SAMPLES = 200
FFT_SIZE = 512
CEPSTRA = 40
APERIODICITY_BANDS_HZ = (0, 1000, 2000, 4000, 6000, 8000)
BANDS = len(APERIODICITY_BANDS_HZ) - 1
SYMBOLS = 256
SENTENCE_PAUSE_FRAMES = {".?!": 12, ",:;": 6}
"""Silence after a sentence that ends in such a mark; espeak-ng, spoken one sentence at a time, makes none to learn from."""
_BINS = FFT_SIZE // 2 + 1


class ConvBlock(nn.Module):
    """Depthwise convolution over time, then a two-layer mixing of channels, residual. Shape (B, T, width) both ways."""

    def __init__(self, width: int, kernel: int = 9, dilation: int = 1) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.depthwise = nn.Conv1d(width, width, kernel, padding=dilation * (kernel // 2), dilation=dilation, groups=width)
        self.widen = nn.Linear(width, 3 * width)
        self.narrow = nn.Linear(3 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        """Mix over time, then over channels."""
        mixed = self.depthwise(self.norm(x).transpose(1, 2)).transpose(1, 2)
        return x + self.narrow(F.gelu(self.widen(mixed)))


class Acoustic(nn.Module):
    """Phoneme ids → durations → frames of vocoder parameters."""

    def __init__(self, width: int = 128) -> None:
        super().__init__()
        self.width = width
        self.embedding = nn.Embedding(SYMBOLS, width)
        self.encoder = nn.ModuleList([ConvBlock(width) for _ in range(3)])
        self.duration_norm = nn.LayerNorm(width)
        self.duration = nn.Sequential(nn.Linear(width, 64), nn.GELU(), nn.Linear(64, 1))
        self.place = nn.Linear(4, width)
        self.decoder = nn.ModuleList([ConvBlock(width, dilation=d) for d in (1, 2, 4, 1)])
        self.out_norm = nn.LayerNorm(width)
        self.out = nn.Linear(width, CEPSTRA + BANDS + 2)
        self.register_buffer("cepstra_mean", torch.zeros(CEPSTRA))
        self.register_buffer("cepstra_std", torch.ones(CEPSTRA))
        self.register_buffer("log_pitch_mean", torch.tensor(4.6))
        self.register_buffer("log_pitch_std", torch.tensor(0.2))

    def encode(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """(1, L) ids → (1, L, width) states and (1, L) predicted log(1 + frames)."""
        x = self.embedding(ids)
        for block in self.encoder:
            x = block(x)
        return x, self.duration(self.duration_norm(x))[..., 0]

    def decode(self, states: Tensor, frames: Tensor) -> Tensor:
        """States (1, L, width) stretched by `frames` (1, L) → (T, CEPSTRA + BANDS + 2), T = frames.sum()."""
        lasts = frames[0]
        ends = torch.cumsum(lasts, 0)
        at = torch.arange(ends[-1], device=states.device)
        owner = (at[:, None] >= ends[None, :]).to(torch.int64).sum(1)
        within = (at - (ends - lasts)[owner] + 0.5) / lasts[owner]
        place = torch.stack([within, 1 - within, torch.log(lasts[owner].float()), torch.cos(math.pi * within)], -1)
        x = (states[0][owner] + self.place(place))[None]
        for block in self.decoder:
            x = block(x)
        out: Tensor = self.out(self.out_norm(x))[0]
        return out


def _real_fft(length: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Matrices (length, bins) that take a real signal to the real and imaginary part of its spectrum."""
    angle = 2 * np.pi * np.outer(np.arange(length), np.arange(_BINS)) / FFT_SIZE
    return np.cos(angle), -np.sin(angle)


def _envelope_decoder() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """WORLD's cepstrum decoder as an affine map: log power = cepstra @ matrix + bias."""
    import pyworld

    bias = np.log(pyworld.decode_spectral_envelope(np.zeros((1, CEPSTRA)), SAMPLE_RATE_HZ, FFT_SIZE))[0]
    unit = np.eye(CEPSTRA)
    rows = [np.log(pyworld.decode_spectral_envelope(unit[i : i + 1], SAMPLE_RATE_HZ, FFT_SIZE))[0] - bias for i in range(CEPSTRA)]
    return np.stack(rows), bias


class Vocoder(nn.Module):
    """Vocoder parameters → audio, by matrix products only."""

    def __init__(self) -> None:
        super().__init__()
        matrix, bias = _envelope_decoder()
        window = np.hanning(2 * HOP_SAMPLES + 1)[:-1, None]
        to_real, to_imaginary = _real_fft(2 * HOP_SAMPLES)
        full_real, full_imaginary = _real_fft(FFT_SIZE)
        weight = np.full((_BINS, 1), 2.0)
        weight[0] = weight[-1] = 1
        fold = np.full(FFT_SIZE, 0.0)
        fold[1 : FFT_SIZE // 2] = 2
        fold[0] = fold[FFT_SIZE // 2] = 1
        inverse_real = weight * full_real.T / FFT_SIZE
        centres = [(low + high) / 2 for low, high in pairwise(APERIODICITY_BANDS_HZ)]
        bins_hz = np.arange(_BINS) * SAMPLE_RATE_HZ / FFT_SIZE
        spread = np.stack([np.interp(bins_hz, centres, np.eye(BANDS)[band]) for band in range(BANDS)])
        noise = np.random.RandomState(0).randn(SAMPLE_RATE_HZ)
        for name, value in (
            ("matrix", matrix),
            ("bias", bias),
            ("to_real", to_real * window),
            ("to_imaginary", to_imaginary * window),
            ("from_real", inverse_real),
            ("from_imaginary", weight * full_imaginary.T / FFT_SIZE),
            ("minimum_phase", (inverse_real * fold) @ full_imaginary),
            ("spread", spread),
            ("noise", noise),
        ):
            self.register_buffer(name, torch.tensor(value, dtype=torch.float32))

    def _frames(self, signal: Tensor, count: int) -> Tensor:
        """(T·hop,) → (T, 2·hop): each frame with the one before it."""
        before = F.pad(signal, (HOP_SAMPLES, 0)).reshape(-1, HOP_SAMPLES)[:count]
        here = F.pad(signal, (0, HOP_SAMPLES)).reshape(-1, HOP_SAMPLES)[:count]
        return torch.cat([before, here], 1)

    def forward(self, cepstra: Tensor, aperiodicity: Tensor, pitch_hz: Tensor, voiced: Tensor) -> Tensor:
        """Audio of T·HOP_SAMPLES samples.

        Args:
            cepstra: (T, CEPSTRA).
            aperiodicity: (T, BANDS), 0..1.
            pitch_hz: (T,), positive everywhere.
            voiced: (T,), 0 or 1.
        """
        count = cepstra.shape[0]
        samples = count * HOP_SAMPLES
        half_log_power = 0.5 * (cepstra @ self.matrix + self.bias)
        pitch = pitch_hz[:, None].expand(-1, HOP_SAMPLES).reshape(-1)
        cycles = torch.floor(torch.cumsum(pitch / SAMPLE_RATE_HZ, 0))
        pulses = F.pad(cycles[1:] - cycles[:-1], (1, 0)) * torch.sqrt(SAMPLE_RATE_HZ / pitch)
        noise = self.noise[torch.arange(samples) % SAMPLE_RATE_HZ]
        pulse_frames, noise_frames = self._frames(pulses, count), self._frames(noise, count)
        share = aperiodicity @ self.spread
        pulse_gain = torch.sqrt(torch.clamp(1 - share * share, min=0.0)) * voiced[:, None]
        noise_gain = torch.where(voiced[:, None] > 0.5, share, torch.ones_like(share))
        source_real = (pulse_frames @ self.to_real) * pulse_gain + (noise_frames @ self.to_real) * noise_gain
        source_imaginary = (pulse_frames @ self.to_imaginary) * pulse_gain + (noise_frames @ self.to_imaginary) * noise_gain
        magnitude, phase = torch.exp(half_log_power), half_log_power @ self.minimum_phase
        cosine, sine = torch.cos(phase), torch.sin(phase)
        real = magnitude * (source_real * cosine - source_imaginary * sine)
        imaginary = magnitude * (source_real * sine + source_imaginary * cosine)
        out = F.pad(real @ self.from_real + imaginary @ self.from_imaginary, (0, 3 * HOP_SAMPLES - FFT_SIZE))
        first, second, third = out[:, :HOP_SAMPLES], out[:, HOP_SAMPLES : 2 * HOP_SAMPLES], out[:, 2 * HOP_SAMPLES :]
        summed = F.pad(first, (0, 0, 0, 2)) + F.pad(second, (0, 0, 1, 1)) + F.pad(third, (0, 0, 2, 0))
        return summed.reshape(-1)[HOP_SAMPLES : HOP_SAMPLES + samples]


class Voice(nn.Module):
    """What is exported: the inputs and outputs of a Piper voice."""

    def __init__(self, acoustic: Acoustic, vocoder: Vocoder) -> None:
        super().__init__()
        self.acoustic, self.vocoder = acoustic, vocoder
        pauses = torch.zeros(SYMBOLS)
        for marks, frames in SENTENCE_PAUSE_FRAMES.items():
            for mark in marks:
                pauses[DEFAULT_PHONEME_ID_MAP[mark][0]] = frames
        self.register_buffer("pauses", pauses)

    def forward(self, input: Tensor, input_lengths: Tensor, scales: Tensor) -> tuple[Tensor, Tensor]:
        """ids (1, L), lengths (1,), scales (noise, length, unused) → audio (1, 1, N), frames per id (1, 1, L)."""
        acoustic = self.acoustic
        ids = input[:, : input_lengths[0]]
        states, log_frames = acoustic.encode(ids)
        lasts = torch.clamp(torch.exp(log_frames) - 1, min=0.0) * scales[1]
        lasts = torch.where(lasts < 0.15, torch.zeros_like(lasts), lasts)
        ends = torch.floor(torch.cumsum(lasts, 1) + 0.5)
        frames = ends - F.pad(ends[:, :-1], (1, 0))
        out = acoustic.decode(states, frames.to(torch.int64))
        cepstra = out[:, :CEPSTRA] * acoustic.cepstra_std + acoustic.cepstra_mean
        noise_level = (0.3 + scales[0] * 1.05).clamp(max=1.0)
        aperiodicity = torch.sigmoid(out[:, CEPSTRA : CEPSTRA + BANDS]) * noise_level
        log_pitch = torch.clamp(out[:, CEPSTRA + BANDS], -3, 3) * acoustic.log_pitch_std + acoustic.log_pitch_mean
        voiced = (out[:, -1] > 0).float()
        audio = self.vocoder(cepstra, aperiodicity, torch.exp(log_pitch), voiced)
        pause = self.pauses[ids[:, -3]]
        silence = torch.zeros(1, HOP_SAMPLES).expand(pause.to(torch.int64)[0], -1).reshape(-1)
        frames = torch.cat([frames[:, :-1], frames[:, -1:] + pause[:, None]], 1)
        return torch.cat([audio, silence])[None, None], frames[:, None]
