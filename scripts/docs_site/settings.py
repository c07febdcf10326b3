"""The site's settings: zensical.toml, with the pages of the reference put in."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

from scripts.docs_site.pages import ROOT, public_modules

REFERENCE = '{ "Python modules" = [] }'
PATHS = {'"build/site-pages"': '"site-pages"', '"build/site"': '"site"', 'paths = ["."]': 'paths = [".."]'}
"""Paths of zensical.toml, and what they are as seen from build/, where the settings for the build lie."""
Nav = str | list[Any]
"""A page, or a list of pages, of pages with a title, and of sections."""


def _text() -> str:
    pages = ", ".join(f'"reference/{module}.md"' for module in public_modules())
    text = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    assert REFERENCE in text
    return text.replace(REFERENCE, f'{{ "Python modules" = [{pages}] }}')


def project() -> dict[str, Any]:
    """The settings as data."""
    found: dict[str, Any] = tomllib.loads(_text())["project"]
    return found


def for_build() -> str:
    """The settings as a file of build/."""
    text = _text()
    for path, from_build in PATHS.items():
        assert path in text
        text = text.replace(path, from_build)
    return text


def sections(nav: list[dict[str, Nav]]) -> Iterator[tuple[str, list[str]]]:
    """The sections of the navigation, each with its pages."""
    for entry in nav:
        ((title, value),) = entry.items()
        yield title, list(pages_of(value))


def pages_of(value: Nav) -> Iterator[str]:
    """All pages below an entry."""
    if isinstance(value, str):
        yield value
        return
    for entry in value:
        if isinstance(entry, str):
            yield entry
        else:
            for inner in entry.values():
                yield from pages_of(inner)
