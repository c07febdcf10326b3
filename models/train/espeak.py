"""espeak-ng as a source of synthetic speech, through the copy that piper-tts ships (`espeakbridge.so` exports the whole espeak-ng
C API, and the wheel holds every voice's data). Text and a voice name go in; 16-bit samples and the exact times of words and
phonemes come out. Training, benchmarks and tests make speech with it; calls do not use it.

The library keeps its state in global variables, some of which no call resets. So each `Espeak` loads a copy of its own: another
one, or piper's phonemizer, does not change how it sounds. One `Espeak` serves one thread at a time.
"""

from __future__ import annotations

import _ctypes
import ctypes
import importlib.util
import shutil
import tempfile
import weakref
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import soxr

from voiceagent.errors import VoiceAgentError

_SYNCHRONOUS = 2
_PHONEME_EVENTS = 1
_PHONEMES_AS_IPA = 2
_UTF8 = 1
_PHONEMES = 0x100
_EVENT_END_OF_LIST, _EVENT_WORD, _EVENT_PHONEME = 0, 1, 7
_SEED = 1
"""Seed of the noise in breathy and whispered voices: the library itself would take the time of day."""
_RATE, _PITCH, _PITCH_RANGE, _WORD_GAP = 1, 3, 4, 7


class EspeakError(VoiceAgentError):
    """espeak-ng could not be loaded or refused a voice."""


@dataclass(frozen=True, slots=True)
class WordMark:
    """The beginning of a word."""

    start_samples: int
    """First sample of the word."""
    text_offset: int
    """Index of the word's first character in the text."""


@dataclass(frozen=True, slots=True)
class PhonemeMark:
    """The beginning of a phoneme."""

    start_samples: int
    """First sample of the phoneme."""
    ipa: str
    """The phoneme in IPA, stress marks included; empty for a pause."""


@dataclass(frozen=True, slots=True)
class SynthesisedText:
    """A text and its synthesised audio."""

    samples: npt.NDArray[np.int16]
    """Mono audio at `sample_rate_hz`."""
    sample_rate_hz: int
    words: tuple[WordMark, ...]
    phonemes: tuple[PhonemeMark, ...]

    def resampled(self, rate_hz: int) -> npt.NDArray[np.float32]:
        """The audio at another rate: float32 in -1..1, mono."""
        audio = self.samples.astype(np.float32) / 32768
        return np.asarray(soxr.resample(audio, self.sample_rate_hz, rate_hz), dtype=np.float32)


class _EventId(ctypes.Union):
    _fields_ = [("number", ctypes.c_int), ("name", ctypes.c_char_p), ("string", ctypes.c_char * 8)]


class _Event(ctypes.Structure):
    """`espeak_EVENT` of speak_lib.h."""

    _fields_ = [
        ("type", ctypes.c_int),
        ("unique_identifier", ctypes.c_uint),
        ("text_position", ctypes.c_int),
        ("length", ctypes.c_int),
        ("audio_position_ms", ctypes.c_int),
        ("sample", ctypes.c_int),
        ("user_data", ctypes.c_void_p),
        ("id", _EventId),
    ]


_Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.POINTER(_Event))


def bridge_folder() -> Path:
    """The installed piper package, which holds the library and `espeak-ng-data`.

    Raises:
        EspeakError: piper-tts is not installed.
    """
    spec = importlib.util.find_spec("piper")
    if spec is None or spec.origin is None:
        raise EspeakError("espeak-ng was not found: it comes inside piper-tts; install it with `pip install piper-tts`")
    return Path(spec.origin).parent


def variants() -> list[str]:
    """Names of espeak-ng's voice variants (`f3`, `Andy` …), to be appended to a voice as `en-us+f3`, sorted."""
    return sorted(path.name for path in (bridge_folder() / "espeak-ng-data" / "voices" / "!v").iterdir())


def _copy_of(library: Path) -> ctypes.CDLL:
    """The library loaded once more, with global variables of its own: the same file would be the same library."""
    with tempfile.TemporaryDirectory(prefix="voiceagent-espeak-") as folder:
        return ctypes.CDLL(shutil.copy(library, folder))


