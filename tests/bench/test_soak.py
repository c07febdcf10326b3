import numpy as np
import pytest

from bench.soak import slope

MINUTES = np.arange(48) / 60


def test_a_leak_is_found_within_noise() -> None:
    noise = np.random.default_rng(1).normal(0, 3, len(MINUTES))
    found = slope(list(MINUTES), list(1000 + 40 * MINUTES + noise))
    assert found.low > 0
    assert found.low <= 40 <= found.high


@pytest.mark.parametrize("seed", range(5))
def test_noise_alone_is_no_leak(seed: int) -> None:
    noise = np.random.default_rng(seed).normal(0, 3, len(MINUTES))
    found = slope(list(MINUTES), list(1000 + noise))
    assert found.low < 0 < found.high


def test_a_count_that_jumps_up_and_down_has_no_slope() -> None:
    counts = [30.0, 31.0, 30.0, 33.0] * 12
    found = slope(list(MINUTES), counts)
    assert (found.per_hour, found.low) == (0.0, 0.0)


def test_a_level_that_settles_early_does_not_grow() -> None:
    found = slope(list(MINUTES), [25.0] * 4 + [26.0] * 44)
    assert found.low == 0.0
