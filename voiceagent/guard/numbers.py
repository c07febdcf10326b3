"""Payment card and telephone numbers. A run of digits is judged when it is complete. While it may still go on, it is held."""

from __future__ import annotations

import re
from collections.abc import Generator
from itertools import islice

from voiceagent.guard.digits import Run, number_words, runs
from voiceagent.guard.phone_candidates import candidates
from voiceagent.guard.steps import Steps, at_once
from voiceagent.guard.verdict import ALLOWED, Verdict

HELD_FROM_DIGITS = 4
MOST_DIGITS = 24
"""A longer run is not held: it is no number that is said."""
SHORTEST_CARD, LONGEST_CARD = 13, 19
PHONE_DIGITS = 7
"""A run of fewer digits does not count as a telephone number."""
_PLUS = re.compile(r"\bplus$", re.IGNORECASE)
_CARD_LENGTHS = (
    (re.compile(r"4"), (13, 16, 19)),
    (re.compile(r"5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720"), (16,)),
    (re.compile(r"3[47]"), (15,)),
    (re.compile(r"3(?:0[0-5]|[68])"), (14,)),
    (re.compile(r"35(?:2[89]|[3-8])"), (16, 17, 18, 19)),
    (re.compile(r"6(?:011|4[4-9]|5|2)"), (16, 17, 18, 19)),
    (re.compile(r"5[06-9]|6[37]"), (16, 18, 19)),
)
"""The lengths of card numbers, by their first digits (ISO/IEC 7812 and the networks' own tables)."""


def luhn(digits: str) -> bool:
    """Whether the check digit is right (ISO/IEC 7812-1, annex B)."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def is_card(digits: str) -> bool:
    """Whether it is a payment card's number."""
    return any(prefix.match(digits) and len(digits) in lengths for prefix, lengths in _CARD_LENGTHS) and luhn(digits)


def _holds_card(run: Run) -> Generator[None, None, bool]:
    """Whether some complete groups of the run are a card number: other numbers may stand right before and after it."""
    for first in range(len(run.groups)):
        yield
        digits = ""
        for group in islice(run.groups, first, first + LONGEST_CARD + 1):
            digits += group
            if len(digits) > LONGEST_CARD:
                break
            if len(digits) >= SHORTEST_CARD and is_card(digits):
                return True
    return False


def _held(text: str, run: Run) -> int:
    return len(text) - run.start if HELD_FROM_DIGITS <= len(run.digits) <= MOST_DIGITS else 0


class CardNumbers:
    """The rule `cards`."""

    def __init__(self, code: str = "en") -> None:
        """`code` is the language in which numbers are said."""
        self._code = code
        number_words(code)  # takes a while the first time

    def find(self, text: str, *, last: bool) -> Verdict:
        """See `Rule.find`."""
        return at_once(self.steps(text, last=last))

    def steps(self, text: str, *, last: bool) -> Steps:
        """See `PausingRule.steps`."""
        for run in (yield from runs(text, self._code)):
            if run.open and not last and (held := _held(text, run)):
                return Verdict(hold=held)
            if (yield from _holds_card(run)):
                return Verdict("cards")
        return ALLOWED


class PhoneNumbers:
    """The rule `phones`: numbers that libphonenumber calls valid, of the region or international."""

    def __init__(self, region: str, code: str = "en") -> None:
        """`code` is the language in which numbers are said."""
        self._region, self._code = region, code
        self.find("+1 650 253 0000", last=True)  # reads the region's patterns, which takes a while the first time

    def find(self, text: str, *, last: bool) -> Verdict:
        """See `Rule.find`."""
        return at_once(self.steps(text, last=last))

    def steps(self, text: str, *, last: bool) -> Steps:
        """See `PausingRule.steps`."""
        found = yield from runs(text, self._code)
        held = _held(text, found[-1]) if found and found[-1].open and not last else 0
        if held:
            text, found = text[: found[-1].start], found[:-1]
        if any(len(run.digits) >= PHONE_DIGITS for run in found):
            written = yield from _in_digits(text, found)
            for is_valid in candidates(written, self._region):
                if is_valid:
                    return Verdict("phones")
                yield
        return Verdict(hold=held)


def _in_digits(text: str, found: list[Run]) -> Generator[None, None, str]:
    """The text with numbers in words written in digits. Numbers that are in digits already keep their punctuation."""
    for run in reversed(found):
        yield
        said = text[run.start : run.end]
        if re.search(r"[A-Za-z]", said):
            before = text[: run.start].rstrip()
            plus = _PLUS.search(before, max(0, len(before) - 5)) if len(before) < run.start else None
            text = text[: plus.end() - 4 if plus else run.start] + ("+" if plus else "") + run.digits + text[run.end :]
    return text
