"""Amounts: `money`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from voiceagent.values.dictation import Dictation
from voiceagent.values.kind import ELSEWHERE, UNCLEAR, Frame, HeardValue
from voiceagent.values.languages import dictation
from voiceagent.values.repairs import contrast, opened
from voiceagent.values.spoken import Token, cardinal, longest, number_table, questions, starts, tokens_of

SIGNS = {"$": "USD", "€": "EUR", "£": "GBP", "R$": "BRL"}
OF_REGION = {"US": "USD", "GB": "GBP", "BR": "BRL", "CH": "CHF", "CA": "CAD", "AU": "AUD", "MX": "MXN"}
CENTS = 100
MOST = Decimal(10) ** 9
_FIGURES = re.compile(r"(R\$|[$€£])?\s*(\d{1,3}(?:[.,'’ ]\d{3})+|\d+)(?:([.,])(\d{1,2})(?!\d))?\s*(R\$|[$€£])?")


@dataclass(frozen=True, slots=True)
class Money:
    """An amount and its currency: "12.50 EUR". Options `currency`, `min`, `max`."""

    name: str = "money"

    def hear(self, said: str, so_far: str, frame: Frame) -> HeardValue:
        """The amount that was said last."""
        if questions(said, frame.language):
            return ELSEWHERE
        own = dictation(frame.language)
        currency = (
            so_far.rpartition(" ")[2] or frame.text("currency") or OF_REGION.get((frame.region or own.region).upper(), "EUR")
        )
        found = _figures(said, own) if not _has_repair(said, own) else None
        if found is None:
            speech = opened(tokens_of(said), own)
            tokens = speech.tokens
            if so_far and (pair := contrast(tokens, own)):
                tokens = pair[0]
            for at in range(len(tokens) - 1, 0, -1):
                if tokens[at].broken and (end := starts(tokens, at, own.repair)) and (found := _words(tokens[end:], frame)):
                    break
            found = found or _words(tokens, frame)
            if found is None:
                return HeardValue(about_it=speech.restarts)
        amount, said_currency, sure = found
        value = f"{amount:.2f} {said_currency or currency}"
        least, most = frame.options.get("min", 0), frame.options.get("max", MOST)
        if isinstance(least, int | float | Decimal) and isinstance(most, int | float | Decimal) and not least <= amount <= most:
            return UNCLEAR
        return HeardValue(value, about_it=True, doubtful=not sure)

    def confirm(self, value: str, frame: Frame) -> str:
        """The amount as it is written in the language."""
        own = dictation(frame.language)
        amount, _, currency = value.partition(" ")
        amount = amount.removesuffix(".00")
        sign = next((sign for sign, code in SIGNS.items() if code == currency), currency)
        if own.money.startswith("{sign}") and sign == currency:
            return f"{amount} {currency}"
        return own.money.format(
            amount=amount if own.money.startswith("{sign}") and own.code == "en" else amount.replace(".", ","), sign=sign
        )

    def hint(self, frame: Frame) -> str:
        """Such answers."""
        return dictation(frame.language).hints.get(self.name, "")

    def schema(self) -> dict[str, object]:
        """The amount, a blank, and the code of ISO 4217."""
        return {"type": "string", "pattern": r"^[0-9]+\.[0-9]{2} [A-Z]{3}$"}


def _has_repair(said: str, own: Dictation) -> bool:
    tokens = tokens_of(said)
    return any(starts(tokens, at, own.repair | own.not_) for at in range(len(tokens)))


def _figures(said: str, own: Dictation) -> tuple[Decimal, str, bool] | None:
    """An amount with a decimal sign or a currency's sign."""
    for match in _FIGURES.finditer(said):
        sign = match[1] or match[5]
        if not sign and not match[4] and not re.search(r"[.,'’ ]\d{3}$", match[2]):
            continue
        if not sign and not match[4] and " " in match[2]:
            continue
        amount = Decimal(re.sub(r"\D", "", match[2]) + "." + (match[4] or "0"))
        behind = tokens_of(said[match.end() :])
        named = longest(behind, 0, own.currencies) if behind else None
        scale = longest(behind, 0, own.scales) if behind else None
        if scale:
            amount *= scale[0]
            named = longest(behind, scale[1], own.currencies)
        if named and named[0] == "cent":
            return amount / CENTS, "", True
        if not match[4] and not sign and named is None and len(match[2]) > 12:
            continue
        return amount, SIGNS[sign] if sign else named[0] if named else "", bool(sign or named)
    return None


