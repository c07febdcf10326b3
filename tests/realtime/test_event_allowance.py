"""How many events a client may send, and what becomes of one that sends more."""

from __future__ import annotations

from voiceagent.realtime.event_allowance import (
    BYTES_AT_ONCE,
    EVENTS_AT_ONCE,
    PATIENCE,
    WORK_AT_ONCE,
    AllowanceVerdict,
    EventAllowance,
)


def send(allowance: EventAllowance, events: int, at_ms: float, *, size: int = 10, work: bool = False) -> list[AllowanceVerdict]:
    found = []
    for _ in range(events):
        found.append(allowance.take(size, at_ms))
        if found[-1] is AllowanceVerdict.TAKEN:
            allowance.charge(size, at_ms, work=work)
    return found


def test_a_burst_is_taken_and_what_follows_is_refused_and_told_once_a_second() -> None:
    allowance = EventAllowance()
    found = send(allowance, int(EVENTS_AT_ONCE) + 3, 0.0)
    assert found.count(AllowanceVerdict.TAKEN) == EVENTS_AT_ONCE
    assert found[-3:] == [AllowanceVerdict.TOLD, AllowanceVerdict.REFUSED, AllowanceVerdict.REFUSED]
    assert send(allowance, 1, 1000.0) == [AllowanceVerdict.TAKEN]


def test_a_call_is_strained_for_a_second_after_an_event_was_refused() -> None:
    allowance = EventAllowance()
    send(allowance, int(EVENTS_AT_ONCE), 0.0)
    assert not allowance.is_strained(0.0)
    send(allowance, 1, 0.0)
    assert allowance.is_strained(0.0)
    assert allowance.is_strained(999.0)
    assert not allowance.is_strained(1000.0)


def test_typed_messages_are_fewer() -> None:
    found = send(EventAllowance(), 20, 0.0, work=True)
    assert found.count(AllowanceVerdict.TAKEN) == WORK_AT_ONCE


def test_bytes_count_too() -> None:
    found = send(EventAllowance(), 10, 0.0, size=int(BYTES_AT_ONCE / 4) + 1)
    assert found.count(AllowanceVerdict.TAKEN) == 4


def test_who_goes_on_is_an_abuser_and_who_waits_is_forgiven() -> None:
    allowance = EventAllowance()
    send(allowance, int(EVENTS_AT_ONCE), 0.0)
    found = send(allowance, int(PATIENCE) + 1, 0.0)
    assert AllowanceVerdict.ABUSED not in found[:90]
    assert found[-1] is AllowanceVerdict.ABUSED
    assert send(EventAllowance(), int(EVENTS_AT_ONCE), 0.0)[-1] is AllowanceVerdict.TAKEN


def test_a_client_of_twenty_events_a_second_is_never_refused() -> None:
    allowance = EventAllowance()
    found = [send(allowance, 1, tick * 50.0)[0] for tick in range(2000)]
    assert set(found) == {AllowanceVerdict.TAKEN}
