"""Marks inside a line: links, citations, tags of HTML, addresses, formulas. Each is looked for at the beginning of a text; None
means that more text is needed to know. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

LONGEST_TARGET = 2000
LONGEST_TAG = 300
LONGEST_ADDRESS = 600
LONGEST_SAID = 40
"""The most characters of a web address that are read out; of a longer one only the site is said."""
_CITATION = re.compile(r"\[(?:\^[^\]\s]{1,30}|\d{1,3}(?:\s?[,–-]\s?\d{1,3}){0,8})\]")
_PART_OF_CITATION = re.compile(r"\[(?:\^[^\]\s]{0,30}|[\d\s,–-]{0,40})")
_TAG = re.compile(r"</?([A-Za-z][\w:-]*)(?:\s+[\w:-]+\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s>]+)|\s+hidden|\s+disabled)*\s*/?>")
_BREAKS = frozenset(("br", "p", "li", "ul", "ol", "tr", "hr", "div", "table", "summary", "h1", "h2", "h3", "h4", "blockquote"))
_CELLS = frozenset({"td", "th"})
_SITE = re.compile(r"((?:https?://)?[^/?#\s]+)[^\s]*", re.IGNORECASE)
_MONEY = re.compile(r"\$\d")
_FORMULA = re.compile(r"[\d.,]+|.*[A-Za-z^\\].*")
_RAISED = re.compile(r"<sup>(\d{1,3})</sup>", re.IGNORECASE)
_STRUCK = re.compile(r"~~[^~\n]{0,200}~~")
_PART_OF_STRUCK = re.compile(r"~~[^~\n]{0,200}~?")


@dataclass(frozen=True, slots=True)
class Found:
    """A construct, and how many characters it takes; 0: nothing of its kind is here."""

    length: int
    text: str = ""
    """The words for it."""
    breaks: bool = False
    """It ends the line."""
    item: bool = False
    """It begins a list's item."""
    comma: bool = False


def bracketed(text: str, opener: str, closer: str, final: bool) -> int | None:
    """The length of the bracket group that `text` begins with, including inner ones; for a group that never ends, the opener
    alone."""
    depth = 0
    for index, character in enumerate(text[:LONGEST_TARGET]):
        depth += (character == opener) - (character == closer)
        if not depth:
            return index + 1
    return 1 if final or len(text) >= LONGEST_TARGET else None


def citation(text: str, final: bool) -> Found | None:
    """`[^1]`, `[2]`, `[3, 4]`, with the link that may follow."""
    if not final and _PART_OF_CITATION.fullmatch(text):
        return None
    match = _CITATION.match(text)
    if match is None:
        return Found(0)
    target = link_target(text[match.end() - 1 :], final)
    return None if target is None else Found(match.end() - 1 + target.length)


def link_target(text: str, final: bool) -> Found | None:
    """`](…)` or `][…]` after a link's words, or the bracket alone."""
    if len(text) == 1:
        return Found(1) if final else None
    if text[1] not in "([":
        return Found(1)
    line, newline, _ = text.partition("\n")
    closer = ")" if text[1] == "(" else "]"
    length = bracketed(line[1:], text[1], closer, final or bool(newline))
    if length is None:
        return None
    return Found(1 + length) if length > 1 else Found(1)


def raised(text: str, final: bool) -> Found | None:
    """A number set high: its digits."""
    if not final and (
        (len(text) < 5 and "<sup>".startswith(text.lower())) or re.fullmatch(r"<sup>\d{0,3}(<[/sup]{0,4})?", text.lower())
    ):
        return None
    match = _RAISED.match(text)
    return Found(match.end(), match[1]) if match else Found(0)


def struck(text: str, final: bool) -> Found | None:
    """Crossed-out text: nothing of it is said."""
    if not final and _PART_OF_STRUCK.fullmatch(text):
        return None
    match = _STRUCK.match(text)
    return Found(match.end() if match else 0)


def angle(text: str, final: bool) -> Found | None:
    """A tag, a comment, a control token, an address or a placeholder between `<` and `>`; else the sign itself."""
    if len(text) == 1 and not final:
        return None
    following = text[1:2]
    if following == "!":
        end = text.find("-->")
        if end < 0 and not final and len(text) < LONGEST_TARGET and "<!--".startswith(text[:4]):
            return None
        return Found(end + 3) if text.startswith("<!--") and end > 0 else Found(1, "<")
    if not (following.isalpha() or following in ("/", "|")):
        return Found(1, "<")
    end = text.find(">")
    inner = text[1 : end if end > 0 else None]
    if "<" in inner or "\n" in inner or len(inner) > LONGEST_TAG or (end < 0 and final):
        return Found(1, "<")
    if end < 0:
        return None
    return _between_angles(text[: end + 1], inner)


def _between_angles(whole: str, inner: str) -> Found:
    if inner.startswith("|"):
        return Found(len(whole))
    if "@" in inner or "://" in inner:
        return Found(len(whole), shortened(inner.removeprefix("mailto:"))) if " " not in inner else Found(1, "<")
    tag = _TAG.fullmatch(whole)
    if tag is None:
        return Found(len(whole), inner) if re.fullmatch(r"[\w' -]+", inner) else Found(1, "<")
    name = tag[1].lower()
    return Found(len(whole), breaks=name in _BREAKS, item=name == "li", comma=name in _CELLS)


def address(text: str, final: bool) -> Found | None:
    """A web address, or one behind `mailto:`, as it is said, without the punctuation after it."""
    match = re.match(r"[^\s<>|\"`“”\]]{0,600}", text)
    written = match.group() if match else ""
    if len(written) == len(text) and not final and len(text) < LONGEST_ADDRESS:
        return None
    while written and (written[-1] in ".,;:!?*_~'\"}" or (written[-1] == ")" and written.count("(") < written.count(")"))):
        written = written[:-1]
    if written.lower().startswith("mailto:"):
        return Found(len(written), written[7:] or written)
    return Found(len(written), shortened(written))


def shortened(written: str) -> str:
    """A web address; one that is long, or has more than a path, is shortened to its site."""
    if "@" in written.partition("/")[0] or (len(written) <= LONGEST_SAID and not re.search(r"[?#%=&]", written)):
        return written
    site = _SITE.match(written)
    return site[1] if site else written


def span(text: str, final: bool, most: int) -> Found | None:
    """The formula of `$…$`; length 0 where that is money."""
    money = bool(_MONEY.match(text))
    for index in range(1, min(len(text), most)):
        character = text[index]
        if character == "\n" or (money and character.isspace()):
            return Found(0)
        if character == "$":
            if index + 1 == len(text) and not final:
                return None
            inner, following = text[1:index], text[index + 1 : index + 2]
            formula = not following.isdigit() and not inner.startswith(" ") and not inner.endswith(" ")
            return Found(index + 1, inner) if formula and (not money or _FORMULA.fullmatch(inner)) else Found(0)
    return Found(0) if final or len(text) >= most else None
