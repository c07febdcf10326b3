"""Each gate closes on the input that it is there for, and speech passes all of them."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.speech import said
from voiceagent.models.registry import profile, resolve
from voiceagent.stt.decoder import BatchDecoder
from voiceagent.stt.gates import GateLimits, ends_in_a_loop, rejection, says_all_twice
from voiceagent.stt.hypothesis import DecodeWindow, Hypothesis, RecognisedWord
from voiceagent.stt.short_whisper import ShortWhisper
from voiceagent.turn_taking.patience import ExpectedValue


def hypothesis(text: str, *, no_speech: float = 0.05, log_probability: float = -0.3, ratio: float | None = None) -> Hypothesis:
    words = tuple(RecognisedWord(word, 0.0, 0.0, 1.0) for word in text.split())
    data = text.encode()
    return Hypothesis(words, no_speech, log_probability, len(data) / len(zlib.compress(data)) if ratio is None else ratio)


@pytest.mark.parametrize(
    ("heard", "voiced_ms", "reason"),
    [
        (hypothesis("What time is it in Paris?"), 1500, ""),
        (hypothesis("Yes."), 250, ""),
        (hypothesis(""), 100, ""),
        (hypothesis("4 4 4 4 4 4"), 2500, ""),
        (hypothesis("No, no, no."), 900, ""),
        (hypothesis("Thank you.", no_speech=0.8, log_probability=-1.2), 800, "no_speech"),
        (hypothesis("Thank you.", no_speech=0.8, log_probability=-0.2), 800, ""),
        (hypothesis("Thank you.", log_probability=-2.4), 800, "log_probability"),
        (hypothesis("the people of the people of the people of the people of the people of " * 3), 20_000, "compression_ratio"),
        (hypothesis("so so so so so"), 2000, "repetition"),
        (hypothesis("I know, I know. I know, I know."), 3000, "repetition"),
        (hypothesis("Thank you for watching this video."), 300, "too_many_words"),
    ],
)
def test_a_gate_closes_on_its_input(heard: Hypothesis, voiced_ms: float, reason: str) -> None:
    assert rejection(heard, voiced_ms, GateLimits()) == reason


def test_the_limits_belong_to_the_model() -> None:
    heard = hypothesis("Thank you.", log_probability=-2.4)
    assert rejection(heard, 800, GateLimits(log_probability=-3.0)) == ""


@pytest.mark.parametrize(
    ("text", "loops"),
    [
        ("", False),
        ("Yes please.", False),
        ("Yes please. Yes please.", True),
        ("The meeting was moved. The meeting was moved.", True),
        ("no no", False),
        ("It it it it", True),
        ("Call 5 5 5 5 5 5", False),
        ("5 2 5 2", False),
        ("had had a bad day", False),
        ("I said no. I said no. And then he left.", False),
    ],
)
def test_a_loop_is_a_phrase_that_stands_twice_at_the_end(text: str, loops: bool) -> None:
    assert ends_in_a_loop(text.split()) is loops


@pytest.mark.parametrize(
    ("text", "twice"),
    [
        ("", False),
        ("Yes.", False),
        ("yes? Yes", True),
        ("33 33 33", True),
        ("Table cloth, table cloth.", True),
        ("no no yes", False),
    ],
)
def test_words_that_are_one_phrase_written_twice_are_told_from_others(text: str, twice: bool) -> None:
    assert says_all_twice(text.split()) is twice


class Looping:
    """A model whose transcripts loop as long as nothing is said against what repeats."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.penalties: list[float] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def generate(self, encoded: Any, prompts: Sequence[Sequence[int]], **options: Any) -> Any:
        self.penalties.append(options["repetition_penalty"])
        results = self._model.generate(encoded, prompts, **options)
        if options["repetition_penalty"] > 1:
            return results
        return [Written(result, result.sequences_ids[0] * 2) for result in results]


class Written:
    """A result with other tokens."""

    def __init__(self, result: Any, tokens: list[int]) -> None:
        self._result = result
        self.sequences_ids = [tokens]
        self.scores: list[float] = result.scores

    def __getattr__(self, name: str) -> Any:
        return getattr(self._result, name)


@pytest.fixture(scope="module")
def model() -> ShortWhisper:
    path = resolve(profile("embedded").stt.model)
    return ShortWhisper(str(path), device="cpu", compute_type="int8", cpu_threads=1, local_files_only=True)


WINDOW = DecodeWindow(said("What time is it in Paris?").astype(np.float32) / np.float32(32768))


def test_what_ends_in_a_loop_is_written_again(model: ShortWhisper, monkeypatch: pytest.MonkeyPatch) -> None:
    (alone,) = BatchDecoder(model, loop_penalty=1.1).decode([WINDOW])
    looping = Looping(model.model)
    monkeypatch.setattr(model, "model", looping)
    decoder = BatchDecoder(model, loop_penalty=1.1)
    (heard,) = decoder.decode([WINDOW])
    assert heard.text == alone.text
    assert looping.penalties == [1.0, 1.1]
    assert decoder.written_again == 1


def test_what_ends_well_is_written_once(model: ShortWhisper) -> None:
    decoder = BatchDecoder(model, loop_penalty=1.1)
    decoder.decode([WINDOW])
    assert decoder.written_again == 0


def test_without_a_penalty_a_loop_stays(model: ShortWhisper, monkeypatch: pytest.MonkeyPatch) -> None:
    looping = Looping(model.model)
    monkeypatch.setattr(model, "model", looping)
    (heard,) = BatchDecoder(model).decode([WINDOW])
    assert heard.text.lower().count("paris") == 2
    assert looping.penalties == [1.0]


MOST_START = 4
"""The tokens at the start of a transcript, if no text stands before it."""


class Led:
    """A model that writes another text, so likely, where a text stands before it."""

    def __init__(self, model: Any, tokens: list[int], score: float) -> None:
        self._model = model
        self._tokens, self._score = tokens, score

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def generate(self, encoded: Any, prompts: Sequence[Sequence[int]], **options: Any) -> Any:
        results = self._model.generate(encoded, prompts, **options)
        if len(prompts[0]) <= MOST_START:
            return results
        led = [Written(result, self._tokens) for result in results]
        for one in led:
            one.scores = [self._score]
        return led


@pytest.mark.parametrize(
    ("led", "score", "sure", "text"),
    [
        ("That time is in Paris.", -0.01, 0.0, "That time is in Paris."),  # likelier
        ("That time is in Paris.", -9.0, 0.0, ""),
        ("That time is in Paris.", -0.01, -9.0, ""),  # the first one is sure
        ("In Rome, please.", -0.01, 0.0, ""),  # the hint itself
    ],
)
def test_behind_a_hint_a_likelier_text_is_taken_and_judged_as_the_first_one(
    model: ShortWhisper, monkeypatch: pytest.MonkeyPatch, led: str, score: float, sure: float, text: str
) -> None:
    monkeypatch.setattr("voiceagent.stt.decoder.SURE", sure)
    window = replace(WINDOW, expected=ExpectedValue(hint="At noon. In Rome, please."))
    decoder = BatchDecoder(model)
    tokens = model.hf_tokenizer.encode(f" {led}", add_special_tokens=False).ids
    (alone,) = decoder.decode([WINDOW])
    monkeypatch.setattr(model, "model", Led(model.model, tokens, score))
    (heard,) = decoder.decode([window])
    assert heard.text == (text or alone.text)
    assert heard.mean_log_probability == alone.mean_log_probability
