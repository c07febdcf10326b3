"""docs/figures.md shows the newest results."""

from __future__ import annotations

from bench.figures_page import PAGE, choice, committed, page


def test_the_page_of_figures_is_made_of_the_newest_results() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(choice(), committed()), "run: make figures"


def test_every_missed_target_stands_on_the_page() -> None:
    missed = sum(not row.ok for result in committed().values() for row in result.rows)
    assert PAGE.read_text(encoding="utf-8").count("**missed** |") == missed
