"""Values of digits: telephone numbers, numbers of a known length, amounts of money. Pure."""

from __future__ import annotations

import re

from voiceagent.values.kind import ELSEWHERE, UNCLEAR, Frame, HeardValue
from voiceagent.values.spoken_digits import are_all_digits, digit_runs, number_tokens, spaced

SHORTEST_PHONE, LONGEST_PHONE = 7, 15
"""ITU-T E.164 allows 15 digits."""
SHORTEST_PART = 2
"""A single digit among words is more often a count than a part of a number."""
LONGEST_AMOUNT = 2
"""Most numbers of an amount: "twelve fifty"."""
_AMOUNT = re.compile(r"(\d{1,3}(?:[.,' ]\d{3})+|\d+)(?:[.,](\d{2}))?(?!\d)")
_SIGNS = {"EUR": "€", "USD": "$", "GBP": "£", "CHF": "CHF"}


class PhoneKind:
    """A telephone number, as it was said: digits, with a plus before them if that was said."""

    name = "phone"

    def hear(self, said: str, so_far: str, frame: Frame) -> HeardValue:
        """See `Kind`."""
        run = max(digit_runs(said, frame.words), key=len, default="")
        count = len(run.lstrip("+"))
        known = "" if len(so_far.lstrip("+")) >= SHORTEST_PHONE else so_far
        if not known and count < SHORTEST_PART:
            return UNCLEAR if run and so_far else ELSEWHERE
        whole = run if count >= SHORTEST_PHONE or run.startswith("+") else known + run
        length = len(whole.lstrip("+"))
        if length > LONGEST_PHONE or (so_far and not known and length < SHORTEST_PHONE):
            return UNCLEAR
        if not run:
            return ELSEWHERE
        return HeardValue(whole, about_it=True) if length >= SHORTEST_PHONE else HeardValue(partial=whole, about_it=True)

    def confirm(self, value: str, frame: Frame) -> str:
        """See `Kind`."""
        return spaced(value)

    def hint(self, frame: Frame) -> str:
        """See `Kind`."""
        return "030 1234567. +49 171 2345678."

    def schema(self) -> dict[str, object]:
        """See `Kind`."""
        return {"type": "string", "pattern": r"^\+?[0-9]{7,15}$"}


class DigitsKind:
    """A number whose digits count, such as an order's. `options.length` is how many there are."""

    name = "digits"

    def hear(self, said: str, so_far: str, frame: Frame) -> HeardValue:
        """See `Kind`."""
        length = frame.options.get("length")
        most = length if isinstance(length, int) else 0
        run = max((run.lstrip("+") for run in digit_runs(said, frame.words)), key=len, default="")
        if not run or (len(run) < SHORTEST_PART and not are_all_digits(said, frame.words)):
            return ELSEWHERE
        if not most:
            return HeardValue(run, about_it=True, doubtful=True)
        whole = run if len(run) >= most or len(so_far) >= most else so_far + run
        if len(whole) == most:
            return HeardValue(whole, about_it=True)
        return HeardValue(partial=whole, about_it=True) if len(whole) < most and len(so_far) < most else UNCLEAR

    def confirm(self, value: str, frame: Frame) -> str:
        """See `Kind`."""
        return spaced(value)

    def hint(self, frame: Frame) -> str:
        """See `Kind`."""
        return "4 7 1 0 2. 38 15."

    def schema(self) -> dict[str, object]:
        """See `Kind`."""
        return {"type": "string", "pattern": "^[0-9]{1,32}$"}


class MoneyKind:
    """An amount of money: `12.50`. `options.currency` is its code (ISO 4217)."""

    name = "money"

    def hear(self, said: str, so_far: str, frame: Frame) -> HeardValue:
        """See `Kind`."""
        numeric = _AMOUNT.search(said)
        if numeric is not None:
            whole, cents = re.sub(r"\D", "", numeric[1]), int(numeric[2] or 0)
            return HeardValue(f"{int(whole)}.{cents:02}", about_it=True)
        numbers = [token for token in number_tokens(said, frame.words) if isinstance(token, int)]
        if not numbers or len(numbers) > LONGEST_AMOUNT:
            return UNCLEAR if numbers else ELSEWHERE
        cents = numbers[1] if len(numbers) > 1 else 0
        return HeardValue(f"{numbers[0]}.{cents:02}", about_it=True, doubtful=len(numbers) > 1) if cents < 100 else UNCLEAR

    def confirm(self, value: str, frame: Frame) -> str:
        """See `Kind`."""
        sign = _SIGNS.get(str(frame.options.get("currency")), "")
        amount = value.removesuffix(".00")
        if frame.language == "en":
            return f"{sign}{amount}"
        return f"{amount.replace('.', ',')} {sign}".strip()

    def hint(self, frame: Frame) -> str:
        """See `Kind`."""
        return "12.50. 100."

    def schema(self) -> dict[str, object]:
        """See `Kind`."""
        return {"type": "string", "pattern": r"^[0-9]+\.[0-9]{2}$"}
