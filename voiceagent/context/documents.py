"""Documents to pieces of text. Markdown, plain text and HTML are cut at the borders of headings and paragraphs into pieces of
about 120 words, so that a few of them fit into a prompt and each can be understood alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser

SUFFIXES = (".md", ".markdown", ".txt", ".html", ".htm")
PIECE_WORDS = 120
MIN_PIECE_WORDS = 30
"""A piece with fewer words takes in the next paragraph, even if that makes it too long."""
MAX_TITLE_CHARACTERS = 120

_HEADING = re.compile(r"#{1,6}\s+(.+?)\s*#*\s*")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_BLOCK_TAGS = """
address article aside blockquote br dd div dl dt figcaption footer form header hr li main nav ol p pre section table td th tr ul
"""
_BLOCKS = frozenset(_BLOCK_TAGS.split())
_HEADINGS = frozenset(("title", "h1", "h2", "h3", "h4", "h5", "h6"))
_UNREADABLE = frozenset(("script", "style", "template", "noscript", "svg"))


@dataclass(frozen=True, slots=True)
class DocumentPiece:
    """A part of a document."""

    title: str
    """The heading that it stands under; empty where there is none."""
    text: str


Paragraph = tuple[str, str]
"""The heading above, and the text."""


def pieces(text: str, suffix: str) -> list[DocumentPiece]:
    """A document's pieces; `suffix` is the suffix of its file, in lower case."""
    paragraphs = _html(text) if suffix in (".html", ".htm") else _markdown(text) if suffix != ".txt" else _plain(text)
    return list(_joined(part for title, text in paragraphs for part in _short(title, text)))


def _plain(text: str) -> Iterator[Paragraph]:
    for paragraph in re.split(r"\n\s*\n", text):
        yield "", paragraph


def _markdown(text: str) -> Iterator[Paragraph]:
    title, lines, fenced = "", list[str](), False
    for line in [*text.splitlines(), ""]:
        fenced ^= line.lstrip().startswith("```")
        heading = None if fenced else _HEADING.fullmatch(line)
        if line.strip() and heading is None:
            lines.append(line)
            continue
        if lines:
            yield title, "\n".join(lines)
            lines = []
        if heading is not None:
            title = heading[1][:MAX_TITLE_CHARACTERS]
    if lines:
        yield title, "\n".join(lines)


def _html(text: str) -> Iterator[Paragraph]:
    reader = _Html()
    reader.feed(text)
    reader.close()
    reader.end_block()
    return iter(reader.paragraphs)


class _Html(HTMLParser):
    """Collects the paragraphs of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.paragraphs: list[Paragraph] = []
        self._title = ""
        self._in_heading = False
        self._unreadable = 0
        self._text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _UNREADABLE:
            self._unreadable += 1
        elif tag in _BLOCKS or tag in _HEADINGS:
            self.end_block()
            self._in_heading = tag in _HEADINGS

    def handle_endtag(self, tag: str) -> None:
        if tag in _UNREADABLE:
            self._unreadable = max(0, self._unreadable - 1)
        elif tag in _BLOCKS or tag in _HEADINGS:
            self.end_block()

    def handle_data(self, data: str) -> None:
        if not self._unreadable:
            self._text.append(data)

    def end_block(self) -> None:
        """The collected text is a heading or a paragraph."""
        text = " ".join("".join(self._text).split())
        self._text = []
        if text and self._in_heading:
            self._title = text[:MAX_TITLE_CHARACTERS]
        elif text:
            self.paragraphs.append((self._title, text))
        self._in_heading = False


def _short(title: str, text: str) -> Iterator[Paragraph]:
    """A paragraph in parts that are not too long. It is cut at the ends of sentences, or between words where it must be."""
    words = list[str]()
    for sentence in _SENTENCE.split(text):
        more = sentence.split()
        if words and len(words) + len(more) > PIECE_WORDS:
            yield title, " ".join(words)
            words = []
        words += more
        while len(words) > PIECE_WORDS:
            yield title, " ".join(words[:PIECE_WORDS])
            words = words[PIECE_WORDS:]
    if words:
        yield title, " ".join(words)


def _joined(paragraphs: Iterator[Paragraph]) -> Iterator[DocumentPiece]:
    """Joins short neighbours under one heading."""
    title, parts, count = "", list[str](), 0
    for heading, text in paragraphs:
        words = len(text.split())
        if parts and (heading != title or (count + words > PIECE_WORDS and count >= MIN_PIECE_WORDS)):
            yield DocumentPiece(title, "\n".join(parts))
            parts, count = [], 0
        title = heading
        parts.append(text)
        count += words
    if parts:
        yield DocumentPiece(title, "\n".join(parts))
