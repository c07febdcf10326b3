"""Makes the micro voice's training set: texts are spoken by espeak-ng's `en-us`, its phoneme times are laid over the
phoneme ids Piper would make of the same text, and WORLD (Morise 2016, doi:10.1587/transinf.2015EDP7457) takes the
sound apart into spectral envelope, aperiodicity and pitch, one frame every `HOP_SAMPLES`.

Texts come in from `domain` and `general_english`; a NumPy archive of `Utterance` fields goes out.

    python -m models.train.voice_prepare --out FOLDER [--count 2600] [--tiny]
"""

from __future__ import annotations

import argparse
import random
import time
import unicodedata
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyworld
from piper.phoneme_ids import phonemes_to_ids
from piper.phonemize_espeak import EspeakPhonemizer

from models.train import domain
from models.train.espeak import Espeak, PhonemeMark
from models.train.general_english import general_text
from models.train.voice_model import APERIODICITY_BANDS_HZ, CEPSTRA, FFT_SIZE, HOP_SAMPLES, SAMPLE_RATE_HZ

VOICE = "en-us"
_SILENT = " ,.?!:;"
_STRESS = "ˈˌ"
_END_PAUSE_S = 0.16


@dataclass(frozen=True, slots=True)
class Utterance:
    """One spoken sentence, ready to train on."""

    ids: npt.NDArray[np.int64]
    """Piper's phoneme ids, shape (L,)."""
    frames: npt.NDArray[np.int64]
    """Frames each id lasts, shape (L,), sum T."""
    pitch_hz: npt.NDArray[np.float32]
    """Shape (T,), 0 where unvoiced."""
    cepstra: npt.NDArray[np.float32]
    """Coded spectral envelope, shape (T, CEPSTRA)."""
    aperiodicity: npt.NDArray[np.float32]
    """Share of noise in each band, 0..1, shape (T, bands)."""


def training_texts(count: int, seed: int) -> list[str]:
    """`count` texts: 45 % from the domain, with numbers in digits or in words, the rest general English."""
    rng = random.Random(seed)
    texts: list[str] = []
    while len(texts) < count:
        if rng.random() < 0.45:
            utterance = domain.train_utterance(rng)
            texts.append(utterance.written if rng.random() < 0.4 else utterance.spoken)
        else:
            texts.append(general_text(rng))
    return texts


def durations(phonemes: list[str], marks: tuple[PhonemeMark, ...], end: int) -> npt.NDArray[np.float64] | None:
    """Samples each of Piper's phoneme ids lasts.

    Args:
        phonemes: Piper's code points of one sentence.
        marks: espeak-ng's phoneme times for the same text.
        end: length of the audio in samples.

    Returns:
        Shape (3 + 2·len(phonemes),) as Piper's ids `^ _ p _ … $`, or None where the two disagree about the sounds.
    """
    lasts = np.zeros(len(phonemes))
    position = 0
    for index, mark in enumerate(marks):
        sounds = unicodedata.normalize("NFD", mark.ipa)
        until = marks[index + 1].start_samples if index + 1 < len(marks) else end
        length = until - mark.start_samples
        if not sounds:
            at_pause = position < len(phonemes) and phonemes[position] in _SILENT
            lasts[position if at_pause else max(0, position - 1)] += length
            continue
        while position < len(phonemes) and phonemes[position] in _SILENT + _STRESS and phonemes[position] != sounds[0]:
            position += 1
        if "".join(phonemes[position : position + len(sounds)]) != sounds:
            return None
        sounding = [i for i in range(position, position + len(sounds)) if phonemes[i] not in _STRESS]
        for i in sounding:
            lasts[i] += length / len(sounding)
        position += len(sounds)
    if any(phoneme not in _SILENT + _STRESS for phoneme in phonemes[position:]):
        return None
    result = np.zeros(3 + 2 * len(phonemes))
    result[0] = marks[0].start_samples
    result[2:-1:2] = lasts
    return result


