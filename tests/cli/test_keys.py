"""`voiceagent keys`: a key is shown once, and listed by its name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Outcome

Run = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VOICEAGENT_DATA", str(tmp_path))
    return tmp_path


def test_a_key_is_shown_when_it_is_made_and_never_again(voiceagent: Run) -> None:
    made = voiceagent("keys", "add", "kiosk", "--calls", "2", "--minutes-a-day", "60", "--calls-a-minute", "6")
    (key,) = made.out.splitlines()
    assert key.startswith("va_")
    assert made.code == 0
    voiceagent("keys", "add", "me", "--operator")
    listed = voiceagent("keys", "list")
    assert listed.code == 0
    assert "2 at once, 60 min a day, 6 begun a minute" in listed.out
    assert "operator" in listed.out
    assert "never" in listed.out
    found = json.loads(voiceagent("keys", "list", "--json").out)
    assert [(each["name"], each["kind"], each["limits"]["calls"]) for each in found] == [
        ("kiosk", "client", 2),
        ("me", "operator", None),
    ]
    assert key not in listed.out + str(found)
    assert voiceagent("keys", "revoke", "kiosk").code == 0
    assert "kiosk" not in voiceagent("keys", "list").out


def test_mistakes_are_one_line(voiceagent: Run) -> None:
    outcome = voiceagent("keys", "list")
    assert (outcome.code, len(outcome.err.splitlines())) == (2, 1)
    voiceagent("keys", "add", "shop")
    for arguments, told in (
        (("add", "shop"), "there is a key 'shop' already"),
        (("add", "a b"), "is no name of a key"),
        (("revoke", "other"), "there is no key 'other'"),
    ):
        outcome = voiceagent("keys", *arguments)
        assert outcome.code == 1
        assert told in outcome.err
        assert len(outcome.err.splitlines()) == 1


def test_another_file_may_be_named(voiceagent: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOICEAGENT_KEYS_FILE", str(folder / "elsewhere" / "our-keys.json"))
    voiceagent("keys", "add", "shop")
    assert (folder / "elsewhere" / "our-keys.json").exists()
    assert not (folder / "keys.json").exists()
