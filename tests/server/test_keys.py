"""The keys of a file: made, kept as hashes, found, revoked while the server runs, each with its own limits."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import SilentLeg, Switchboard
from voiceagent.errors import ConfigError
from voiceagent.server.access.key_file import MAX_KEYS, KeyFile, KeyLimits, KeyUses
from voiceagent.server.access.key_ring import KeyRing
from voiceagent.server.calls.admission import Admission
from voiceagent.server.calls.calls import Calls
from voiceagent.server.calls.quotas import Client, Quotas
from voiceagent.server.http.problems import Problem
from voiceagent.server.monitoring.metrics import Metrics
from voiceagent.settings.agent import AdmissionSettings, QuotaSettings


@pytest.fixture
def file(tmp_path: Path) -> KeyFile:
    return KeyFile(tmp_path / "data" / "keys.json")


def test_a_key_is_kept_as_a_hash_for_its_owner_alone(file: KeyFile) -> None:
    key = file.add("shop")
    written = file.path.read_text()
    assert key not in written
    assert key.split("_", 2)[2] not in written
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.path.parent.stat().st_mode) == 0o700


def test_two_keys_of_one_name_have_their_own_salts_and_values(file: KeyFile) -> None:
    first = file.add("shop")
    file.revoke("shop")
    second = file.add("shop")
    assert first != second
    ring = KeyRing(file=file)
    assert ring.client(first) is None
    assert named(ring.client(second)) == Client("shop")


def test_a_key_is_let_in_and_a_changed_one_is_not(file: KeyFile) -> None:
    limits = KeyLimits(calls=2, minutes_a_day=60)
    key = file.add("shop", limits)
    operators = file.add("me", kind="operator")
    ring = KeyRing(file=file)
    assert named(ring.client(key)) == Client("shop", limits=limits)
    assert named(ring.client(operators)) == Client("me", "operator")
    other_end = f"{key[:-1]}{'A' if key[-1] != 'A' else 'B'}"
    for wrong in (
        "",
        other_end,
        key[:-1],
        f"{key}A",
        key.upper(),
        operators[:11] + key[11:],
        "va_",
        "\udcff",
        key.replace("_", ""),
    ):
        assert ring.client(wrong) is None


def test_keys_of_the_environment_are_let_in_beside_those_of_the_file(file: KeyFile) -> None:
    assert KeyRing(("only",)).client("only") == Client("key 1", "owner")
    file.add("shop")
    ring = KeyRing(("first", "second"), ("operators",), file)
    assert ring.client("second") == Client("key 2")
    assert ring.client("operators") == Client("operator key 1", "operator")
    assert ring.count() == 3
    assert KeyRing(("first",), file=file).client("first") == Client("key 1")


async def test_a_running_server_sees_keys_come_and_go(file: KeyFile) -> None:
    ring = KeyRing(file=file)
    assert not ring.is_needed
    key = file.add("shop")
    await ring.look()
    assert ring.is_needed
    assert named(ring.client(key)) == Client("shop")
    file.revoke("shop")
    await ring.look()
    assert ring.client(key) is None
    assert ring.is_needed, "a server whose last key was revoked does not stand open"


async def test_a_file_that_breaks_changes_nothing(file: KeyFile, caplog: pytest.LogCaptureFixture) -> None:
    key = file.add("shop")
    ring = KeyRing(file=file)
    file.path.write_text("{")
    await ring.look()
    await ring.look()
    assert named(ring.client(key)) == Client("shop")
    assert len([line for line in caplog.messages if "the keys stay as they were" in line]) == 1


async def test_the_last_use_of_a_key_is_kept_in_a_file_of_its_own(file: KeyFile, tmp_path: Path) -> None:
    key = file.add("shop")
    before = file.path.read_bytes()
    uses = KeyUses(tmp_path / "keys-used.json")
    ring = KeyRing(file=file, uses=uses)
    await ring.keep_uses({})
    assert uses.read() == {}
    ring.client(key)
    await ring.keep_uses({})
    assert list(uses.read()) == [file.read()[0].id]
    assert file.path.read_bytes() == before


async def test_minutes_that_a_key_has_spent_outlive_the_server(file: KeyFile, tmp_path: Path) -> None:
    key = file.add("kiosk", KeyLimits(minutes_a_day=10))
    uses = KeyUses(tmp_path / "keys-used.json")

    def started() -> tuple[KeyRing, Quotas, Clock]:
        ring, clock = KeyRing(file=file, uses=uses), Clock()
        return ring, Quotas(QuotaSettings(), 16, clock=clock, spent_before=ring.spent_before), clock

    ring, share, clock = started()
    client = ring.client(key)
    assert client is not None
    place = share.take(client)
    place.connected()
    clock.now_s += 590
    place.release()
    await ring.keep_uses(share.spent_s())
    ring, share, clock = started()
    place = share.take(client)
    place.connected()
    clock.now_s += 15
    assert not place.has_time_left()
    await ring.keep_uses(share.spent_s())
    uses.path.write_text("{")
    ring, share, clock = started()
    place = share.take(client)
    place.connected()
    clock.now_s += 590
    assert place.has_time_left(), "a file that cannot be read is no reason to refuse calls"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("[]", "Expected `object`"),
        ('{"keys": [{"id": "00000000"}]}', "missing required field `name`"),
        ('{"keys": [], "more": 1}', "unknown field `more`"),
        ("", "voiceagent keys add"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line(file: KeyFile, content: str, told: str) -> None:
    file.path.parent.mkdir()
    file.path.write_text(content)
    with pytest.raises(ConfigError, match=r"keys\.json") as refused:
        KeyRing(file=file)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_two_keys_of_one_name_or_id_are_refused(file: KeyFile) -> None:
    file.add("shop")
    entry = json.loads(file.path.read_text())["keys"][0]
    file.path.write_text(json.dumps({"keys": [entry, {**entry, "name": "other"}]}))
    with pytest.raises(ConfigError, match="the same id"):
        file.read()


def test_a_file_that_others_may_write_is_refused(file: KeyFile) -> None:
    file.add("shop")
    file.path.chmod(0o620)
    with pytest.raises(ConfigError, match="chmod 600"):
        file.read()


@pytest.mark.parametrize("name", ["", "a b", "-x", "x" * 65, "näme", "a\nb", "key,1"])
def test_a_name_that_could_be_misread_is_refused(file: KeyFile, name: str) -> None:
    with pytest.raises(ConfigError, match="is no name of a key"):
        file.add(name)
    assert not file.path.exists()


def test_the_number_of_keys_is_bounded(file: KeyFile) -> None:
    file.add("shop")
    entry = json.loads(file.path.read_text())["keys"][0]
    entries = [{**entry, "id": f"{number:08x}", "name": f"key{number}"} for number in range(MAX_KEYS)]
    file.path.write_text(json.dumps({"keys": entries}))
    with pytest.raises(ConfigError, match="as many as it may"):
        file.add("one-more")


def named(client: Client | None) -> Client | None:
    """A client without the id of its key, which is drawn."""
    return replace(client, key_id="") if client else None


class Clock:
    """Stands still until it is moved."""

    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def refused(share: Quotas, client: Client) -> Problem:
    with pytest.raises(Problem) as problem:
        share.take(client)
    assert problem.value.status == 429
    return problem.value


def test_a_key_has_its_own_limits_and_a_refusal_says_which_and_until_when() -> None:
    clock = Clock()
    share = Quotas(QuotaSettings(minutes_a_day=1000), 16, keys=lambda: 2, clock=clock)
    kiosk = Client("kiosk", limits=KeyLimits(calls=1, minutes_a_day=2, calls_a_minute=3))
    place = share.take(kiosk)
    problem = refused(share, kiosk)
    assert (problem.code, problem.param) == ("too_many_calls", "calls")
    place.connected()
    clock.now_s += 30
    place.release()
    share.take(kiosk).release()
    share.take(kiosk).release()
    clock.now_s += 1
    problem = refused(share, kiosk)
    assert (problem.code, problem.param, problem.retry_after_s) == ("too_many_calls_a_minute", "calls_a_minute", 29)
    assert str(problem) == "You may begin 3 calls a minute; call again in 29 seconds."
    clock.now_s += 60
    place = share.take(kiosk)
    place.connected()
    clock.now_s += 95
    assert not place.has_time_left()
    place.release()
    problem = refused(share, kiosk)
    assert (problem.code, problem.param) == ("minutes_used", "minutes_a_day")
    assert "Your 2 minutes of calls a day are used; call again in 13 hours." in str(problem)
    for _ in range(12):
        share.take(Client("other")).connected()


def test_limits_that_the_operator_changes_hold_for_the_next_call() -> None:
    share = Quotas(QuotaSettings(), 16, clock=Clock())
    share.take(Client("kiosk"))
    assert refused(share, Client("kiosk", limits=KeyLimits(calls=1))).code == "too_many_calls"


def begins(share: Quotas, client: Client) -> Problem | None:
    """Begin a call and end it; returns why it may not begin."""
    try:
        share.take(client).release()
    except Problem as problem:
        return problem
    return None


@given(
    limit=st.sampled_from([0.5, 1.0, 1.5, 6.0, 20.0]),
    waits=st.lists(st.sampled_from([0.0, 0.5, 3.0, 10.0, 29.0, 60.0, 120.0]), min_size=1, max_size=120),
)
def test_no_minute_has_more_calls_than_a_key_may_begin(limit: float, waits: list[float]) -> None:
    clock = Clock()
    share = Quotas(QuotaSettings(offers_per_s=1000), 1000, clock=clock)
    kiosk = Client("kiosk", limits=KeyLimits(calls_a_minute=limit))
    begun: list[float] = []
    for wait_s in waits:
        clock.now_s += wait_s
        while (problem := begins(share, kiosk)) is not None:
            assert problem.code == "too_many_calls_a_minute"
            assert problem.retry_after_s
            clock.now_s += problem.retry_after_s
        begun.append(clock.now_s)
    window_s = max(60.0, 60.0 / limit)
    for time_s in begun:
        assert sum(time_s - window_s < each <= time_s for each in begun) <= max(1, limit)


def test_a_changed_limit_counts_what_was_begun_before() -> None:
    share = Quotas(QuotaSettings(), 16, clock=Clock())
    for _ in range(3):
        share.take(Client("kiosk", limits=KeyLimits(calls_a_minute=3))).release()
    assert refused(share, Client("kiosk", limits=KeyLimits(calls_a_minute=2))).code == "too_many_calls_a_minute"
    share.take(Client("kiosk", limits=KeyLimits(calls_a_minute=4))).release()
    refused(share, Client("kiosk", limits=KeyLimits(calls_a_minute=4)))


async def test_a_key_that_is_revoked_while_its_call_waits_for_a_place_begins_none(file: KeyFile) -> None:
    ring, key = KeyRing(file=file), file.add("shop")
    await ring.look()
    client = ring.client(key)
    assert client is not None
    metrics = Metrics()
    calls = Calls(_no_answer, Admission(AdmissionSettings(), metrics), Quotas(QuotaSettings(), 16), metrics, ring.knows)
    leg = SilentLeg()

    async def make_leg() -> SilentLeg:
        file.revoke("shop")
        assert await ring.look() == {("shop", client.key_id)}
        return leg

    with pytest.raises(Problem, match="was revoked while the call waited"):
        await calls.begin(make_leg, {}, Switchboard().start_call, client)
    assert leg.closed.is_set()
    assert not len(calls)


async def _no_answer(offer: str) -> tuple[SilentLeg, str]:
    raise AssertionError(offer)
