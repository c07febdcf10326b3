"""docs/figures.md shows the newest results, and README has a few of its figures."""

from __future__ import annotations

import re
from pathlib import Path

from bench.figures_page import PAGE, choice, committed, page

README = Path(__file__).resolve().parents[2] / "README.md"
MOST_IN_README = 16
"""A dozen figures, some of them beside a peer's."""


def test_the_page_of_figures_is_made_of_the_newest_results() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(choice(), committed()), "run: make figures"


def test_every_missed_target_stands_on_the_page() -> None:
    missed = sum(not row.ok for result in committed().values() for row in result.rows)
    assert PAGE.read_text(encoding="utf-8").count("**missed** |") == missed


def test_the_few_figures_of_the_readme_stand_on_the_page() -> None:
    told = re.findall(r"(\d[\d,.]*) (ms|%|×)", README.read_text(encoding="utf-8"))
    figures = [f"| {value.replace(',', '')} {unit} |" for value, unit in told]
    assert 8 <= len(figures) <= MOST_IN_README
    page_text = PAGE.read_text(encoding="utf-8")
    assert not [figure for figure in figures if figure not in page_text]
