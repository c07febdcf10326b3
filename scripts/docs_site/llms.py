"""llms.txt, as llmstxt.org describes it: the site's pages for programs that read text, each as the Markdown that it was built
from, and the reference as the text of its pages. llms-full.txt holds them all."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from scripts.docs_site.markdown import first_sentence, title_of
from scripts.docs_site.settings import sections

BLOCKS = {"p", "li", "pre", "tr", "div", "h2", "h3", "h4", "h5"}
UNSEEN = {"h1", "nav", "script", "style", "svg", "button"}


def index(project: dict[str, Any], texts: dict[str, str]) -> str:
    """The text of llms.txt; `texts` are the pages, by path."""
    parts = [f"# {project['site_name']}\n\n> {project['site_description']}\n"]
    for title, pages in sections(project["nav"]):
        lines = [f"- [{title_of(texts[page]) or page}]({page}): {first_sentence(texts[page])}" for page in pages]
        parts.append(f"## {title}\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def whole(project: dict[str, Any], texts: dict[str, str]) -> str:
    """The text of llms-full.txt: every page, below its path."""
    pages = [page for _, found in sections(project["nav"]) for page in found]
    texts_of_pages = "\n\n".join(f"<!-- {page} -->\n\n{texts[page].strip()}" for page in pages)
    return f"# {project['site_name']}: all pages\n\n{texts_of_pages}\n"


@dataclass
class _Text(HTMLParser):
    """The text of a page's article, a line a block, headings marked."""

    lines: list[str] = field(default_factory=list)
    inside: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "article" or tag in UNSEEN or (tag == "a" and ("class", "headerlink") in attrs):
            self.inside.append(tag)
        if tag in BLOCKS:
            self.lines.append("#" * int(tag[1]) + " " if tag[0] == "h" else "")

    def handle_endtag(self, tag: str) -> None:
        if self.inside and self.inside[-1] == tag:
            self.inside.pop()

    def handle_data(self, data: str) -> None:
        if self.inside == ["article"] and self.lines:
            self.lines[-1] += data


def text_of(html: str) -> str:
    """The text of a built page, without its title."""
    text = _Text()
    text.feed(html)
    return "\n".join(" ".join(line.split()) for line in text.lines if line.strip(" #\n")) + "\n"
