from __future__ import annotations

from voiceagent.server.calls.shedding import REGROWS_S, SHED_SHARE, Shedding


def test_each_step_leaves_a_share_of_the_calls_that_were_up_when_it_began() -> None:
    shedding = Shedding()
    assert shedding.limit(0.0, 0, 40) is None
    assert [shedding.limit(1.0, steps, up) for steps, up in ((1, 40), (2, 30), (1, 20))] == [30, 22, 30]
    assert SHED_SHARE == 0.75


def test_when_no_budget_burns_any_more_calls_come_back_evenly() -> None:
    shedding = Shedding()
    shedding.limit(100.0, 1, 40)
    limits = [shedding.limit(100.0 + second, 0, 30) for second in range(0, 60, 10)]
    assert limits == [30, 32, 34, 36, 38, None]
    assert not shedding.goes_on


def test_a_server_that_nobody_called_for_long_takes_as_many_as_ever() -> None:
    shedding = Shedding()
    shedding.limit(100.0, 8, 40)
    assert shedding.limit(101.0 + REGROWS_S, 0, 0) is None


def test_a_budget_that_burns_again_meanwhile_leaves_the_share_of_the_first_calls() -> None:
    shedding = Shedding()
    shedding.limit(0.0, 1, 40)
    assert shedding.limit(20.0, 0, 34) == 34
    assert shedding.limit(30.0, 1, 34) == 30
