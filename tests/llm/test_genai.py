"""onnxruntime-genai by its C API: the model computes beside other threads, and errors are told."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from voiceagent.llm.embedded.genai import Generator, LoadedModel
from voiceagent.models.registry import resolve


@pytest.fixture(scope="module")
def model() -> LoadedModel:
    return LoadedModel(resolve("micro-lm"), "{}")


@pytest.fixture
def generator(model: LoadedModel) -> Generator:
    return model.generator({"max_length": 1024, "do_sample": False})


def test_other_threads_run_while_a_prompt_is_read(generator: Generator) -> None:
    """The event loop is one of them. Where the lock is held, the other thread has no moment in the middle of the reading."""
    moments_s: list[float] = []
    done = threading.Event()

    def live() -> None:
        while not done.is_set():
            moments_s.append(time.monotonic())
            done.wait(0.0005)

    other = threading.Thread(target=live)
    other.start()
    try:
        began_s = time.monotonic()
        generator.append_tokens([7] * 1000)
        took_s = time.monotonic() - began_s
    finally:
        done.set()
        other.join()
    assert [at_s for at_s in moments_s if began_s + took_s / 4 < at_s < began_s + took_s * 3 / 4]


def test_a_rewound_generator_reads_the_same(generator: Generator) -> None:
    generator.append_tokens([5, 6, 7, 8])
    before = generator.get_logits()
    generator.append_tokens([9, 10])
    assert not np.array_equal(generator.get_logits(), before)
    generator.rewind_to(2)
    generator.append_tokens([7, 8])
    np.testing.assert_allclose(generator.get_logits(), before, atol=1e-4)
    assert before.shape[:2] == (1, 1)
    assert before.dtype == np.float32


def test_a_token_is_picked(generator: Generator) -> None:
    generator.append_tokens([5, 6, 7, 8])
    wanted = int(generator.get_logits()[0, -1].argmax())
    generator.generate_next_token()
    assert generator.get_next_tokens() == [wanted]


def test_two_models_may_compute_at_the_same_time() -> None:
    """As a fallback does beside the model that it replaces. Each has a thread, as its engine has."""
    prompt = list(range(5, 205))

    def answered(model: LoadedModel) -> list[int]:
        generator = model.generator({"max_length": 1024, "do_sample": False})
        picked = []
        for _ in range(3):
            generator.rewind_to(0)
            generator.append_tokens(prompt)
            for _ in range(5):
                generator.generate_next_token()
                picked += generator.get_next_tokens()
        return picked

    models = [LoadedModel(resolve("micro-lm"), "{}") for _ in range(2)]
    alone = [answered(model) for model in models]
    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(answered, models)) == alone


def test_errors_are_told(model: LoadedModel, generator: Generator, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="nothing_like_that"):
        generator.get_output("nothing_like_that")
    with pytest.raises(RuntimeError):
        generator.append_tokens([7] * 1025)
    with pytest.raises(RuntimeError):
        model.generator({"no_such_option": 1.0})
    with pytest.raises(RuntimeError):
        LoadedModel(tmp_path, "{}")
