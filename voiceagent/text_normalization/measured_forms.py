"""Money, units, fractions, ranges, ordinals and plain numbers in languages other than English, in words. Pure."""

from __future__ import annotations

import re

from voiceagent.text_normalization.calendar_forms import Calendar
from voiceagent.text_normalization.context import after, word_before, words_before
from voiceagent.text_normalization.forms import any_of, form
from voiceagent.text_normalization.spoken_numbers import MILLIONS, NUMBER, SpokenNumbers, changed, parts
from voiceagent.text_normalization.written_language import WrittenLanguage

_VULGAR = {"½": (1, 2), "⅓": (1, 3), "⅔": (2, 3), "¼": (1, 4), "¾": (3, 4), "⅕": (1, 5), "⅛": (1, 8)}
_HALVES = "".join(_VULGAR)
_DASH = r"\s?[-–—]\s?"
_MINUS = r"(?P<minus>[-−–])?"
_OPEN_AMOUNT = r",[-–—]{1,2}"


class Measures:
    """The quantities of one language."""

    def __init__(self, language: WrittenLanguage, words: SpokenNumbers, calendar: Calendar) -> None:
        self._language, self._words, self._calendar = language, words, calendar
        unit = rf"(?:{any_of(language.units)})(?![\w²³])"
        money, scale = any_of(language.currencies), rf"(?:{any_of(language.scales)})(?!\w)"
        per = rf"(?:\s?/\s?(?P<each>\d{{1,4}}(?:\s|(?!\w)))?(?P<per>{any_of(language.units)}|[^\W\d_]{{3,12}}|(?<=\d))(?!\w))?"
        amount, to = rf"{_MINUS}(?P<amount>{NUMBER})", rf"(?:{_DASH}(?:[€$£]\s?)?(?P<to>{NUMBER}))?"
        scaled = rf"(?P<open>{_OPEN_AMOUNT})?(?:\s?(?P<scale>{scale}))?"
        rank = r"\.(?=\s?[-–/]|\s+[^\W\d_])" if language.dotted_dates else re.sub(r"\?P<\w+>", "", language.rank)
        single = re.escape("".join(sign for sign in language.signs if sign not in "#~"))
        prefix = form(r"(?P<sign>§§|[~≈<>≤≥±+§#])\s?(?=[-−]?\d|[$€£]\s?\d)", self._prefix)
        self.open = frozenset({prefix[0]})
        self._one_of = re.compile(rf"{language.one_of}([^\W\d_]+)")
        self.money = (
            form(
                rf"(?P<before>[-−–])?(?P<currency>{money})\s?{amount}{scaled}{to}(?:\s(?P<code>{money})(?!\w))?{per}", self._money
            ),
            form(rf"{amount}{scaled}{to}\s?(?P<currency>{money})(?!\w){per}", self._money),
        )
        self.letters = self.money[:1]
        self.digits = (
            form(rf"{amount}(?:\s?(?P<own>{unit}))?{to}\s?(?P<unit>{unit}){per}", self._measure),
            form(rf"{amount}\s?(?P<scale>{scale})", self._scaled),
            form(rf"(?P<whole>\d{{1,3}})?\s?(?P<vulgar>[{_HALVES}])(?:\s?(?P<unit>{unit}))?", self._vulgar),
            form(
                rf"(?:(?P<whole>\d{{1,3}})\s)?(?P<over>[1-9]\d{{0,3}})/(?P<under>[1-9]\d{{0,3}})(?![/\d])(?:\s?(?P<unit>{unit}))?",
                self._slash,
            ),
            form(rf"(?P<sides>{NUMBER}(?:\s?[x×]\s?{NUMBER}){{1,2}})(?:\s?(?P<unit>{unit}))?", self._size),
            form(rf"(?P<number>{NUMBER})\s?[x×](?!\w)", self._times),
            form(rf"{NUMBER}(?:\s?[+×÷*=−]\s?-?{NUMBER}|\s[-–]\s{NUMBER}(?=\s=))+", self._sum),
            form(rf"(?P<amount>{NUMBER})(?P<dash>{_DASH})(?P<to>{NUMBER})(?![-–/]\d)", self._range),
            form(r"(?P<first>\d{1,3})(?:\s?:\s?|-)(?P<last>\d{1,3})(?![:\d-])", self._score),
            form(rf"(?P<first>\d{{1,3}})(?:{rank})(?P<link>\s?[-–/]\s?)(?P<number>\d{{1,3}})(?:{rank})(?!\w)", self._ranks),
            form(rf"(?P<number>\d{{1,4}})(?:{language.rank})(?P<rest>(?:-[^\W\d_]+)*)(?!\w)", self._rank),
            form(rf"(?P<number>\d{{1,4}}){language.decade}(?P<rest>(?:-[^\W\d_]+)*)(?!\w)", self._decade),
            form(
                rf"(?P<number>{NUMBER})(?P<percent>\s?%-?)?(?:-?(?P<word>[a-zà-ÿ]{{2,}}|(?<=-)[^\W\d_]{{3,}}(?:-[^\W\d_]+)*))(?![\w-])",
                self._compound,
            ),
            prefix,
            *((form(r"(?P<number>\d{1,3})\.(?=(?P<end>[,;:)]|\s*$)|\s+[^\W\d_])", self._rank),) if language.dotted_dates else ()),
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
        its, small = self._language.currencies[match.groupdict().get("code") or match["currency"]]
        whole, _, fraction = parts(match["amount"])
        if len(fraction) == 3:  # as English writes it: $1,299
            whole, fraction = whole + fraction, ""
        value, cents = int(whole or 0), int(fraction) if len(fraction) == 2 else 0
        if match["to"]:
            said = self._span(match["amount"], words.counted(match["to"], its), match)
        elif match["scale"]:
            scaled = self._scaled(match)
            said = f"{scaled} {self._of(its[1]) if MILLIONS.search(scaled) else its[1]}"
        elif value and value % 1_000_000 == 0 and not cents:
            said = f"{words.cardinal(value)} {self._of(its[1])}"
        elif cents and value:
            between = f" {self._language.cents} " if self._language.cents else " "
            said = words.counted(whole, its) + between + (words.counted("1", small) if cents == 1 else words.cardinal(cents))
        elif cents:
            said = words.counted(str(cents), small)
        else:
            said = words.counted(match["amount"] if fraction.strip("0") else whole, its)
        minus = self._minus(match) if not said.startswith(f"{self._language.minus} ") else ""
        return f"{minus}{said}{self._per(match)}"

    def _of(self, noun: str) -> str:
        consonant, vowel = self._language.of_many
        if not consonant:
            return noun
        of = vowel if noun[0] in "aeiouéh" else consonant
        return f"{of}{noun}" if of.endswith("'") else f"{of} {noun}"

    def _per(self, match: re.Match[str]) -> str:
        if match["per"] is None:
            return ""
        language, per, each = self._language, match["per"], match["each"]
        if not per:
            return f" {language.over} {self._words.cardinal(int(each))}"
        one, many = language.units.get(per, (per, per))
        counted = f"{self._words.cardinal(int(each))} {many}" if each else one
        return " " + self._words.joined(f"{language.per} {counted}")

    def _span(self, low: str, said_high: str, match: re.Match[str]) -> str:
        prefix, kept, bare = self._language.range_prefix
        near = word_before(match)
        start = f"{prefix} " if prefix and near not in kept | bare else ""
        link = " " if near in bare else f" {self._language.between} "
        return f"{start}{self._alone(low, '')}{link}{said_high}"

    def _measure(self, match: re.Match[str]) -> str | None:
        """5 km, 5-10 km, 20 °C, 50 %, 3 kg/m²; not 3° piano."""
        words, noun = self._words, after(match)
        if match["unit"] == "A" and match.group()[-2:-1].isdigit():  # a house: 12A
            return None
        if match["unit"] == "°" and self._is_noun(noun) and noun.islower() and re.fullmatch(self._language.rank, "°"):
            return None
        named = self._language.units[match["unit"]]
        prepositions, changes = self._language.after_dative
        if word_before(match) in prepositions:
            named = (named[0], changed(named[1], changes))
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
        if named[0] == self._language.thousand and not fraction and len(whole) < 7:
            return self._minus(match) + self._words.number(f"{whole}000", after(match))
        if match["scale"] in named:
            return f"{self._minus(match)}{self._words.number(match['amount'], named[0])} {match['scale']}"
        return self._minus(match) + self._words.counted(match["amount"], named)

    def _vulgar(self, match: re.Match[str]) -> str:
        """½, 1½."""
        return self._mixed(match["whole"], *_VULGAR[match["vulgar"]], match)

    def _mixed(self, whole: str | None, over: int, under: int, match: re.Match[str]) -> str:
        language, words = self._language, self._words
        half, unit = (over, under) == (1, 2), language.units[match["unit"]] if match["unit"] else ("", "")
        if half and not whole:
            near = [word.lower() for word in words_before(match, 2)]
            joined = len(near) > 1 and near[0] == language.conjunction
            return f"{self._half(unit[0] or (near[1] if joined else after(match)))} {unit[0]}".rstrip()
        part = words.counted(str(over), language.fractions[under - 2])
        if not whole:
            return f"{part} {self._of(unit[0])}" if unit[0] else part
        before = words.cardinal(int(whole))
        if not half:
            said = f"{before} {language.conjunction} {part}"
        elif int(whole) == 1 and language.one_and_half:
            said = language.one_and_half
        else:
            glued = not language.mixed_half.startswith("{} ")
            said = language.mixed_half.format(words.agreed(before, "x") if glued else before)
        return f"{said} {unit[1]}".rstrip()

    def _half(self, noun: str) -> str:
        """A half of something: "ein halber Liter"."""
        plain = self._words.counted("1", self._language.fractions[0])
        name = noun.lower()
        return next((said for pattern, said in self._language.half_before if re.fullmatch(pattern, name)), plain)

    def _slash(self, match: re.Match[str]) -> str | None:
        """3/4, 2 1/2, 7/10, 120/80, 24/7."""
        words, over, under = self._words, int(match["over"]), int(match["under"])
        if match["whole"] and not (over < under <= 10 and under > 1):
            return None
        if match["unit"] and not 1 < under < 10:
            return None
        if len(match["over"]) == 4 and len(match["under"]) in (2, 4):
            return f"{words.year(over)} {words.cardinal(under)}"
        if under < 10 and under > 1 and (over < under or match["unit"]):
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
        one, many = self._language.times
        number = match["number"]
        return (one if number == "1" else many).format(self._words.number(number, one.removeprefix("{}").strip()))

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
        return self._span(match["amount"], self._alone(match["to"], after(match)), match)

    def _score(self, match: re.Match[str]) -> str:
        """3:1, 1-0."""
        link = f" {self._language.score} " if self._language.score else " "
        return link.join(self._words.cardinal(int(match[name])) for name in ("first", "last"))

    def _ranks(self, match: re.Match[str]) -> str:
        """1.-3. Klasse, 3e-4e."""
        link = self._language.conjunction if "/" in match["link"] else self._language.between
        ending = self._calendar.ending(match, after(match)) if self._language.dotted_dates else ""
        return f" {link} ".join(self._words.ordinal(int(match[name]), ending=ending) for name in ("first", "number"))

    def _rank(self, match: re.Match[str]) -> str | None:
        """3., 3e, 3º, 3ª, 1er."""
        found, number = match.groupdict(), int(match["number"])
        noun = after(match)
        if found.get("end") is not None and word_before(match) not in self._language.before_rank:
            return None
        ending = self._calendar.ending(match, noun) if self._language.dotted_dates else ""
        feminine = bool(found.get("f"))
        short = found.get("short") is not None or (noun[:1].islower() and not feminine and self._language.short_rank_before_noun)
        return self._words.ordinal(number, feminine=feminine, short=short, ending=ending) + (found.get("rest") or "")

    def _decade(self, match: re.Match[str]) -> str:
        """1980er, 80er."""
        return self._words.year(int(match["number"])) + self._language.decade_ending + match["rest"]

    def _compound(self, match: re.Match[str]) -> str:
        """5-Sterne-Hotel, 3fach, 100%ig."""
        percent = self._language.units["%"][0].lower() if match["percent"] else ""
        return f"{self._words.number(match['number'], match['word'])} {percent}{match['word']}"

    def _prefix(self, match: re.Match[str]) -> str:
        return self._language.signs.get(match["sign"]) or self._language.signs[match["sign"][0]]

    def _sign(self, match: re.Match[str]) -> str:
        return self._language.signs[match.group()]

    def _number(self, match: re.Match[str]) -> str:
        """Any other number."""
        noun, near = after(match), word_before(match)
        if near in self._language.labels | self._language.numbered:
            noun = ""
        of = self._one_of.match(match.string, match.end()) if match["number"] == "1" else None
        if of and self._words.is_feminine(of[1]):
            noun = of[1]
        if near in self._language.feminine_before and len(match["number"]) < 4:
            return self._words.feminine(self._words.number(match["number"]))
        return self._minus(match) + self._alone(match["number"], noun)

    def _alone(self, written: str, noun: str) -> str:
        """A number; a year where it may be one; digit by digit where it is long or begins with a zero."""
        words = self._words
        if written.isdigit():
            counts = written.endswith("000") or (len(written) < 7 and noun.islower() and len(noun) > 3 and self._is_noun(noun))
            if (len(written) > 1 and written.startswith("0")) or (len(written) > 4 and not counts):
                return words.grouped(written)
            if len(written) == 4 and int(written) < 2000 and self._language.hundreds:
                return words.year(int(written))
        return words.number(written, noun if self._is_noun(noun) else "")

    def _is_noun(self, word: str) -> bool:
        if len(word) < 2 or not word[0].isalpha() or word.lower() in self._language.not_nouns:
            return False
        return not self._language.capital_nouns or word[0].isupper() or word.endswith(("e", "er", "es"))
