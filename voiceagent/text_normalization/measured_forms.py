"""Money, units, fractions, ranges, ordinals and plain numbers in languages other than English, in words. Pure."""

from __future__ import annotations

import re

from voiceagent.text_normalization.calendar_forms import Calendar
from voiceagent.text_normalization.context import words_before
from voiceagent.text_normalization.forms import any_of, form
from voiceagent.text_normalization.spoken_numbers import NUMBER, SpokenNumbers, parts
from voiceagent.text_normalization.written_language import WrittenLanguage

_VULGAR = {"½": (1, 2), "⅓": (1, 3), "⅔": (2, 3), "¼": (1, 4), "¾": (3, 4), "⅕": (1, 5), "⅛": (1, 8)}
_HALVES = "".join(_VULGAR)
_DASH = r"\s?[-–—]\s?"
_MINUS = r"(?P<minus>[-−–])?"
_OPEN_AMOUNT = r",[-–—]{1,2}"
_NEXT = re.compile(r"\s+([^\s.,:;!?()\"]+)")


def noun_after(match: re.Match[str]) -> str:
    """The word after a form, as it is written."""
    following = _NEXT.match(match.string, match.end())
    return following[1] if following else ""


class Measures:
    """The quantities of one language."""

    def __init__(self, language: WrittenLanguage, words: SpokenNumbers, calendar: Calendar) -> None:
        self._language, self._words, self._calendar = language, words, calendar
        unit = rf"(?:{any_of(language.units)})(?![\w²³])"
        money, scale = any_of(language.currencies), rf"(?:{any_of(language.scales)})(?!\w)"
        per = rf"(?:\s?/\s?(?P<per>{any_of(language.units)}|\w{{3,12}})(?!\w))?"
        amount, to = rf"{_MINUS}(?P<amount>{NUMBER})", rf"(?:{_DASH}(?:[€$£]\s?)?(?P<to>{NUMBER}))?"
        scaled = rf"(?P<open>{_OPEN_AMOUNT})?(?:\s?(?P<scale>{scale}))?"
        single = re.escape("".join(sign for sign in language.signs if sign not in "#~"))
        prefix = form(r"(?P<sign>[~≈<>≤≥±+§#])\s?(?=[-−]?\d|[$€£]\s?\d)", self._prefix)
        self.open = frozenset({prefix[0]})
        self.money = (
            form(rf"(?P<before>[-−–])?(?P<currency>{money})\s?{amount}{scaled}{to}{per}", self._money),
            form(rf"{amount}{scaled}{to}\s?(?P<currency>{money})(?!\w){per}", self._money),
        )
        self.letters = self.money[:1]
        self.digits = (
            form(rf"{amount}(?:\s?(?P<own>{unit}))?{to}\s?(?P<unit>{unit}){per}", self._measure),
            form(rf"{amount}\s?(?P<scale>{scale})", self._scaled),
            form(rf"(?P<whole>\d{{1,3}})?\s?(?P<vulgar>[{_HALVES}])", self._vulgar),
            form(r"(?:(?P<whole>\d{1,3})\s)?(?P<over>\d{1,4})/(?P<under>\d{1,4})(?![/\d])", self._slash),
            form(rf"(?P<sides>{NUMBER}(?:\s?[x×]\s?{NUMBER}){{1,2}})(?:\s?(?P<unit>{unit}))?", self._size),
            form(rf"(?P<number>{NUMBER})\s?[x×](?!\w)", self._times),
            form(rf"{NUMBER}(?:\s?[+×÷*=−]\s?-?{NUMBER}|\s[-–]\s{NUMBER}(?=\s=))+", self._sum),
            form(rf"(?P<amount>{NUMBER})(?P<dash>{_DASH})(?P<to>{NUMBER})(?![-–/]\d)", self._range),
            form(rf"(?P<number>\d{{1,4}})(?:{language.rank})(?!\w|\d)", self._rank),
            form(rf"(?P<number>\d{{2,4}}){language.decade}(?!\w)", self._decade),
            form(
                r"(?P<number>\d{1,4})(?:-(?P<word>[^\W\d_]{3,}(?:-[^\W\d_]+)*)|(?P<joined>[a-zà-ÿ]{3,}))(?![\w-])", self._compound
            ),
            prefix,
            *((form(r"(?P<number>\d{1,3})\.(?=\s+[^\W\d_])", self._rank),) if language.dotted_dates else ()),
        )
        self.plain = (
            form(rf"{_MINUS}(?P<number>{NUMBER})", self._number),
            form(rf"[{single}](?=\s|$)", self._sign),
        )

    def _minus(self, match: re.Match[str]) -> str:
        found = match.groupdict()
        return f"{self._language.minus} " if found.get("minus") or found.get("before") else ""

    def _money(self, match: re.Match[str]) -> str:
        """12,50 €, 10-15 €, 2 Mio. €, 5,- €."""
        words = self._words
        its, small = self._language.currencies[match["currency"]]
        whole, _, fraction = parts(match["amount"])
        value, cents = int(whole or 0), int(fraction) if len(fraction) == 2 else 0
        if match["to"]:
            said = self._span(match["amount"], words.counted(match["to"], its), match)
        elif match["scale"]:
            said = f"{self._scaled(match)} {self._of(its[1])}"
        elif value and value % 1_000_000 == 0 and not cents:
            said = f"{words.cardinal(value)} {self._of(its[1])}"
        elif cents and value:
            between = f" {self._language.cents} " if self._language.cents else " "
            said = words.counted(whole, its) + between + words.cardinal(cents)
        elif cents:
            said = words.counted(str(cents), small)
        else:
            said = words.counted(whole if len(fraction) == 2 else match["amount"], its)
        minus = self._minus(match) if not said.startswith(f"{self._language.minus} ") else ""
        return f"{minus}{said}{self._per(match)}"

    def _of(self, noun: str) -> str:
        consonant, vowel = self._language.of_many
        if not consonant:
            return noun
        of = vowel if noun[0] in "aeiouéh" else consonant
        return f"{of}{noun}" if of.endswith("'") else f"{of} {noun}"

    def _per(self, match: re.Match[str]) -> str:
        if not (per := match["per"]):
            return ""
        one = self._language.units[per][0] if per in self._language.units else per
        return " " + self._words.joined(f"{self._language.per} {one}")

    def _span(self, low: str, said_high: str, match: re.Match[str]) -> str:
        prefix, unless = self._language.range_prefix
        near = [word.lower() for word in words_before(match)]
        start = f"{prefix} " if prefix and not (near and near[0] in unless) else ""
        return f"{start}{self._alone(low, '')} {self._language.between} {said_high}"

    def _measure(self, match: re.Match[str]) -> str | None:
        """5 km, 5-10 km, 20 °C, 50 %, 3 kg/m²; not 3° piano."""
        words, noun = self._words, noun_after(match)
        if match["unit"] == "°" and self._is_noun(noun) and noun.islower() and re.fullmatch(self._language.rank, "°"):
            return None
        named = self._language.units[match["unit"]]
        said = words.counted(match["to"] or match["amount"], named)
        if match["to"] and match["own"]:
            said = f"{words.counted(match['amount'], self._language.units[match['own']])} {self._language.between} {said}"
        elif match["to"]:
            said = self._span(match["amount"], said, match)
        return f"{self._minus(match)}{said}{self._per(match)}"

    def _scaled(self, match: re.Match[str]) -> str:
        """1,5 Mio., 200 mil."""
        named = self._language.scales[match["scale"]]
        whole, _, fraction = parts(match["amount"])
        if named[0] in ("mil", "mila") and not fraction and len(whole) < 7:
            return self._minus(match) + self._words.number(f"{whole}000", noun_after(match))
        return self._minus(match) + self._words.counted(match["amount"], named)

    def _vulgar(self, match: re.Match[str]) -> str:
        """½, 1½."""
        return self._mixed(match["whole"], *_VULGAR[match["vulgar"]], match)

    def _mixed(self, whole: str | None, over: int, under: int, match: re.Match[str]) -> str:
        language, words = self._language, self._words
        half = (over, under) == (1, 2)
        if not whole:
            return self._half(noun_after(match)) if half else words.counted(str(over), language.fractions[under - 2])
        before = words.agreed(words.cardinal(int(whole)), "x") if language.digitwise else words.cardinal(int(whole))
        if half:
            return (int(whole) == 1 and language.one_and_half) or language.mixed_half.format(before)
        return f"{before} {language.conjunction} {words.counted(str(over), language.fractions[under - 2])}"

    def _half(self, noun: str) -> str:
        """A half of something: "ein halber Liter"."""
        language = self._language
        name = language.units[noun][0].lower() if noun in language.units else noun.lower()
        plain = self._words.counted("1", language.fractions[0])
        return next((said for pattern, said in language.half_before if re.fullmatch(pattern, name)), plain)

    def _slash(self, match: re.Match[str]) -> str | None:
        """3/4, 2 1/2, 7/10, 120/80, 24/7."""
        words, over, under = self._words, int(match["over"]), int(match["under"])
        if match["whole"] and not (over < under <= 10 and under > 1):
            return None
        if over < under < 10 and under > 1:
            return self._mixed(match["whole"], over, under, match)
        link = "" if (over, under) == (24, 7) else self._language.out_of if under in (10, 20, 100) else self._language.over
        return " ".join(part for part in (words.cardinal(over), link, words.cardinal(under)) if part)

    def _size(self, match: re.Match[str]) -> str:
        """10 x 15 cm."""
        *sides, last = (self._words.number(side) for side in re.split(r"\s?[x×]\s?", match["sides"]))
        unit = f" {self._language.units[match['unit']][1]}" if match["unit"] else ""
        return f" {self._language.size} ".join((*sides, last)) + unit

    def _times(self, match: re.Match[str]) -> str:
        """2x."""
        said = self._words.counted(match["number"], self._language.times)
        return said.replace(" ", "") if self._language.digitwise else said

    def _sum(self, match: re.Match[str]) -> str:
        """2 + 2 = 4."""
        signs = self._language.signs
        said = re.findall(rf"[+×÷*=−]|(?<=\s)[-–](?=\s)|-?{NUMBER}", match.group())
        return " ".join(signs.get(part) or (self._language.minus if part in "-–" else "") or self._signed(part) for part in said)

    def _signed(self, number: str) -> str:
        return (f"{self._language.minus} " if number[0] == "-" else "") + self._words.number(number.lstrip("-"))

    def _range(self, match: re.Match[str]) -> str | None:
        """10-12, 1998-2004; not a part of a code."""
        low, high = (parts(match[name])[0] for name in ("amount", "to"))
        if (low.startswith("0") and low != "0") or (high.startswith("0") and high != "0"):
            return None
        if int(low) >= int(high) and not (len(low) == 4 and len(high) == 2):
            return None
        if len(low) > 4 and not re.search(r"[. ]", match["amount"]):
            return None
        return self._span(match["amount"], self._alone(match["to"], noun_after(match)), match)

    def _rank(self, match: re.Match[str]) -> str:
        """3., 3e, 3º, 3ª, 1er."""
        found, number = match.groupdict(), int(match["number"])
        noun = noun_after(match)
        ending = self._calendar.ending(match, noun) if self._language.dotted_dates else ""
        short = bool(found.get("short")) or (bool(self._language.rank_short) and noun[:1].islower())
        feminine = bool(found.get("f"))
        return self._words.ordinal(number, feminine=feminine, short=short and not feminine, ending=ending)

    def _decade(self, match: re.Match[str]) -> str:
        """1980er, 80er."""
        return self._words.year(int(match["number"])) + self._language.decade_ending

    def _compound(self, match: re.Match[str]) -> str:
        """5-Sterne-Hotel, 3fach."""
        word = match["word"] or match["joined"]
        return f"{self._words.number(match['number'], word)} {word}"

    def _prefix(self, match: re.Match[str]) -> str:
        return self._language.signs[match["sign"]]

    def _sign(self, match: re.Match[str]) -> str:
        return self._language.signs[match.group()]

    def _number(self, match: re.Match[str]) -> str:
        """Any other number."""
        near = [word.lower() for word in words_before(match)]
        noun = noun_after(match)
        if near and near[0] in self._language.feminine_before:
            noun = self._language.units["h"][0]
        return self._minus(match) + self._alone(match["number"], noun)

    def _alone(self, written: str, noun: str) -> str:
        """A number; a year where it may be one; digit by digit where it is long or begins with a zero."""
        words = self._words
        if written.isdigit():
            if (len(written) > 1 and written.startswith("0")) or (len(written) > 4 and not written.endswith("000")):
                return words.grouped(written)
            if len(written) == 4 and int(written) < 2000:
                return words.year(int(written))
        return words.number(written, noun if self._is_noun(noun) else "")

    def _is_noun(self, word: str) -> bool:
        return len(word) > 1 and word[0].isalpha() and word.lower() not in self._language.not_nouns
