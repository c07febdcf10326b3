"""Values of digits: telephone numbers, and numbers of a known length. Pure."""

from __future__ import annotations

from voiceagent.values.kind import ELSEWHERE, UNCLEAR, Frame, HeardValue
from voiceagent.values.spoken_digits import are_all_digits, digit_runs, spaced

SHORTEST_PHONE, LONGEST_PHONE = 7, 15
"""ITU-T E.164 allows 15 digits."""
SHORTEST_PART = 2
"""A single digit among words is more often a count than a part of a number."""


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