def _words(tokens: Sequence[Token], frame: Frame) -> tuple[Decimal, str, bool] | None:
    """An amount in words, or in figures with a currency's name."""
    own, code = dictation(frame.language), frame.language
    for at in range(len(tokens)):
        if pair := _glued(tokens[at].word, code):  # "siebenfünfzig"
            return pair, "", False
        number = cardinal(tokens, at, code) or ((1, at) if longest(tokens, at, own.currencies) else None)  # a dollar twenty
        if number is None:
            continue
        amount, end = Decimal(number[0]), number[1]
        if joined := amount < 10 and _is_hundreds(tokens, at, end, code):  # "one forty-nine ninety-nine"
            tens = longest(tokens, end, number_table(code))
            amount, end = (amount * CENTS + tens[0], tens[1]) if tens else (amount, end)
        if end < len(tokens) and tokens[end].word in own.decimal and (part := _decimals(tokens, end + 1, code)):
            amount, end = amount + part[0], part[1]
        named = longest(tokens, end, own.currencies)
        if named and named[0] == "cent":
            return amount / CENTS, "", True
        currency = named[0] if named else ""
        end = named[1] if named else end
        if half := longest(tokens, end, dict.fromkeys(own.half, 1)):
            amount, end = amount + Decimal("0.5"), half[1]
            if not named and (named := longest(tokens, end, own.currencies)):
                currency, end = named[0], named[1]
        while (
            end < len(tokens)
            and (tokens[end].word == own.joiner or tokens[end].word in own.of | own.decimal)
            and tokens[end].word
        ):
            end += 1
        if (
            amount == int(amount)
            and (cents := cardinal(tokens, end, code))
            and cents[0] < CENTS
            and (named or amount < CENTS or joined)
        ):
            small = longest(tokens, cents[1], own.currencies)
            if named or small or cents[0] >= 10:
                amount += Decimal(cents[0]) / CENTS
                if small and small[0] != "cent":
                    currency = small[0]
        rest = [one for one in tokens if one.word and one.word not in own.beside]
        if not currency and len(rest) > 5:
            continue
        return amount, currency, bool(currency)
    return None


def _glued(word: str, code: str) -> Decimal | None:
    """An amount in one word: "siebenfünfzig" is 7.50."""
    table = number_table(code)
    if (word,) in table:
        return None
    for at in range(2, len(word) - 2):
        whole, cents = table.get((word[:at],), 0), table.get((word[at:],), 0)
        if 0 < whole < CENTS and 10 <= cents < CENTS:
            return Decimal(whole) + Decimal(cents) / CENTS
    return None


def _is_hundreds(tokens: Sequence[Token], at: int, end: int, code: str) -> bool:
    """True if two numbers of two digits follow: a hundred, and hundredths."""
    table = number_table(code)
    second = longest(tokens, end, table) if end < len(tokens) and not tokens[at].word.isdecimal() else None
    third = longest(tokens, second[1], table) if second and second[1] < len(tokens) else None
    return bool(second and third and 10 <= second[0] < CENTS and 10 <= third[0] < CENTS)


def _decimals(tokens: Sequence[Token], at: int, code: str) -> tuple[Decimal, int] | None:
    digits, end = "", at
    while number := (cardinal(tokens, end, code) if end < len(tokens) else None):
        digits, end = digits + str(number[0]), number[1]
        if len(digits) >= 2:
            break
    return (Decimal(f"0.{digits}"), end) if digits else None
