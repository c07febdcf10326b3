"""The adapter for NeMo Guardrails: its faults, on a stand-in for the module. What works is shown on the real one by
`make test-nemo` (nemo_rails.py)."""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from voiceagent.errors import ConfigError
from voiceagent.guard.nemo import create
from voiceagent.guard.verdict import GuardError


class _RailType(Enum):
    INPUT = "input"
    OUTPUT = "output"


def stand_in(monkeypatch: pytest.MonkeyPatch, check: Any) -> None:
    """A module of that name whose rails answer as `check` does."""
    flows = SimpleNamespace(flows=["a rail"])
    config = SimpleNamespace(from_path=lambda path: SimpleNamespace(rails=SimpleNamespace(input=flows, output=flows)))
    module: Any = ModuleType("nemoguardrails")
    module.RailsConfig, module.LLMRails = config, lambda config: SimpleNamespace(check_async=check)
    options: Any = ModuleType("nemoguardrails.rails.llm.options")
    options.RailType = _RailType
    monkeypatch.setitem(sys.modules, "nemoguardrails", module)
    monkeypatch.setitem(sys.modules, "nemoguardrails.rails.llm.options", options)


def test_a_missing_package_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "nemoguardrails", None)
    with pytest.raises(ConfigError, match=r"guard nemo: nemoguardrails 0\.24 or newer is needed"):
        create({"config": str(tmp_path)}, ".")


def test_a_missing_folder_and_an_unknown_option_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_in(monkeypatch, None)
    with pytest.raises(ConfigError, match="is no folder"):
        create({"config": "nowhere"}, str(tmp_path))
    with pytest.raises(ConfigError, match="expected config: FOLDER"):
        create({"folder": "rails"}, str(tmp_path))


async def test_a_check_that_breaks_is_a_guard_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def check(messages: Any, rail_types: Any) -> Any:
        raise ConnectionError("no model there")

    stand_in(monkeypatch, check)
    with pytest.raises(GuardError, match="ConnectionError: no model there"):
        await create({"config": "."}, str(tmp_path)).check_input("Hello.")


async def test_what_a_rail_would_rewrite_is_blocked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def check(messages: Any, rail_types: Any) -> Any:
        return SimpleNamespace(status=SimpleNamespace(value="modified"), rail=None)

    stand_in(monkeypatch, check)
    assert (await create({"config": "."}, str(tmp_path)).check_output("", "Hello.", last=True)).rule == "nemo: rewritten"