def analyse(audio: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """WORLD analysis of mono audio at `SAMPLE_RATE_HZ`: pitch (T,), cepstra (T, CEPSTRA), aperiodicity (T, bands)."""
    period_ms = 1000 * HOP_SAMPLES / SAMPLE_RATE_HZ
    pitch, times = pyworld.dio(audio, SAMPLE_RATE_HZ, f0_floor=50, f0_ceil=320, frame_period=period_ms)
    pitch = pyworld.stonemask(audio, pitch, times, SAMPLE_RATE_HZ)
    envelope = pyworld.cheaptrick(audio, pitch, times, SAMPLE_RATE_HZ, fft_size=FFT_SIZE)
    noise = pyworld.d4c(audio, pitch, times, SAMPLE_RATE_HZ, fft_size=FFT_SIZE)
    cepstra = pyworld.code_spectral_envelope(envelope, SAMPLE_RATE_HZ, CEPSTRA)
    edges = [round(hz * FFT_SIZE / SAMPLE_RATE_HZ) for hz in APERIODICITY_BANDS_HZ]
    bands = np.stack([noise[:, low : high + 1].mean(axis=1) for low, high in pairwise(edges)], axis=1)
    return pitch.astype(np.float32), cepstra.astype(np.float32), bands.astype(np.float32)


def prepare(texts: list[str]) -> list[Utterance]:
    """Speak and analyse the texts; those of several sentences and those that don't align are left out."""
    phonemizer = EspeakPhonemizer()
    sentences = [(text, phonemizer.phonemize(VOICE, text)) for text in texts]
    espeak = Espeak()
    utterances: list[Utterance] = []
    for text, parts in sentences:
        if len(parts) != 1:
            continue
        speech = espeak.say(text, VOICE, words_per_minute=168, pitch=48, pitch_range=55)
        if not speech.phonemes:
            continue
        lasts = durations(parts[0], speech.phonemes, len(speech.samples))
        if lasts is None:
            continue
        scale = SAMPLE_RATE_HZ / speech.sample_rate_hz / HOP_SAMPLES
        lasts[-3] = min(lasts[-3], _END_PAUSE_S * speech.sample_rate_hz)
        frames = np.diff(np.round(np.cumsum(lasts) * scale), prepend=0).astype(np.int64)
        total = int(frames.sum())
        pitch, cepstra, bands = analyse(speech.resampled(SAMPLE_RATE_HZ).astype(np.float64))
        if total > len(pitch) or frames.min() < 0:
            continue
        ids = np.array(phonemes_to_ids(parts[0]), np.int64)
        utterances.append(Utterance(ids, frames, pitch[:total], cepstra[:total], bands[:total]))
    return utterances


def save(path: Path, utterances: list[Utterance]) -> None:
    """Write the utterances as one archive of concatenated arrays."""
    np.savez(
        path,
        id_counts=np.array([len(u.ids) for u in utterances]),
        frame_counts=np.array([len(u.pitch_hz) for u in utterances]),
        ids=np.concatenate([u.ids for u in utterances]),
        frames=np.concatenate([u.frames for u in utterances]),
        pitch_hz=np.concatenate([u.pitch_hz for u in utterances]),
        cepstra=np.concatenate([u.cepstra for u in utterances]),
        aperiodicity=np.concatenate([u.aperiodicity for u in utterances]),
    )


def load(path: Path) -> list[Utterance]:
    """Read what `save` wrote."""
    with np.load(path) as archive:
        fields = {name: archive[name] for name in archive.files}
    id_ends, frame_ends = np.cumsum(fields["id_counts"]), np.cumsum(fields["frame_counts"])
    utterances: list[Utterance] = []
    for index in range(len(id_ends)):
        i = slice(id_ends[index] - fields["id_counts"][index], id_ends[index])
        f = slice(frame_ends[index] - fields["frame_counts"][index], frame_ends[index])
        utterances.append(
            Utterance(
                fields["ids"][i], fields["frames"][i], fields["pitch_hz"][f], fields["cepstra"][f], fields["aperiodicity"][f]
            )
        )
    return utterances


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for voice.npz")
    parser.add_argument("--count", type=int, default=2600, help="texts to speak")
    parser.add_argument("--seed", type=int, default=77)
    parser.add_argument("--tiny", action="store_true", help="a few texts only, to see that the recipe runs")
    options = parser.parse_args()
    began = time.monotonic()
    texts = training_texts(24 if options.tiny else options.count, options.seed)
    utterances = prepare(texts)
    options.out.mkdir(parents=True, exist_ok=True)
    save(options.out / "voice.npz", utterances)
    seconds = sum(len(u.pitch_hz) for u in utterances) * HOP_SAMPLES / SAMPLE_RATE_HZ
    print(f"{len(utterances)} of {len(texts)} texts, {seconds:.0f} s of speech, in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
