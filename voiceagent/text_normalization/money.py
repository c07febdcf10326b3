"""Amounts of money as they are written in English, in words. Pure."""

from __future__ import annotations

import re

from voiceagent.text_normalization.context import after, word_set
from voiceagent.text_normalization.numerals import NUMBER, PER, cardinal, per, plain

Currency = tuple[str, str, str, str]
_DOLLAR: Currency = ("dollar", "dollars", "cent", "cents")


def _dollar(of: str) -> Currency:
    return (f"{of} dollar", f"{of} dollars", "cent", "cents")


_CURRENCIES: dict[str, Currency] = {
    "$": _DOLLAR,
    "€": ("euro", "euros", "cent", "cents"),
    "£": ("pound", "pounds", "penny", "pence"),
    "¥": ("yen", "yen", "sen", "sen"),
    "₹": ("rupee", "rupees", "paisa", "paise"),
    "₩": ("won", "won", "jeon", "jeon"),
    "₽": ("ruble", "rubles", "kopeck", "kopecks"),
    "₺": ("lira", "lira", "kurus", "kurus"),
    "₪": ("shekel", "shekels", "agora", "agorot"),
    "₫": ("dong", "dong", "hao", "hao"),
    "₱": ("peso", "pesos", "centavo", "centavos"),
    "₦": ("naira", "naira", "kobo", "kobo"),
    "₴": ("hryvnia", "hryvnias", "kopeck", "kopecks"),
    "฿": ("baht", "baht", "satang", "satang"),
    "₿": ("bitcoin", "bitcoins", "cent", "cents"),
    "US$": ("U S dollar", "U S dollars", "cent", "cents"),
    "A$": _dollar("Australian"),
    "C$": _dollar("Canadian"),
    "NZ$": _dollar("New Zealand"),
    "HK$": _dollar("Hong Kong"),
    "S$": _dollar("Singapore"),
    "R$": ("real", "reais", "centavo", "centavos"),
    "MX$": ("Mexican peso", "Mexican pesos", "centavo", "centavos"),
    "CHF": ("Swiss franc", "Swiss francs", "rappen", "rappen"),
    "SEK": ("Swedish krona", "Swedish kronor", "ore", "ore"),
    "NOK": ("Norwegian krone", "Norwegian kroner", "ore", "ore"),
    "DKK": ("Danish krone", "Danish kroner", "ore", "ore"),
    "PLN": ("zloty", "zloty", "grosz", "groszy"),
    "CNY": ("yuan", "yuan", "fen", "fen"),
    "ZAR": ("rand", "rand", "cent", "cents"),
}
_CODES = {"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "INR": "₹", "Rs.": "₹", "Rs": "₹", "KRW": "₩", "RUB": "₽", "TRY": "₺"}
_CODES |= {"CA$": "C$", "AU$": "A$", "CAD": "C$", "AUD": "A$", "NZD": "NZ$", "HKD": "HK$", "SGD": "S$", "BRL": "R$", "MXN": "MX$"}
_CODES |= {"RMB": "CNY", "BTC": "₿", "U.S.$": "US$"}
_SIGNS = "|".join(re.escape(sign) for sign in sorted((*_CURRENCIES, *_CODES), key=len, reverse=True))
SCALES = {"k": "thousand", "m": "million", "mm": "million", "mn": "million", "mil": "million", "b": "billion", "bn": "billion"}
SCALES |= {"t": "trillion", "tn": "trillion", "thousand": "thousand", "million": "million", "billion": "billion"}
SCALES |= {"trillion": "trillion", "hundred": "hundred"}
_SCALE = "(?i:" + "|".join(sorted(SCALES, key=len, reverse=True)) + r")(?!\w)"
_AMOUNT = rf"(?:\d+,\d{{2}}(?!\d|,\d)|{NUMBER})"
_MINUS = "-−–"
_DASH = r"\s?(?:[-–—]|to)\s?"
MONEY = re.compile(
    rf"(?P<sign>[{_MINUS}])?(?P<currency>{_SIGNS})\s?(?P<inner>[{_MINUS}])?(?P<amount>{_AMOUNT})(?:[\s-]?(?P<scale>{_SCALE}))?"
    rf"(?:{_DASH}(?:(?P=currency))?(?P<to>{_AMOUNT})(?:[\s-]?(?P<to_scale>{_SCALE}))?)?(?:{PER})?(?P<more>\+)?(?:\s(?:USD|EUR|GBP)(?!\w))?"
)
MONEY_AFTER = re.compile(
    rf"(?P<sign>[{_MINUS}])?(?P<inner>\Z)?(?P<amount>{_AMOUNT})(?:\s?(?P<scale>{_SCALE}))?"
    rf"(?:{_DASH}(?P<to>{_AMOUNT})(?:\s?(?P<to_scale>{_SCALE}))?)?\s?(?P<currency>{_SIGNS})(?!\w)(?:{PER})?(?P<more>\+)?"
)
CENTS = re.compile(rf"(?P<amount>{NUMBER})\s?¢")
_THINGS = word_set("""bill note coin gift fee charge deposit coupon voucher discount credit fine limit refund mark range prize""")


def money(match: re.Match[str]) -> str:
    """$12.50, $5-10, $2B, 12,50 €, $10/month."""
    sign = match["currency"]
    currency = _CURRENCIES[_CODES.get(sign, sign)]
    minus = "minus " if match["sign"] or match["inner"] else ""
    amount = _with_fraction(match["amount"], sign)
    scale = match["scale"]
    if not match["to"]:
        if after(match) in _THINGS and not scale and "." not in amount:
            return f"{minus}{cardinal(amount)} {currency[0]}"
        said = _amount(amount, scale, currency)
    else:
        to, to_scale = _with_fraction(match["to"], sign), match["to_scale"]
        low, high = _amount(amount, scale or None, currency), _amount(to, to_scale, currency)
        either = "." in amount + to and not (scale or to_scale)
        name = currency[1]
        said = f"{low} to {high}" if either else f"{low.removesuffix(name).removesuffix(currency[0]).strip()} to {high}"
    return f"{minus}{said}{' or more' if match['more'] else ''}{per(match)}"


def cents(match: re.Match[str]) -> str:
    """50¢."""
    return f"{cardinal(match['amount'])} cent{'' if match['amount'] == '1' else 's'}"


def _with_fraction(number: str, sign: str) -> str:
    """The number with a full stop before its fraction: 12,50 and €1.250 are as Europe writes them."""
    if re.fullmatch(r"\d+,\d{2}", number):
        return number.replace(",", ".")
    if sign in ("€", "EUR") and re.fullmatch(r"\d{1,3}\.\d{3}", number):
        return number.replace(".", "")
    return plain(number)


def _amount(amount: str, scale: str | None, currency: Currency) -> str:
    one, many, cent, cents = currency
    if scale:
        return f"{cardinal(amount)} {SCALES[scale.lower()]} {many}"
    whole, _, fraction = amount.partition(".")
    if len(fraction) not in (0, 2):
        return f"{cardinal(amount)} {many}"
    small, unit = int(fraction or 0), one if int(whole or 0) == 1 else many
    if not small:
        return f"{cardinal(whole)} {unit}"
    said = f"{cardinal(str(small))} {cent if small == 1 else cents}"
    if not int(whole or 0):
        return said
    return f"{cardinal(whole)} {unit} and {said}" if small < 10 else f"{cardinal(whole)} {unit} {cardinal(str(small))}"
