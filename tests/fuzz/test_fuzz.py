"""Every target takes its corpus, and the same mutations of it each time: no exception, no lost task, no growth, bounded time."""

from __future__ import annotations

import pytest

from tests.fuzz.every import TARGETS
from tests.fuzz.target import Target, Trial, corpus


@pytest.mark.parametrize("kind", TARGETS, ids=lambda kind: kind.__name__)
def test_no_input_does_what_none_may_do(kind: type[Target]) -> None:
    with Trial(kind()) as trial:
        for data in (b"", *corpus(kind.name)):
            trial.give(data)
        trial.search(kind.examples)


@pytest.mark.parametrize("name", sorted({kind.name for kind in TARGETS}))
def test_a_corpus_is_small_and_names_nobody(name: str) -> None:
    inputs = corpus(name)
    assert 5 <= len(inputs) <= 100
    assert max(map(len, inputs)) <= 65_536
    assert sum(map(len, inputs)) <= 150_000
