"""Phonemes come as piper's own bridge gives them, and take no memory."""

from __future__ import annotations

import ctypes
import gc
import importlib
import sys
from collections.abc import Callable
from typing import Any

import pytest

from voiceagent.tts.espeak import EspeakBridge

TEXTS = (
    "It is five. Really? Yes! One, two: three; four",
    "He said (softly) “no”, and left…",
    "Hello",
    "",
    "1. first\n\n2. second",
    "Kommt Müller? Ja, um 17:30 Uhr!",
    "日本語。はい？",
    "the 3rd of May, 1999; C++ costs 5 €",
)
LONG = "Tomorrow it will be sunny in Paris, with five degrees, and in the evening, there will be rain; or not."


@pytest.fixture(scope="module")
def first() -> Any:
    """Piper's own bridge."""
    from piper.phonemize_espeak import ESPEAK_DATA_DIR

    found = importlib.import_module("piper.espeakbridge")
    found.initialize(str(ESPEAK_DATA_DIR))
    return found


@pytest.fixture
def bridge(first: Any) -> EspeakBridge:
    return EspeakBridge(first, first.__file__)


def test_the_phonemes_are_those_of_pipers_bridge(first: Any, bridge: EspeakBridge) -> None:
    for voice in ("en-us", "de", "en-us", "fr"):
        bridge.set_voice(voice)
        ours = [bridge.get_phonemes(text) for text in TEXTS]
        for text, found in zip(TEXTS, ours, strict=True):
            first.set_voice(voice)
            assert found == first.get_phonemes(text)


def test_a_voice_that_another_bridge_sets_is_not_taken_for_ours(first: Any, bridge: EspeakBridge) -> None:
    bridge.set_voice("en-us")
    ours = bridge.get_phonemes("What is the weather?")
    first.set_voice("de")
    other = EspeakBridge(first, first.__file__)
    other.set_voice("fr")
    del other
    gc.collect()
    bridge.set_voice("en-us")
    assert bridge.get_phonemes("What is the weather?") == ours


def test_a_voice_that_does_not_exist_is_refused_each_time(bridge: EspeakBridge) -> None:
    bridge.set_voice("en-us")
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no-such"):
            bridge.set_voice("no-such")
    bridge.set_voice("en-us")
    assert bridge.get_phonemes("Hello.") == [("həlˈoʊ", ".", True)]


def test_a_text_with_a_null_is_read_whole(bridge: EspeakBridge) -> None:
    bridge.set_voice("en-us")
    assert bridge.get_phonemes("one\0two") == bridge.get_phonemes("one two")


def in_use() -> int:
    """Bytes that the C library has given out."""
    names = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")

    class Info(ctypes.Structure):
        _fields_ = [(name, ctypes.c_size_t) for name in names]

    ask: Callable[[], Any] = ctypes.CDLL(None).mallinfo2
    ask.restype = Info  # type: ignore[attr-defined]
    return int(ask().uordblks)


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="glibc 2.33 counts what it has given out")
def test_reading_and_changing_the_voice_takes_no_memory(bridge: EspeakBridge) -> None:
    def work(times: int) -> None:
        for _ in range(times):
            bridge.set_voice("en-us")
            bridge.get_phonemes(LONG)
            bridge.set_voice("de")

    work(20)
    blocks, allocated = sys.getallocatedblocks(), in_use()
    work(500)  # piper's bridge keeps 5,000 objects and 1.3 MB
    assert sys.getallocatedblocks() - blocks < 500
    assert in_use() - allocated < 200_000
