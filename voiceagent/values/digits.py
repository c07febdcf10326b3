"""Values of digits: `digits`, `phone`, `card`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import phonenumbers
from typing_extensions import override

from voiceagent.values.card_numbers import is_card
from voiceagent.values.kind import Frame, HeardValue
from voiceagent.values.languages import dictation
from voiceagent.values.repairs import corrected, opened, put_in, repaired, replaced_end, text_of
from voiceagent.values.spoken import Item, Token, items_of, questions, tokens_of

MOST_DIGITS = 32
SHORTEST_PHONE, LONGEST_PHONE = 7, 15
"""ITU-T E.164 allows 15 digits."""
MORE = ("1", "12", "123")
"""Digits that may follow: some countries have numbers of several lengths."""
LONGEST_GROUP = 5
"""A longer group of a telephone number is read back in several."""
LONGEST_CARD = 19
_HUNDREDS = re.compile(r"[1-9]00")


@dataclass(frozen=True, slots=True)
class Digits:
    """Digits: option `digits`, or `least` and `most`."""

    name: str = "digits"

    def least(self, frame: Frame) -> int:
        """The fewest digits of the value."""
        return frame.number("length", "digits", "least", default=1)

    def most(self, frame: Frame) -> int:
        """The most."""
        return frame.number("length", "digits", "most", default=MOST_DIGITS)

    def canonical(self, digits: str, frame: Frame) -> str | None:
        """The value that the digits are; None if they are not whole or not valid."""
        return digits if self.least(frame) <= len(digits) <= self.most(frame) else None

    def bare(self, value: str, frame: Frame) -> str:
        """The digits of a value or a part of one, as people say them."""
        return value

    def too_long(self, digits: str, frame: Frame) -> bool:
        """True if nothing that follows makes them valid."""
        return len(digits) > self.most(frame)

    def may_grow(self, digits: str, frame: Frame) -> bool:
        """True if the value may be the beginning of a longer one."""
        return any(self.canonical(digits + more, frame) is not None for more in MORE)

    def hear(self, said: str, so_far: str, frame: Frame) -> HeardValue:
        """The digits that were said."""
        own = dictation(frame.language)
        speech = opened(tokens_of(said), own)
        items = _only_digits(items_of(speech.tokens, frame.language), plus=self.name == "phone")
        before = "" if speech.restarts else self.bare(so_far, frame)

        def read(tokens: Sequence[Token]) -> str:
            return text_of(_only_digits(items_of(tokens, frame.language), plus=False))

        def fits(digits: str) -> bool:
            return self.canonical(digits, frame) is not None

        if before and (changed := corrected(before, speech.tokens, own, read)):
            return self._heard(changed, frame, doubtful=False)
        digits = repaired(items, speech.tokens, own, fits)
        if not fits(digits) and fits(flat := repaired(_flat(items), speech.tokens, own, fits)):
            digits = flat
        if not fits(digits):  # other numbers may stand beside it
            digits = max((text_of(row) for row in _rows(items) if fits(text_of(row))), key=len, default=digits)
        if not digits or not self._is_about(said, digits, items, speech.tokens, frame):
            return HeardValue(about_it=speech.restarts)
        if not before or (fits(digits) and (speech.negated or fits(before) or not fits(before + digits))):
            return self._heard(digits, frame, doubtful=False)
        if speech.negated or fits(before):
            changed = put_in(before, digits) or (
                replaced_end(before, digits, len(before), fits) if speech.negated and not fits(before) else None
            )
            if changed is None and not speech.negated and fits(before + digits):  # a number that may be longer
                changed = before + digits
            return HeardValue(about_it=True) if changed is None else self._heard(changed, frame, doubtful=True)
        return self._heard(before + digits, frame, doubtful=False)

    def _heard(self, digits: str, frame: Frame, *, doubtful: bool) -> HeardValue:
        value = self.canonical(digits, frame)
        if value is None and self.too_long(digits, frame):
            return HeardValue(about_it=True)
        growing = value is not None and self.may_grow(digits, frame)
        return HeardValue(value, "" if value is not None else digits, about_it=True, doubtful=doubtful, growing=growing)

    def _is_about(self, said: str, digits: str, items: Sequence[Item], tokens: Sequence[Token], frame: Frame) -> bool:
        """Most of the words are digits or words that go with them, or the whole value is there."""
        if self.canonical(digits, frame) is not None and len(digits) > 3:
            return True
        own = dictation(frame.language)
        others = [tokens[one.at].word for one in items if one.kind == "word" and tokens[one.at].word not in own.beside]
        return not questions(said, frame.language) and len(others) <= (1 if len(digits) > 2 else 0)

    def confirm(self, value: str, frame: Frame) -> str:
        """Digit by digit, in groups of three or four."""
        return ", ".join(" ".join(group) for group in grouped(value))

    def hint(self, frame: Frame) -> str:
        """Such answers."""
        return dictation(frame.language).hints.get(self.name, "")

    def schema(self) -> dict[str, object]:
        """Digits alone."""
        return {"type": "string", "pattern": "^[0-9]+$"}


def _rows(items: Sequence[Item]) -> list[list[Item]]:
    """The digits between words."""
    rows: list[list[Item]] = [[]]
    for one in items:
        if one.kind == "word":
            rows.append([])
        else:
            rows[-1].append(one)
    return rows


def _flat(items: Sequence[Item]) -> list[Item]:
    """The digits, each hundred before a number below it as its first digit: recognisers write "two one two" as "200 12"."""
    flat = list(items)
    for at, (one, after) in enumerate(pairwise(items)):
        if _HUNDREDS.fullmatch(one.text) and len(after.text) == 2 and after.text.isdecimal():
            flat[at] = replace(one, text=one.text[0])
    return flat


def _only_digits(items: Sequence[Item], *, plus: bool) -> list[Item]:
    return [one for one in items if one.kind != "sign" or plus]


def grouped(digits: str) -> list[str]:
    """Groups of three, the last ones of two or four, so that none is of one."""
    size = 3 if len(digits) % 3 == 0 or len(digits) % 4 else 4
    cuts = [digits[at : at + size] for at in range(0, len(digits), size)]
    if len(cuts) > 1 and len(cuts[-1]) == 1:
        cuts[-2:] = [cuts[-2] + cuts[-1]]
    return cuts


@dataclass(frozen=True, slots=True)
class Phone(Digits):
    """A telephone number in E.164, of the region if no country was said (`region`)."""

    name: str = "phone"

    @override
    def least(self, frame: Frame) -> int:
        return SHORTEST_PHONE

    @override
    def most(self, frame: Frame) -> int:
        return LONGEST_PHONE

    @override
    def canonical(self, digits: str, frame: Frame) -> str | None:
        number = _parsed(digits, _region(frame))
        if number is None or not phonenumbers.is_valid_number(number):
            return None
        return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)

    @override
    def bare(self, value: str, frame: Frame) -> str:
        number = _parsed(value, _region(frame)) if value.startswith("+") else None
        if number is None or phonenumbers.region_code_for_number(number) != _region(frame):
            return value
        national = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.NATIONAL)
        return "".join(char for char in national if char.isdigit())

    @override
    def too_long(self, digits: str, frame: Frame) -> bool:
        number = _parsed(digits, _region(frame))
        if number is None:
            return len(digits) > LONGEST_PHONE
        return phonenumbers.is_possible_number_with_reason(number) == phonenumbers.ValidationResult.TOO_LONG

    @override
    def confirm(self, value: str, frame: Frame) -> str:
        """Digit by digit, in the groups of the number's country."""
        number = _parsed(value, _region(frame))
        if number is None:
            return Digits.confirm(self, value, frame)
        own = phonenumbers.region_code_for_number(number) == _region(frame)
        form = phonenumbers.PhoneNumberFormat.NATIONAL if own else phonenumbers.PhoneNumberFormat.INTERNATIONAL
        groups = re.findall(r"\d+", phonenumbers.format_number(number, form))
        parts = [" ".join(part) for group in groups for part in (grouped(group) if len(group) > LONGEST_GROUP else [group])]
        plus = "" if own else f"{dictation(frame.language).spoken.get('+', 'plus')} "
        return plus + ", ".join(parts)

    @override
    def schema(self) -> dict[str, object]:
        return {"type": "string", "pattern": r"^\+[1-9][0-9]{6,14}$"}


@dataclass(frozen=True, slots=True)
class CardDigits(Digits):
    """The digits of a payment card."""

    name: str = "card"

    @override
    def most(self, frame: Frame) -> int:
        return LONGEST_CARD

    @override
    def canonical(self, digits: str, frame: Frame) -> str | None:
        return digits if is_card(digits) else None


def digits_of(said: str, code: str) -> str:
    """The longest row of digits in some words."""
    rows = _rows(_only_digits(items_of(tokens_of(said), code), plus=False))
    return max((text_of(row) for row in rows), key=len, default="")


def _region(frame: Frame) -> str:
    return (frame.region or frame.text("region") or dictation(frame.language).region).upper()


def _parsed(digits: str, region: str) -> phonenumbers.PhoneNumber | None:
    try:
        return phonenumbers.parse(digits, region)
    except phonenumbers.NumberParseException:
        return None
