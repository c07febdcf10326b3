"""Phonemes by espeak-ng without a leak. The bridge in piper-tts never frees a clause that it has returned. It sets the voice for
each text anew, and espeak-ng takes 1.3 kB for that, which only speaking frees. So a server would grow by 2 kB with each sentence.
Here the voice is set when it changes, and clauses are read by espeak-ng's own C API, which the bridge's library exports: see
`espeak_SetVoiceByName`, `espeak_Synth` and `espeak_TextToPhonemesWithTerminator` in espeak-ng's `speak_lib.h`."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint, c_void_p
from typing import Protocol

Clause = tuple[str, str, bool]
"""Phonemes in IPA, the mark behind them (empty: none), and whether a sentence ends there."""

UTF8, IPA = 1, 2
"""`espeakCHARS_UTF8` and `espeakPHONEMES_IPA`."""
SENTENCE = 0x80000
"""Set in the kind of a clause with which a sentence ends."""
KIND = 0xFFFFF
MARKS = {0x80028: ".", 0x82028: "?", 0x8302D: "!", 0x41014: ",", 0x4001E: ":", 0x4101E: ";"}
"""The marks by the kinds of clauses: the `CLAUSE_…` of espeak-ng's `translate.h`."""
_NO_AUDIO = ctypes.CFUNCTYPE(c_int, c_void_p, c_int, c_void_p)(lambda audio, samples, events: 0)
"""Takes the audio of espeak-ng. The library has one for the whole process and may call it at any time, so it is never freed."""


class _Voice(ctypes.Structure):
    """The beginning of `espeak_VOICE`."""

    _fields_ = [("name", c_char_p), ("languages", c_char_p), ("identifier", c_char_p)]


class PhonemeSource(Protocol):
    """The functions of `piper.espeakbridge`."""

    def initialize(self, data_dir: str) -> None:
        """Load espeak-ng's data from a folder."""
        ...

    def set_voice(self, voice: str) -> None:
        """Take this voice for what follows."""
        ...

    def get_phonemes(self, text: str) -> list[Clause]:
        """The clauses of a text."""
        ...


class EspeakBridge:
    """Stands in for piper's bridge. Like it, it holds Python's lock, because espeak-ng keeps its state in global variables. The
    library is asked for its voice before each text, because another bridge to it may have set one meanwhile."""

    def __init__(self, first: PhonemeSource, library: str) -> None:
        """`library` is the file of the bridge `first`. Raises OSError, and AttributeError if it does not export the C API."""
        loaded = ctypes.PyDLL(library)
        self._first, self._voice, self._identifier = first, "", b""
        self._read, self._speak = loaded.espeak_TextToPhonemesWithTerminator, loaded.espeak_Synth
        self._read.argtypes = POINTER(c_void_p), c_int, c_int, POINTER(c_int)
        self._read.restype = c_char_p
        self._speak.argtypes = c_char_p, c_size_t, c_uint, c_int, c_uint, c_uint, c_void_p, c_void_p
        self._current = loaded.espeak_GetCurrentVoice
        self._current.restype = POINTER(_Voice)
        loaded.espeak_SetSynthCallback(_NO_AUDIO)

    def initialize(self, data_dir: str) -> None:
        """See `PhonemeSource.initialize`."""
        self._voice = ""
        self._first.initialize(data_dir)

    def set_voice(self, voice: str) -> None:
        """See `PhonemeSource.set_voice`."""
        if voice != self._voice or self._identifier != self._identifier_now():
            self._voice = ""  # it stays unknown if this one does not exist
            self._first.set_voice(voice)
            self._speak(b"", 1, 0, 1, 0, UTF8, None, None)  # speaks nothing, and frees what the change took
            self._voice, self._identifier = voice, self._identifier_now()

    def _identifier_now(self) -> bytes:
        voice = self._current()
        return bytes(voice.contents.identifier or b"") if voice else b""

    def get_phonemes(self, text: str) -> list[Clause]:
        """See `PhonemeSource.get_phonemes`."""
        encoded = ctypes.create_string_buffer(text.replace("\0", " ").encode())
        at, kind = c_void_p(ctypes.addressof(encoded)), c_int()
        clauses: list[Clause] = []
        while at.value:
            phonemes: bytes = self._read(byref(at), UTF8, IPA, byref(kind))
            clauses.append((phonemes.decode(), MARKS.get(kind.value & KIND, ""), bool(kind.value & SENTENCE)))
        return clauses