def _unload(library: ctypes.CDLL) -> None:
    library.espeak_Terminate()
    _ctypes.dlclose(library._handle)


class Espeak:
    """A synthesiser. Making one loads the library, which is cheap (about 30 ms)."""

    def __init__(self) -> None:
        folder = bridge_folder()
        candidates = sorted(folder.glob("espeakbridge*.so")) + sorted(folder.glob("espeakbridge*.pyd"))
        if not candidates:
            raise EspeakError(f"no espeakbridge library in {folder}: reinstall piper-tts (1.3 or newer)")
        self._library = _copy_of(candidates[0])
        weakref.finalize(self, _unload, self._library)
        rate_hz = self._library.espeak_Initialize(_SYNCHRONOUS, 0, str(folder).encode(), _PHONEME_EVENTS | _PHONEMES_AS_IPA)
        if rate_hz <= 0:
            raise EspeakError(f"espeak-ng could not read its data in {folder}: code {rate_hz}; reinstall piper-tts")
        self._library.espeak_ng_SetRandSeed(ctypes.c_long(_SEED))
        self.sample_rate_hz = int(rate_hz)
        self._chunks: list[npt.NDArray[np.int16]] = []
        self._words: list[WordMark] = []
        self._phonemes: list[PhonemeMark] = []
        self._callback = _Callback(self._collect)
        self._library.espeak_SetSynthCallback(self._callback)
        self._library.espeak_Synth.argtypes = [
            ctypes.c_char_p,
            ctypes.c_size_t,
            ctypes.c_uint,
            ctypes.c_int,
            ctypes.c_uint,
            ctypes.c_uint,
            ctypes.c_void_p,
            ctypes.c_void_p,
        ]

    def _collect(self, audio: ctypes._Pointer[ctypes.c_short], count: int, events: ctypes._Pointer[_Event]) -> int:
        if count > 0 and audio:
            self._chunks.append(np.ctypeslib.as_array(audio, (count,)).copy())
        index = 0
        while events and events[index].type != _EVENT_END_OF_LIST:
            event = events[index]
            if event.type == _EVENT_WORD:
                self._words.append(WordMark(event.sample, event.text_position - 1))
            elif event.type == _EVENT_PHONEME:
                self._phonemes.append(PhonemeMark(event.sample, event.id.string.decode("utf-8", "ignore")))
            index += 1
        return 0

    def say(
        self,
        text: str,
        voice: str = "en-us",
        *,
        words_per_minute: int = 175,
        pitch: int = 50,
        pitch_range: int = 50,
        word_gap: int = 0,
    ) -> SynthesisedText:
        """Speak a text.

        Args:
            text: what to say; what stands in `[[…]]` is phonemes in espeak-ng's own notation.
            voice: an espeak-ng voice, with a variant if wanted: `en-us+f3`.
            words_per_minute: 80..450.
            pitch: 0..100.
            pitch_range: 0 (monotone)..100.
            word_gap: extra pause between words, units of 10 ms.

        Raises:
            EspeakError: there is no such voice.
        """
        if self._library.espeak_SetVoiceByName(voice.encode()) != 0:
            raise EspeakError(f"espeak-ng has no voice {voice!r}: use a name such as 'en-us' or 'en-us+f3'")
        settings = ((_RATE, words_per_minute), (_PITCH, pitch), (_PITCH_RANGE, pitch_range), (_WORD_GAP, word_gap))
        for parameter, value in settings:
            self._library.espeak_SetParameter(parameter, value, 0)
        self._chunks, self._words, self._phonemes = [], [], []
        encoded = text.encode() + b"\0"
        self._library.espeak_Synth(encoded, len(encoded), 0, 1, 0, _UTF8 | _PHONEMES, None, None)
        self._library.espeak_Synchronize()
        samples = np.concatenate(self._chunks) if self._chunks else np.zeros(0, np.int16)
        return SynthesisedText(samples, self.sample_rate_hz, tuple(self._words), tuple(self._phonemes))
