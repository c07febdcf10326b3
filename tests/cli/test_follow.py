"""`voiceagent calls follow`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Outcome
from tests.store.calls import keep_call
from voiceagent.store.database import StoreAddress, local_store
from voiceagent.store.records import record_of

Run = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StoreAddress:
    monkeypatch.setenv("VOICEAGENT_DATA", str(tmp_path))
    return local_store(tmp_path)


def lines(outcome: Outcome) -> list[dict[str, object]]:
    assert (outcome.code, outcome.err) == (0, "")
    return [json.loads(line) for line in outcome.out.splitlines()]


def test_a_call_is_followed_to_its_end(voiceagent: Run, store: StoreAddress) -> None:
    keep_call(store, "rtc_1a")
    outcome = voiceagent("calls", "follow", "1a")
    assert (outcome.code, outcome.err) == (0, "")
    first, *_, last = outcome.out.splitlines()
    assert first.split()[:3] == ["1", "0:00.0", "call.started"]
    assert "agent=Front desk" in first
    assert last.split()[2:] == ["call.ended", "reason=hangup"]


def test_events_behind_one_come_as_json_lines(voiceagent: Run, store: StoreAddress) -> None:
    keep_call(store, "rtc_1a")
    found = lines(voiceagent("calls", "follow", "rtc_1a", "--after", "7", "--json"))
    assert [event["id"] for event in found] == [str(number) for number in range(8, 8 + len(found))]
    assert found[-1]["type"] == "call.ended"
    assert voiceagent("calls", "follow", "rtc_1a", "--new", "--once").out == ""


def test_all_calls_are_told_by_their_starts_and_ends(voiceagent: Run, store: StoreAddress) -> None:
    keep_call(store, "rtc_1")
    keep_call(store, "rtc_2", ends=False)
    started, ended, another = voiceagent("calls", "follow", "--once").out.splitlines()
    assert started.split()[2:4] == ["rtc_1", "call.started"]
    assert ended.split()[2:5] == ["rtc_1", "call.ended", "reason=hangup"]
    assert another.split()[2:4] == ["rtc_2", "call.started"]


def test_a_consumer_of_a_group_goes_on_where_it_ended(voiceagent: Run, store: StoreAddress) -> None:
    whose = ("--group", "billing", "--consumer", "one", "--once", "--json")
    keep_call(store, "rtc_1")
    assert len(lines(voiceagent("calls", "follow", *whose))) == 2
    keep_call(store, "rtc_2", ends=False)
    assert [event["call"] for event in lines(voiceagent("calls", "follow", *whose))] == ["rtc_2"]
    assert lines(voiceagent("calls", "follow", *whose)) == []


def test_a_call_whose_server_went_down_fails(voiceagent: Run, store: StoreAddress) -> None:
    keep_call(store, "rtc_1", ends=False)
    outcome = voiceagent("calls", "follow", "rtc_1")
    assert (outcome.code, len(outcome.err.splitlines())) == (1, 1)
    assert "went down" in outcome.err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("9",), "no events of a call '9' are kept"),
        (("--group", "billing"), "--group and --consumer belong together"),
        (("--new", "--after", "3"), "each says where to begin"),
        (("--after", "x"), "'x' is no id of an event"),
        (("--group", "a b", "--consumer", "c"), "names no group"),
    ],
)
def test_what_cannot_be_followed_is_one_line(voiceagent: Run, store: StoreAddress, options: tuple[str, ...], told: str) -> None:
    keep_call(store, "rtc_1")
    outcome = voiceagent("calls", "follow", "--once", *options)
    assert outcome.code == 2
    assert told in outcome.err


def test_where_redis_cannot_be_reached_nothing_is_deleted(
    voiceagent: Run, store: StoreAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_call(store, "rtc_1")
    monkeypatch.setenv("VOICEAGENT_EVENTS", "redis://voice:secret-word@127.0.0.1:9/0")
    outcome = voiceagent("calls", "delete", "1", "--yes")
    assert (outcome.code, len(outcome.err.splitlines())) == (2, 1)
    assert "is Redis up?" in outcome.err
    assert "secret-word" not in outcome.err
    assert record_of(store, "rtc_1") is not None


def test_a_wrong_address_is_one_line(voiceagent: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOICEAGENT_EVENTS", "http://voice:secret-word@h")
    outcome = voiceagent("calls", "follow")
    assert (outcome.code, len(outcome.err.splitlines())) == (1, 1)
    assert "expected redis://" in outcome.err
    assert "secret-word" not in outcome.err
