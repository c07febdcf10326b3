"""The tutorials, followed to the letter: their files, their commands, what is to be seen. That of vLLM is in tests/vllm."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.blocks import ROOT
from tests.real.models import fetched
from tests.tutorials import reader

PAGES = {page.stem for page in (ROOT / "docs" / "tutorials").glob("*.md")} - {"index", "vllm"}


@pytest.fixture(scope="module", autouse=True)
def starter() -> None:
    fetched("--profile", "starter")


@pytest.mark.parametrize("name", sorted(PAGES))
def test_who_follows_the_page_sees_what_it_says(name: str, tmp_path: Path) -> None:
    with reader(tmp_path) as follows:
        follows.follow(ROOT / "docs" / "tutorials" / f"{name}.md")
