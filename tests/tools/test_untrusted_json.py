"""JSON from outside: its nesting is bounded before it is parsed, at every edge."""

from __future__ import annotations

import contextlib
import gc
import json
import re
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.untrusted_json import MAX_LEVELS, NestingError, read_json, read_loose_json, read_struct

PACKAGE = Path(__file__).resolve().parents[2] / "voiceagent"
OWN = {
    "server/access/client_secrets.py": "a session that this process wrote",
    "server/access/key_file.py": "files that only the operator may write",
    "realtime/openai_realtime.py": "a form of texts only, which stops at the first bracket",
}
"""The files at an edge that parse JSON themselves, and what it is."""


def lists(levels: int) -> str:
    return "[" * levels + "]" * levels


@pytest.mark.parametrize("read", [read_json, read_loose_json])
@pytest.mark.parametrize("as_bytes", [False, True])
def test_as_many_levels_as_may_be_are_read_and_no_more(read: Callable[[str | bytes], object], as_bytes: bool) -> None:
    for text, is_deep in (
        (lists(MAX_LEVELS), False),
        (lists(MAX_LEVELS + 1), True),
        ('{"a":' * MAX_LEVELS + "1" + "}" * MAX_LEVELS, False),
        ('{"a":[' * MAX_LEVELS, True),
        (f"[{','.join([lists(MAX_LEVELS - 1)] * 200)}]", False),
        (json.dumps({"said": '[{"\\' * 500}), False),
        (json.dumps([["\\"], '"' + "[" * 500]), False),
        (f'["\\\\", {lists(MAX_LEVELS)}]', True),
        ("[" * 100_000, True),
    ):
        data = text.encode() if as_bytes else text
        if is_deep:
            with pytest.raises(NestingError, match="nests deeper than 64 levels"):
                read(data)
        else:
            assert read(data) == json.loads(text)


@given(st.text('[]{}"\\,:a1 ', max_size=400))
def test_what_passes_is_read_as_python_reads_it(text: str) -> None:
    assert outcome(read_loose_json, text) == outcome(json.loads, text)


def outcome(read: Callable[[Any], object], text: str | bytes) -> object:
    try:
        return read(text)
    except NestingError:
        raise
    except ValueError:
        return ValueError


@pytest.mark.parametrize("data", ["", "{", b"\xff", '"\ud83d"', "9" * 5000, '{"a": 1}x'])
def test_what_is_no_json_is_a_value_error(data: str | bytes) -> None:
    for read in (read_json, lambda data: read_struct(data, dict)):
        assert outcome(read, data) is ValueError


class Cycle:
    """Garbage that only the collector finds, with a finalizer."""

    def __init__(self) -> None:
        self.me = self
        weakref.finalize(self, lambda: None)


def failed_finalizers(read: Callable[[str], object], text: str) -> list[object]:
    """The finalizers that fail where the collector runs at some depth of the reader."""
    failed: list[object] = []
    before, threshold, hook = gc.isenabled(), gc.get_threshold(), sys.unraisablehook
    sys.unraisablehook = failed.append
    try:
        for allocations in range(300, 1000):
            gc.disable()
            gc.collect(0)
            gc.set_threshold(allocations)
            Cycle()
            gc.enable()
            with contextlib.suppress(ValueError, RecursionError):
                read(text)
    finally:
        sys.unraisablehook = hook
        gc.set_threshold(*threshold)
        (gc.enable if before else gc.disable)()
    return failed


@pytest.mark.parametrize("text", ["[" * 20_000, '{"a":[' * 20_000])
def test_no_finalizer_runs_at_the_limit_of_recursion(text: str) -> None:
    assert failed_finalizers(json.loads, text), "a parser alone lets some fail"
    assert not failed_finalizers(read_loose_json, text)


@pytest.mark.parametrize("room", ["server", "realtime", "telephone", "tools", "client", "media", "llm/servers"])
def test_every_edge_reads_json_with_the_bounded_reader(room: str) -> None:
    parses = re.compile(r"json\.loads?\(|json\.decode\(|\.json\(\)")
    found = {
        str(path.relative_to(PACKAGE))
        for path in (PACKAGE / room).rglob("*.py")
        if parses.search(path.read_text(encoding="utf-8"))
    }
    assert found <= OWN.keys(), "use voiceagent/untrusted_json.py"
