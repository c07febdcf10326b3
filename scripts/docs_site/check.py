"""A check of the built site: each link within it leads to a page and to an anchor that is there, and no page loads anything from
another host."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "video": "src"}
NOT_LOADED = {"canonical", "alternate", "next", "prev", "me", "edit"}
"""Kinds of `<link>` that a browser does not fetch."""


@dataclass
class Page(HTMLParser):
    """What the check needs of a page."""

    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes the element's anchor, link and source."""
        values = {name: value or "" for name, value in attrs}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag in LOADED and LOADED[tag] in values and not NOT_LOADED & set(values.get("rel", "").split()):
            self.loaded.append(values[LOADED[tag]])


def read(site: Path) -> dict[str, Page]:
    """Every page of a built site, by its path there."""
    pages: dict[str, Page] = {}
    for file in sorted(site.rglob("*.html")):
        page = Page()
        page.feed(file.read_text(encoding="utf-8"))
        pages[file.relative_to(site).as_posix()] = page
    return pages


def mistakes(site: Path) -> list[str]:
    """One line for each link that leads nowhere, and for each thing that is loaded from elsewhere."""
    pages = read(site)
    found: list[str] = []
    for name, page in pages.items():
        found.extend(f"{name}: loads {target}" for target in page.loaded if urlsplit(target).netloc)
        for target in [*page.links, *page.loaded]:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            path = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(parts.path) or posixpath.basename(name)))
            path = path.lstrip("/")
            path = posixpath.join(path, "index.html") if (site / path).is_dir() else path
            if not (site / path).exists():
                found.append(f"{name}: {target} leads nowhere")
            elif parts.fragment and path in pages and unquote(parts.fragment) not in pages[path].anchors:
                found.append(f"{name}: {target} leads to no heading")
    return found
