"""Ids, tokens, secrets and tickets hold the number of the worker that made them, and look the same without workers."""

import re
from collections.abc import Iterator

import pytest

from voiceagent.server.access.client_secrets import ClientSecrets
from voiceagent.server.calls.call_ids import (
    RESUME_SHAPE,
    SECRET_SHAPE,
    ThisWorker,
    call_of_token,
    new_call_id,
    new_resume_token,
    worker_of,
)
from voiceagent.telephone.messages import CallFacts
from voiceagent.telephone.streams.webhooks import Tickets


@pytest.fixture(params=[1, 0x0A2F, 0xFFFF])
def worker(request: pytest.FixtureRequest) -> Iterator[int]:
    ThisWorker.become(request.param)
    yield ThisWorker.number
    ThisWorker.become(0)


def made() -> dict[str, str]:
    """One of each kind."""
    call_id = new_call_id()
    secret = ClientSecrets().issue(("desk", ""), {}, (), "", 60.0, once=False)
    ticket = Tickets(60.0).issue("twilio", CallFacts(), 0.0)
    return {"call": call_id, "token": new_resume_token(call_id), "secret": secret, "ticket": ticket}


def require_shapes(found: dict[str, str]) -> None:
    assert re.fullmatch(r"rtc_[0-9a-f]{24}", found["call"])
    assert RESUME_SHAPE.fullmatch(found["token"])
    assert call_of_token(found["token"]) == found["call"]
    assert SECRET_SHAPE.fullmatch(found["secret"])
    assert re.fullmatch(r"[A-Za-z0-9_-]{32}", found["ticket"])


def test_each_names_its_worker(worker: int) -> None:
    found = made()
    require_shapes(found)
    assert {kind: worker_of(text) for kind, text in found.items()} == dict.fromkeys(found, worker)


def test_no_two_are_the_same(worker: int) -> None:
    assert len({text for _ in range(100) for text in made().values()}) == 400


def test_without_workers_the_shapes_are_the_same() -> None:
    require_shapes(made())
    assert len({new_call_id()[4:8] for _ in range(40)}) > 20, "the first digits are random, too"


@pytest.mark.parametrize("text", ["", "rtc_", "rtc_12", "xyz_1234", "ek_zzzz"])
def test_what_holds_no_number_names_no_worker(text: str) -> None:
    assert worker_of(text) == 0


@pytest.mark.parametrize("number", [-1, 0x10000])
def test_a_number_that_does_not_fit_is_refused(number: int) -> None:
    with pytest.raises(ValueError, match="expected a number from 1 to 65535"):
        ThisWorker.become(number)
