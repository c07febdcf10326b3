"""Numbers in the words of a language other than English: cardinals, decimals, ordinals, years, digits, and how they agree with a
noun. Numbers are said by num2words (LGPL-2.1, used as it is). Pure."""

from __future__ import annotations

import functools
import re

from num2words import num2words

from voiceagent.text_normalization.exactly import Speller
from voiceagent.text_normalization.numerals import MOST_DIGITS
from voiceagent.text_normalization.written_language import Names, WrittenLanguage

NUMBER = r"(?:\d{1,3}(?:[. '’]\d{3})+(?:,\d+)?|\d{1,3}(?:,\d{3})+\.\d+|\d{1,3}(?:,\d{3}){2,}|\d+(?:[.,]\d+)?)(?!\d|[.,]\d)"
"""1.234,5 or 1 234,5; as English writes it: 1,234.5."""
_GROUPED = re.compile(
    r"\d{1,3}(?:(?P<sign>[. '’])\d{3})(?:(?P=sign)\d{3})*(?:,\d+)?|\d{1,3}(?:,\d{3})+\.\d+|\d{1,3}(?:,\d{3}){2,}"
)
_FRACTION = re.compile(r"(?P<whole>.*?)(?:(?P<sign>[.,])(?P<fraction>\d+))?")
MILLIONS = re.compile(r".*\b(?:[mb]il|tril)(?:li|l[oó]|[hij])\w+ ?", re.IGNORECASE)
"""Millions and more are nouns: what they count does not change their number."""
Changes = tuple[tuple[str, str], ...]


def changed(words: str, changes: Changes) -> str:
    """The words after the first of the changes that applies."""
    for pattern, instead in changes:
        said = re.sub(pattern, instead, words)
        if said != words:
            return said
    return words


def parts(written: str) -> tuple[str, str, str]:
    """A written number's whole part without its separators, the sign before its fraction, and the fraction."""
    sign = ""
    if _GROUPED.fullmatch(written):
        last = max(written.rfind("."), written.rfind(","))
        marks = {mark for mark in written if not mark.isdigit()}
        sign = written[last] if len(marks) > 1 and last > 0 and written.count(written[last]) == 1 else ""
        whole, _, fraction = written.partition(sign) if sign else (written, "", "")
        return re.sub(r"\D", "", whole), sign, fraction
    match = _FRACTION.fullmatch(written)
    if match is None or not match["sign"]:
        return re.sub(r"\D", "", written), "", ""
    return re.sub(r"\D", "", match["whole"]), match["sign"], match["fraction"]


class SpokenNumbers:
    """The numbers of one language."""

    def __init__(self, language: WrittenLanguage) -> None:
        self._language = language
        digits = tuple(str(num2words(digit, lang=language.spelling)) for digit in range(10))
        self.speller = Speller(digits, language.spelled_signs, language.spelled_letters)
        self.cardinal = functools.lru_cache(maxsize=4096)(self._cardinal)
        self._ordinal = functools.lru_cache(maxsize=1024)(self._plain_ordinal)

    def _cardinal(self, number: int) -> str:
        hundreds = self._language.hundreds
        if self._language.count_in_hundreds and 1100 <= number < 2000:
            return self._in_hundreds(number, hundreds)
        words = str(num2words(number, lang=self._language.spelling))
        for pattern, instead in self._language.respelled:
            words = re.sub(pattern, instead, words)
        return words

    def _in_hundreds(self, number: int, hundred: str) -> str:
        rest = number % 100
        return f"{self.cardinal(number // 100)}{hundred}{self.cardinal(rest) if rest else ''}"

    def year(self, number: int) -> str:
        """A year as in a date."""
        hundreds = self._language.hundreds
        return self._in_hundreds(number, hundreds) if hundreds and 1100 <= number < 2000 else self.cardinal(number)

    def number(self, written: str, noun: str = "") -> str:
        """A written number in words. `noun` is what it counts, if anything."""
        whole, sign, fraction = parts(written)
        if len(whole) > MOST_DIGITS:
            return self.speller.by_digits(whole + fraction)
        words = self.cardinal(int(whole or 0))
        if fraction:
            mark = self._language.point if sign == "." else self._language.comma
            return f"{words} {mark} {self._fraction(fraction)}"
        return self.agreed(words, noun) if noun else words

    def grouped(self, digits: str) -> str:
        """A group of a telephone number: digit by digit, or in pairs where the language does so."""
        if not self._language.pairs:
            return self.speller.by_digits(digits)
        last = len(digits) - 3 if len(digits) % 2 and len(digits) > 1 else len(digits)
        groups = [digits[at : at + 2] for at in range(0, last, 2)] + ([digits[last:]] if last < len(digits) else [])
        return ", ".join(self._group(group) for group in groups)

    def _group(self, digits: str) -> str:
        zeros = len(digits) - len(digits.lstrip("0"))
        rest = [self.cardinal(int(digits))] if int(digits) else []
        return " ".join([self.speller.digits[0]] * zeros + rest)

    def _fraction(self, digits: str) -> str:
        if self._language.digitwise or digits.startswith("0") or len(digits) > 2:
            return " ".join(self.speller.digits[int(digit)] for digit in digits)
        return self.cardinal(int(digits))

    def is_feminine(self, noun: str) -> bool:
        """True if the noun is known to be feminine."""
        language, word = self._language, noun.lower().partition(" ")[0]
        forms = {word, word.removesuffix("s")}
        if forms & language.feminine_words:
            return True
        return not forms & language.masculine_words and any(form.endswith(language.feminine_endings) for form in forms)

    def feminine(self, words: str) -> str:
        """The words of a number of hours, whose noun is not said."""
        return self._changed(words, self._language.hour_feminine)

    def agreed(self, words: str, noun: str) -> str:
        """The words of a number before the noun that it counts. A noun such as "por ciento" changes nothing."""
        if noun.partition(" ")[0] in self._language.not_nouns:
            return words
        return self.joined(f"{self._changed(words, self.is_feminine(noun))} {noun}").removesuffix(noun).rstrip()

    def _changed(self, words: str, feminine: bool) -> str:
        millions = found.end() if (found := MILLIONS.match(words)) else 0
        rest = words[millions:]
        if feminine:
            for pattern, instead in self._language.feminine:
                rest = re.sub(pattern, instead, rest)
        else:
            rest = changed(rest, self._language.masculine)
        return words[:millions] + rest

    def joined(self, words: str) -> str:
        """Words as they are written beside each other: "un'ora"."""
        return changed(words, self._language.joined)

    def counted(self, written: str, named: Names) -> str:
        """A number and the name of what it counts."""
        whole, _, fraction = parts(written)
        value = int(whole or 0)
        one = (value == 1 and not fraction) or (self._language.singular_below_two and value < 2)
        return f"{self.number(written, named[0])} {named[0] if one else named[1]}".replace("' ", "'")

    def _plain_ordinal(self, number: int) -> str:
        words = str(num2words(number, lang=self._language.spelling, to="ordinal"))
        for pattern, instead in self._language.respelled:
            words = re.sub(pattern, instead, words)
        return words

    def ordinal(self, number: int, *, feminine: bool = False, short: bool = False, ending: str = "") -> str:
        """A rank: "vierte"; with an ending "vierten"."""
        words = self._ordinal(number)
        if short:
            words = changed(words, self._language.rank_short)
        if feminine:
            for pattern, instead in self._language.rank_feminine:
                words = re.sub(pattern, instead, words)
        return f"{words[:-1]}{ending}" if ending else words
