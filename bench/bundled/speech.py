"""Measures the bundled speech models on the fixed list `held_out/speech.jsonl`. Sentences and voices that training never saw are
synthesised with espeak-ng when the check runs, at full and at telephone band. Further sets are sounds that are not speech, and
the bundled voice, transcribed by the bundled Whisper. Word error rates are over lower-cased words without punctuation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import jiwer
import msgspec
import numpy as np
import numpy.typing as npt
import soxr

from bench.harness import Figure, at_least, at_most
from models.train.espeak import Espeak
from models.train.not_speech import not_speech
from models.train.telephone import telephone_band
from voiceagent.audio.format import HEARD_HZ
from voiceagent.errors import ModelError
from voiceagent.stt.short_whisper import ShortWhisper

_SURROUNDING_S = 0.1
_LEVEL = np.float32(0.6)
Audio = npt.NDArray[np.float32]


class SpeechEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of the list; which fields are filled depends on `set`."""

    set: str
    """`sentences`, `voices`, `telephone`, `bundled_voice` or `not_speech`."""
    text: str = ""
    """The text of a perfect transcript."""
    spoken: str = ""
    """`text` in words only, for the synthesiser."""
    voice: str = ""
    words_per_minute: int = 170
    pitch: int = 50
    pitch_range: int = 50
    kind: str = ""
    seed: int = 0
    seconds: float = 0.0
    level_db: float = 0.0


def held_out(name: str) -> list[SpeechEntry]:
    """The entries of one set of the list."""
    lines = (Path(__file__).parent / "held_out" / "speech.jsonl").read_text("utf-8").splitlines()
    entries = (msgspec.json.decode(line, type=SpeechEntry) for line in lines)
    return [entry for entry in entries if entry.set == name]


def normalised(text: str) -> str:
    """`text` as word error rates compare it: "What time is it, at 7:30 PM?" → "what time is it at 7:30 pm"."""
    return " ".join(re.sub(r"[^a-z0-9': ]", " ", text.lower()).split())


def word_error_rate(pairs: list[tuple[str, str]]) -> float:
    """Errors in per cent of the reference's words, over all (reference, heard) pairs."""
    references, heard = zip(*((normalised(a), normalised(b)) for a, b in pairs), strict=True)
    return float(round(100 * jiwer.wer(list(references), list(heard)), 1))


class Listener:
    """The Whisper under test, decoding greedily as a call does."""

    def __init__(self, folder: Path) -> None:
        """Load the model. Raises ModelError."""
        try:
            self._model = ShortWhisper(str(folder), device="cpu", compute_type="int8", cpu_threads=1, local_files_only=True)
        except (RuntimeError, ValueError, OSError) as error:
            raise ModelError(f"{folder}: cannot be loaded as a Whisper: {error}; install voiceagent again") from error

    def hear(self, audio: Audio) -> str:
        """The transcript of mono 16 kHz audio in -1..1."""
        segments, _ = self._model.transcribe(
            audio,
            language="en",
            beam_size=1,
            temperature=0.0,
            condition_on_previous_text=False,
            without_timestamps=True,
            suppress_tokens=[],
            no_speech_threshold=None,
            log_prob_threshold=None,
            compression_ratio_threshold=None,
            max_new_tokens=24 + 12 * len(audio) // HEARD_HZ,
        )
        return "".join(segment.text for segment in segments).strip()


def _surrounded(audio: Audio) -> Audio:
    return np.pad(audio, int(_SURROUNDING_S * HEARD_HZ))


def _said(entries: list[SpeechEntry]) -> Iterator[tuple[str, Audio]]:
    espeak = Espeak()
    for entry in entries:
        speech = espeak.say(
            entry.spoken,
            entry.voice,
            words_per_minute=entry.words_per_minute,
            pitch=entry.pitch,
            pitch_range=entry.pitch_range,
        )
        yield entry.text, _surrounded(speech.resampled(HEARD_HZ))


def measure_stt(folder: Path) -> list[Figure]:
    """The figures of the Whisper in `folder`. Takes about a minute on one core. Raises ModelError."""
    listener = Listener(folder)
    sentences = [(text, listener.hear(audio)) for text, audio in _said(held_out("sentences"))]
    voices = [(text, listener.hear(audio)) for text, audio in _said(held_out("voices"))]
    telephone = [(text, listener.hear(telephone_band(audio))) for text, audio in _said(held_out("telephone"))]
    sounds = held_out("not_speech")
    quiet = sum(1 for s in sounds if not listener.hear(not_speech(s.kind, s.seed, s.seconds, s.level_db)))
    return [
        at_most("word error rate, held-out sentences", word_error_rate(sentences), 8, "%"),
        at_most("word error rate, held-out voices", word_error_rate(voices), 15, "%"),
        at_most("word error rate, telephone band", word_error_rate(telephone), 20, "%"),
        at_least("silence and noise left empty", round(100 * quiet / len(sounds), 1), 95, "%"),
    ]


def measure_voice(stt_folder: Path, voice_folder: Path) -> list[Figure]:
    """Measures how well the Whisper in one folder understands the Piper voice in the other. Raises ModelError."""
    from piper import PiperVoice

    listener = Listener(stt_folder)
    files = sorted(voice_folder.glob("*.onnx"))
    if not files:
        raise ModelError(f"{voice_folder}: there is no voice (*.onnx) in it; install voiceagent again")
    voice = PiperVoice.load(files[0])
    pairs: list[tuple[str, str]] = []
    for entry in held_out("bundled_voice"):
        chunks = list(voice.synthesize(entry.spoken))
        audio = np.concatenate([chunk.audio_float_array for chunk in chunks]) * _LEVEL
        if chunks[0].sample_rate != HEARD_HZ:
            audio = np.asarray(soxr.resample(audio, chunks[0].sample_rate, HEARD_HZ), dtype=np.float32)
        pairs.append((entry.text, listener.hear(_surrounded(audio))))
    return [at_most("word error rate, bundled voice read back", word_error_rate(pairs), 20, "%")]
