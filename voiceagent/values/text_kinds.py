"""Values of letters and signs: e-mail addresses and postal addresses. Pure."""

from __future__ import annotations

import re
import unicodedata

from voiceagent.turn_taking.language import word_set
from voiceagent.values.kind import ELSEWHERE, UNCLEAR, Frame, HeardValue
from voiceagent.values.spoken_digits import number_tokens

_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}", re.IGNORECASE)
_PIECES = re.compile(r"[^\W_]+|[@._+-]")
SIGNS = ".@-_+"
HYPHENS = word_set("hyphen dash minus bindestrich strich tiret guion guión trattino streepje hífen traço")
UNDERSCORES = word_set("underscore unterstrich underline sottolineato onderstreepje sublinhado")
MOST_ADDRESS_WORDS = 16
LEAST_ADDRESS_WORDS = 2


class EmailKind:
    """An e-mail address, in small letters."""

    name = "email"

    def hear(self, said: str, so_far: str, frame: Frame) -> HeardValue:
        """See `Kind`."""
        pieces = self._pieces(said, frame)
        known = "" if _EMAIL.fullmatch(so_far) else so_far
        whole = self._address([*_PIECES.findall(known), *pieces])
        if whole is not None:
            return HeardValue(whole, about_it=True)
        if known or "@" in pieces or sum(len(piece) == 1 for piece in pieces) > LEAST_ADDRESS_WORDS:
            partial = known + "".join(_tail(pieces) if not known else pieces)
            return HeardValue(partial=partial, about_it=True) if partial != known else UNCLEAR
        return ELSEWHERE

    @staticmethod
    def _pieces(said: str, frame: Frame) -> list[str]:
        """The words and signs of the address, with the signs in place of their names."""
        language = frame.words
        found: list[str] = []
        for piece in _PIECES.findall(said.casefold()):
            if piece in language.email_signs:
                piece = "@"
            elif piece in language.dots:
                piece = "."
            elif piece in HYPHENS:
                piece = "-"
            elif piece in UNDERSCORES:
                piece = "_"
            elif piece in language.numbers and language.numbers[piece] < 100:
                piece = str(language.numbers[piece])
            found.append(piece)
        while found and found[-1] == ".":
            found.pop()
        return found

    @staticmethod
    def _address(pieces: list[str]) -> str | None:
        if "@" not in pieces:
            return None
        at = pieces.index("@")
        text = f"{''.join(_tail(pieces[:at]))}@{''.join(_head(pieces[at + 1 :]))}"
        text = "".join(letter for letter in unicodedata.normalize("NFKD", text) if letter.isascii())
        found = _EMAIL.fullmatch(text)
        return found.group().lower() if found else None

    def confirm(self, value: str, frame: Frame) -> str:
        """See `Kind`."""
        return value

    def hint(self, frame: Frame) -> str:
        """See `Kind`."""
        return "anna.weber@example.com."

    def schema(self) -> dict[str, object]:
        """See `Kind`."""
        return {"type": "string", "format": "email"}


def _tail(pieces: list[str]) -> list[str]:
    """The pieces at the end that belong together: words joined by signs, and single letters and digits."""
    start = len(pieces) - 1
    while start > 0:
        now, before = pieces[start], pieces[start - 1]
        if now in SIGNS or before in SIGNS or (_is_spelled(now) and _is_spelled(before)) or before.isdigit() or now.isdigit():
            start -= 1
        else:
            break
    return pieces[max(0, start) :]


def _head(pieces: list[str]) -> list[str]:
    """The pieces at the beginning that belong to the host: up to the first word behind a dot that no sign follows."""
    for place, piece in enumerate(pieces):
        is_last = place + 1 == len(pieces) or (pieces[place + 1] not in SIGNS and not _is_spelled(piece))
        if is_last and piece not in SIGNS and "." in pieces[:place]:
            return pieces[: place + 1]
    return pieces


def _is_spelled(piece: str) -> bool:
    return len(piece) == 1 and piece not in SIGNS


class AddressKind:
    """A postal address, in the caller's words."""

    name = "address"

    def hear(self, said: str, so_far: str, frame: Frame) -> HeardValue:
        """See `Kind`."""
        tokens = number_tokens(said, frame.words)
        has_number = any(isinstance(token, int) for token in tokens)
        if "?" in said or not LEAST_ADDRESS_WORDS <= len(tokens) <= MOST_ADDRESS_WORDS or not (has_number or so_far):
            return ELSEWHERE
        return HeardValue(said.strip(" ."), about_it=True, doubtful=True)

    def confirm(self, value: str, frame: Frame) -> str:
        """See `Kind`."""
        return value

    def hint(self, frame: Frame) -> str:
        """See `Kind`."""
        return ""

    def schema(self) -> dict[str, object]:
        """See `Kind`."""
        return {"type": "string", "minLength": 3, "maxLength": 200}
