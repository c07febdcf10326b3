"""docs/api.md: each name that it lists can be imported, and each plugin group that is loaded stands there."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import voiceagent.tools
from voiceagent.engines import OURS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
LISTED = [
    (module, name)
    for module, names in re.findall(r"^\| `(voiceagent\.[\w.]+)` \| ((?:`\w+`(?:, )?)+) \| [^|]+ \|$", PAGE, re.MULTILINE)
    for name in re.findall(r"`(\w+)`", names)
]


@pytest.mark.parametrize(("module", "name"), LISTED)
def test_each_listed_name_can_be_imported(module: str, name: str) -> None:
    assert hasattr(importlib.import_module(module), name)


def test_the_page_lists_many_names_and_all_of_the_tools() -> None:
    assert len(LISTED) > 30
    assert {name for module, name in LISTED if module == "voiceagent.tools"} == set(voiceagent.tools.__all__)


def test_each_plugin_group_that_is_loaded_stands_on_the_page() -> None:
    assert all(f"| `voiceagent.{group}` | `" in PAGE for group in [*OURS, "guard", "context"])


def test_type_checkers_find_the_package_typed() -> None:
    assert (ROOT / "voiceagent" / "py.typed").exists()
