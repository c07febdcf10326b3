"""Pictures in text: emoji, arrows, boxes, and faces made of punctuation. Nobody says them. Pure."""

from __future__ import annotations

import re

_SIGNS = (
    (0x00A9, 0x00A9),
    (0x00AD, 0x00AE),
    (0x200B, 0x200F),
    (0x20E3, 0x20E3),
    (0x2060, 0x2060),
    (0x2122, 0x2122),
    (0x2300, 0x23FF),
    (0x2500, 0x27BF),
    (0x2B00, 0x2BFF),
    (0x3030, 0x3030),
    (0x303D, 0x303D),
    (0x3297, 0x3299),
    (0xFE00, 0xFE0F),
    (0xFE30, 0xFE37),
    (0xFEFF, 0xFEFF),
    (0x1F000, 0x1FAFF),
    (0xE0020, 0xE007F),
)
"""First and last code points of pictographs and of characters that only shape them (Unicode 16: emoji, dingbats, box drawing,
joiners)."""
_ARROWS = ((0x2190, 0x21FF), (0x2794, 0x27BE), (0x2900, 0x297F), (0x2B00, 0x2B11))
BULLETS = "•◦‣▪▫●○■□▶►➤➢➔✓✔✅☑☐☒·–—"
FLAGS = ("\U0001f1e6", "\U0001f1ff")
"""A flag stands before the name that is said."""
LONGEST_FACE = 16
_FACE = re.compile(
    r"(?:[:;=][-'^]?[)(\]\[dDpPoO3/\\|*><]+|\^[_.-]*\^;*|>[_.]*<|<3+|¯\S{1,8}¯|\\o/|ʕ\S{1,8}ʔ|ಠ\S?ಠ"
    r"|\([^\x00-\x7f\w][^()\s]{0,8}(?:\([^()\s]{0,4}\))?[^()\s]{0,6}\)[^\s\w.,!?]{0,6}\w?"
    r"|\([\^>;*oOTuU~=-][_.~]?[\^<;*oOTuU~=-]\))(?=[.,!?]*(?:\s|$))"
)
_BEGINNING = re.compile(
    r"[:;=^>¯ʕಠ\\]\S*|<3*[.,!?]*|\((?:[\^>;*oOTuU~=-](?:[_.~]?(?:[\^<;*oOTuU~=-](?:\)[.,!?]*)?)?)?|[^\x00-\x7f\w]\S*)?"
)


def is_arrow(character: str) -> bool:
    """True if it points from one word to the next."""
    return any(first <= ord(character) <= last for first, last in _ARROWS)


def is_sign(character: str) -> bool:
    """True if it is a picture, or shapes one."""
    return any(first <= ord(character) <= last for first, last in _SIGNS)


def face(text: str, final: bool) -> int | None:
    """Returns the number of characters of a face at the beginning of `text`, where a word begins; None while more text is needed
    to know."""
    word = re.match(r"\S*", text)
    reach = word.end() if word else 0
    if reach >= LONGEST_FACE:
        return 0
    if reach == len(text) and not final:
        return None if _BEGINNING.fullmatch(text) else 0
    found = _FACE.match(text[: reach + 1])
    return found.end() if found else 0
