"""A transcript that ends in a loop is written again, from the same encoding; what people repeat is left to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.speech import said
from voiceagent.models.registry import profile, resolve
from voiceagent.stt.decoder import BatchDecoder
from voiceagent.stt.gates import ends_in_a_loop, says_all_twice
from voiceagent.stt.hypothesis import DecodeWindow
from voiceagent.stt.short_whisper import ShortWhisper


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
