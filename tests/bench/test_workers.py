from __future__ import annotations

import pytest

from bench.workers import split


@pytest.mark.parametrize(
    ("cores", "workers", "server", "callers"),
    [
        ([0], 3, [0], [0]),
        ([0, 1], 1, [0], [1]),
        ([0, 1], 3, [0], [1]),
        ([0, 1, 2, 3, 4, 5], 3, [0, 1, 2], [3, 4, 5]),
    ],
)
def test_the_callers_have_cores_of_their_own(cores: list[int], workers: int, server: list[int], callers: list[int]) -> None:
    assert split(cores, workers) == (server, callers)
