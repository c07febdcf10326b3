"""Machines told from people: by what they say, how long they speak, and their beep; and what is never taken for one."""

from __future__ import annotations

import time

import numpy as np
import pytest

from voiceagent.telephony.answering_machine import LIMITS, AnsweringMachine, Verdict
from voiceagent.turn_taking.languages import LANGUAGES, language

FRAME = 320
RNG = np.random.default_rng(1)


def machine(*codes: str) -> AnsweringMachine:
    return AnsweringMachine([language(code).phone for code in codes or ("en",)])


def speak(detector: AnsweringMachine, seconds: float) -> None:
    """Something like speech, as the VAD tells it."""
    detector.speaks(True)
    for _ in range(int(seconds * 50)):
        detector.listen(RNG.normal(0, 2000, FRAME).astype(np.int16))
    detector.speaks(False)


def be_silent(detector: AnsweringMachine, seconds: float) -> None:
    for _ in range(int(seconds * 50)):
        detector.listen(np.zeros(FRAME, np.int16))


def beep(detector: AnsweringMachine, seconds: float = 0.4) -> None:
    tone = 3000 * np.sin(2 * np.pi * 1000 * np.arange(int(seconds * 16_000)) / 16_000)
    for frame in tone.astype(np.int16).reshape(-1, FRAME):
        detector.listen(frame)


def test_somebody_who_says_a_few_words_and_waits_is_a_person() -> None:
    detector = machine()
    be_silent(detector, 0.5)
    speak(detector, 1.0)
    assert detector.verdict.value == "undecided"
    detector.says(1, "Hello, this is Peter.")
    be_silent(detector, LIMITS.joined / 1000)
    assert detector.verdict is Verdict.PERSON
    speak(detector, 12.0)
    detector.says(2, "He is not available, he is out of the office, can I take something down for him")
    assert detector.verdict is Verdict.PERSON, "who has waited once may talk at length"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("en", "Please leave a message after the tone"),
        ("de", "Bitte sprechen Sie nach dem Signalton"),
        ("es", "Deje su mensaje después de la señal"),
        ("fr", "Merci de parler après le signal sonore"),
        ("it", "Lasciate un messaggio dopo il segnale"),
        ("pt", "Deixe o seu recado após o sinal"),
        ("nl", "Spreek een bericht in na de piep"),
    ],
)
def test_what_only_a_machine_says_tells_it_in_its_language_and_among_all(code: str, words: str) -> None:
    for detector in (machine(code), machine(*LANGUAGES)):
        speak(detector, 1.5)
        detector.says(1, words)
        assert (detector.verdict, detector.reason) == (Verdict.MACHINE, "words")


def test_a_misheard_word_still_tells_and_a_short_one_does_not() -> None:
    detector = machine()
    speak(detector, 1.0)
    detector.says(1, "leave a massage")
    assert detector.verdict is Verdict.MACHINE
    other = machine()
    speak(other, 1.0)
    other.says(1, "after the bee")
    assert other.verdict is Verdict.UNDECIDED


def test_what_people_say_too_tells_a_machine_only_after_a_longer_stretch() -> None:
    detector = machine()
    speak(detector, 2.0)
    detector.says(1, "We are not available")
    assert detector.verdict.value == "undecided"
    speak(detector, 1.5)
    detector.says(1, "We are not available, we are very sorry")
    assert detector.verdict is Verdict.MACHINE


def test_a_stretch_without_a_pause_tells_and_pauses_for_breath_are_none() -> None:
    detector = machine()
    for _ in range(4):
        speak(detector, 1.2)
        be_silent(detector, 0.5)
    assert (detector.verdict, detector.reason) == (Verdict.MACHINE, "length")


def test_a_voice_in_the_background_makes_no_stretch() -> None:
    detector = machine()
    speak(detector, 1.0)
    detector.speaks(True)
    for _ in range(500):
        detector.listen(RNG.normal(0, 200, FRAME).astype(np.int16))
    assert detector.verdict is Verdict.PERSON


def test_a_beep_tells_and_recording_begins_when_it_ends() -> None:
    detector = machine()
    speak(detector, 1.0)
    be_silent(detector, 0.4)
    beep(detector)
    assert (detector.verdict, detector.reason) == (Verdict.MACHINE, "beep")
    assert not detector.records
    be_silent(detector, 0.02)
    assert detector.records


def test_a_tone_before_the_first_word_is_a_ringing_line() -> None:
    detector = machine()
    beep(detector, 1.0)
    be_silent(detector, 1.0)
    assert detector.verdict is Verdict.UNDECIDED


def test_a_machine_without_a_beep_records_once_it_is_silent() -> None:
    detector = machine()
    speak(detector, 2.0)
    detector.says(1, "leave a message")
    be_silent(detector, LIMITS.silent / 1000 - 0.1)
    assert not detector.records
    be_silent(detector, 0.1)
    assert detector.records


def test_nothing_makes_a_machine_of_whom_we_have_talked_with_for_long() -> None:
    detector = machine()
    speak(detector, 1.0)
    be_silent(detector, LIMITS.watched / 1000)
    detector.says(9, "I will leave a message after the tone")
    beep(detector)
    assert detector.verdict is Verdict.PERSON


def test_words_are_searched_in_less_than_the_event_loop_may_wait() -> None:
    detector = machine(*LANGUAGES)
    speak(detector, 1.0)
    talk = " ".join(f"conversation{number} availability" for number in range(40))
    detector.says(1, talk)
    began = time.perf_counter()
    for _ in range(10):
        detector.says(1, talk)
    assert (time.perf_counter() - began) / 10 < 0.005
    assert detector.verdict is Verdict.UNDECIDED


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_language_has_words_of_machines(code: str) -> None:
    words = language(code).phone
    assert len(words.machine) >= 20
    assert words.absent
    assert not words.machine & words.absent
