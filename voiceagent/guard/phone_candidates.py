"""libphonenumber's search for telephone numbers, one candidate at a time, so that a long text full of digits can be searched with
pauses. It takes the steps of `PhoneNumberMatcher._find` (phonenumbers 9), which itself goes on until it has found a number."""

from __future__ import annotations

from collections.abc import Iterator


def candidates(text: str, region: str) -> Iterator[bool]:
    """For each candidate, in order: whether it is a valid number of the region, or an international one."""
    from phonenumbers import phonenumbermatcher as library  # 70 ms to import: only where telephone numbers are looked for
    from phonenumbers import phonenumberutil

    matcher = library.PhoneNumberMatcher(text, region)
    match = library._PATTERN.search(text)
    while match is not None:
        candidate = matcher._trim_after_first_match(phonenumberutil._SECOND_NUMBER_START_PATTERN, match.group())
        yield matcher._extract_match(candidate, match.start()) is not None
        match = library._PATTERN.search(text, match.start() + len(candidate))
