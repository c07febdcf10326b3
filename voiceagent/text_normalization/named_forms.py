"""Numbers that are names, abbreviations, Roman numerals and addresses in languages other than English, in words. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from voiceagent.text_normalization.calendar_forms import Calendar
from voiceagent.text_normalization.context import after, word_set, words_before
from voiceagent.text_normalization.exactly import LONGEST, is_word
from voiceagent.text_normalization.forms import EMAIL, WEB, any_of, form
from voiceagent.text_normalization.long_numbers import CARD, CODE, IBAN, IP, VERSION
from voiceagent.text_normalization.numerals import roman
from voiceagent.text_normalization.spoken_numbers import SpokenNumbers
from voiceagent.text_normalization.written_language import WrittenLanguage

_GAP = r"[\s.\-–/]"
_TELEPHONE = (
    r"\+\(?\d[\d\s().\-–/]{5,20}\d(?!\w)"
    r"|\(\d{2,5}\)[\s.-]?\d{2,9}(?:[\s.-]\d{2,5}){0,4}(?!\w)"
    rf"|0\d{{1,4}}(?:{_GAP}{{1,3}}\d{{2,9}}){{1,5}}(?!\w)"
)
_GROUPS = re.compile(r"\d+(?:-\d+){2,8}(?![\w-])|\d{4}(?: \d{4})+(?!\w)|0\d+-\d+(?![\w-])|\d{5,}-\d+(?![\w-])")
_LABELLED = re.compile(r"\d{2,12}(?:[ ./-]\d{2,9}){1,6}(?![\w-])|\d{3,32}(?![\w.,]\d)(?!\w)")
_BARE_GROUPS = re.compile(r"\d{1,12}(?:[-/.:]\d{1,12})+(?![\w-])")
_ANYTHING = re.compile(r"(?=\S*\d)[^\s]*[^\s.,!?;:…\"'”’)\]“»]")
_UNIT_ALONE = re.compile(r"[ck]?m[²³]|[kcm]m|kg|ml|kWh?|[MGT]B|[MG]Hz|[MG]bit")
"""International signs that are no words."""
_MIXED = re.compile(r"(?P<word>[A-Za-z]{3,})?(?P<number>[1-9]\d?|0)(?P<letters>[A-Za-z]?)")
"""Latin1, 12b, 19."""
_ROMAN = r"(?P<numeral>[IVX]{1,15})(?P<rank>(?<=I)(?:er|re)|e|ème|[ºª°])?"
_STOP = r"(?P<stop>\.(?=[,;:]|\s+[^\W\d_]|\s*$))?"
_RULERS = word_set(
    """karl carlos carlo charles carlota philipp philippe felipe filippo filips pius pie pío pio georg george henrique
    enrique jorge giorgio joris elisabeth élisabeth isabel elisabetta elizabeth heinrich henri enrico hendrik ludwig louis
    luis luigi lodewijk luís friedrich frédéric federico frederik wilhelm guillaume guillermo guglielmo willem johannes
    jean juan giovanni joão johan paul pablo paolo paulus paulo alexander alexandre alejandro alessandro karel eduard
    édouard eduardo edoardo jaime sixto franz françois francisco francesco frans napoleon napoléon napoleón napoleone
    peter pierre pedro pietro leo léon león leone katharina catherine catalina caterina maria marie maría margarethe
    margrethe margarita margherita alfonso alphonse afonso leopold léopold victor vittorio otto urban nikolaus nicolas
    nicolás benedikt benoît benedicto benedetto benedictus bento rudolf umberto ferdinand fernando manuel sancho jakob
    jacques jacobo clemens clément clemente gregor grégoire gregorio viktoria victoria"""
)
_QUEENS = word_set(
    """elisabeth élisabeth isabel elisabetta elizabeth katharina catherine catalina caterina maria marie maría margarethe
    margrethe margarita margherita viktoria victoria juliana beatrix anna anne"""
)


class NumberNames:
    """The names of one language that hold numbers, and its abbreviations."""

    def __init__(self, language: WrittenLanguage, words: SpokenNumbers, calendar: Calendar) -> None:
        self._language, self._words, self._speller, self._calendar = language, words, words.speller, calendar
        before_number = form(
            rf"(?i:{any_of(language.short_before_number)})(?=\s?\d|\s[IVXLCDM]+(?!\w)|\s[A-Z](?!\w))\s?", self._before_number
        )
        self.open = frozenset({before_number[0]})
        self.short = (form(rf"(?i:{any_of(language.short_words)})(?!\w)", self._short_word), before_number)
        self.addresses = (
            (EMAIL, self._address),
            (WEB, self._address),
            form(r"@[^\W\d_][\w.]*\w", self._address),
            (IP, self._address),
        )
        self.number_names = (
            (CARD, self._groups),
            form(f"{_TELEPHONE}|{language.phones}", self._telephone),
            (_LABELLED, self._labelled),
            (_GROUPS, self._groups),
        )
        self.codes = (
            (VERSION, self._version),
            form(f"(?:{language.postcodes})(?![\\w-])", self._postcode),
            (CODE, self._code),
        )
        self.last = ((_BARE_GROUPS, self._groups), (_ANYTHING, self._anything))
        self.letters = (
            form(rf"(?:{any_of(unit for unit in language.units if _UNIT_ALONE.fullmatch(unit))})(?!\w)", self._unit),
            form(rf"(?P<name>[^\W\d_]+)(?P<end>{any_of(language.endings) or '(?!)'})(?!\w)", self._ending),
            (IBAN, self._iban),
            form(rf"{_ROMAN}{_STOP if language.dotted_dates else '(?P<stop>(?!))?'}(?![\w'’])", self._roman),
            (CARD, self._groups),
            (CODE, self._code),
            (_ANYTHING, self._anything),
        )

    def _address(self, match: re.Match[str]) -> str:
        return self._speller.address(match.group())

    def _telephone(self, match: re.Match[str]) -> str | None:
        """A telephone number in the groups in which it is written."""
        text = match.group()
        if not 6 <= len(re.sub(r"\D", "", text)) <= 15:
            return None
        plus = f"{self._language.spelled_signs['+']} " if text.startswith("+") else ""
        return plus + ", ".join(self._words.grouped(group) for group in re.findall(r"\d+", text))

    def _groups(self, match: re.Match[str]) -> str:
        """4111 1111 1111 1111, 123-45-6789."""
        return ", ".join(self._speller.by_digits(group) for group in re.findall(r"\d+", match.group()))

    def _labelled(self, match: re.Match[str]) -> str | None:
        """Code 482 193, numéro 48271, PIN 0042."""
        written, nearest = match.group(), (words_before(match) or [""])[0]
        coded = (
            1 < len(nearest) < 5
            and nearest.replace("-", "").isalpha()
            and nearest.isupper()
            and not roman(nearest)
            and not 1900 <= int(re.sub(r"\D", "", written)) < 2100
        )
        things = after(match)
        counted = len(things) > 3 and things.islower() and things not in self._language.not_nouns
        if coded and written.isdigit() and not counted:
            return self._groups(match)
        few = (len(written) < 4 or re.fullmatch(r"\d{1,3}(?:[. ]\d{3})+", written)) and not written.startswith("0")
        return self._groups(match) if self._is_labelled(match) and not (few and counted) else None

    def _is_labelled(self, match: re.Match[str]) -> bool:
        near = [word.lower().rstrip(".") for word in words_before(match, 4)]
        while near and near[0] in self._language.copulas:
            near.pop(0)
        if len(near) > 2 and near[1] in self._language.label_links and near[2] in self._language.labels:
            return True
        if not near:
            return False
        name = near[0].rpartition("-")[2]
        return near[0] in self._language.labels or name in self._language.labels or name.endswith(self._language.label_endings)

    def _anything(self, match: re.Match[str]) -> str | None:
        """Reads what else has digits in it: its numbers, words and known signs one after another."""
        if len(match.group()) > LONGEST:
            return None
        said = []
        for piece in re.findall(r"\d+|[^\W\d_]+|[^\w\s]|_", match.group()):
            if piece.isdecimal():
                long = len(piece) > 4 or (len(piece) > 1 and piece.startswith("0"))
                said.append(self._words.grouped(piece) if long else self._words.cardinal(int(piece)))
            else:
                said.append(piece if piece.isalpha() else self._language.signs.get(piece, ""))
        return " ".join(part for part in said if part)

    def _version(self, match: re.Match[str]) -> str | None:
        """2.3.1."""
        written = match["number"]
        if re.fullmatch(r"\d{1,3}(?:\.\d{3}){2,}", written):
            return None
        return f" {self._language.point} ".join(self._words.cardinal(int(part)) for part in written.split("."))

    def _postcode(self, match: re.Match[str]) -> str:
        """1012 AB."""
        return self._speller.spelt(re.sub(r"\W", "", match.group()))

    def _code(self, match: re.Match[str]) -> str | None:
        """AB-48271 letter by letter; Covid-19, Latin1 and 12b as words, numbers and letters."""
        said = []
        exactly = self._is_labelled(match)
        for part in re.split(r"[-_/.]", match.group().lstrip("#")):
            if part.isalpha() and len(part) >= 3 and is_word(part):
                said.append(part)
            elif not exactly and (mixed := _MIXED.fullmatch(part)) and (not mixed["word"] or is_word(mixed["word"])):
                named = (mixed["word"] or "", self._words.cardinal(int(mixed["number"])), self._speller.letters(mixed["letters"]))
                said.append(" ".join(piece for piece in named if piece))
            else:
                said.append(self._speller.spelt(part))
        return ", ".join(said) if len(match.group()) <= LONGEST else None

    def _unit(self, match: re.Match[str]) -> str:
        """m², kg without a number."""
        return self._language.units[match.group()][0]

    def _iban(self, match: re.Match[str]) -> str | None:
        """DE89 3704 0044 0532 0130 00."""
        text = re.sub(r"\s", "", match.group())
        if sum(letter.isdigit() for letter in text) < 8:
            return None
        return ", ".join(self._speller.spelt(text[at : at + 4]) for at in range(0, len(text), 4))

    def _before_number(self, match: re.Match[str]) -> str | None:
        """Nr. 5, S. 12: the word before the number."""
        return self._said(match.group().strip(), self._language.short_before_number)

    def _said(self, written: str, table: Mapping[str, str]) -> str | None:
        if written in table:
            return table[written]
        lowered = written[0].lower() + written[1:]
        if lowered in table:
            said = table[lowered]
            return said[0].upper() + said[1:]
        return None

    def _short_word(self, match: re.Match[str]) -> str | None:
        """z. B., Dr.; without a full stop only before a name; not an initial inside of a name."""
        written = match.group()
        near, letters = words_before(match, 2), written.rstrip(".")
        title = written.istitle() and written.isalpha() and len(written) <= 3
        initial = len(letters) == 1 and letters.isupper() and len(near) > 1 and near[0].istitle()
        if initial or (title and not after(match)[:1].isupper()):
            return None
        return self._said(written, self._language.short_words)

    def _ending(self, match: re.Match[str]) -> str:
        """Hauptstr., Hausnr."""
        return match["name"] + self._language.endings[match["end"]]

    def _roman(self, match: re.Match[str]) -> str | None:
        """Ludwig XIV., XIXe siècle, siglo XIX, Kapitel IV."""
        language, words = self._language, self._words
        value, numeral = roman(match["numeral"]), match["numeral"]
        near = words_before(match, 2)
        before, noun = (near[0] if near else ""), after(match)
        if not value:
            return None
        ruler = before[:1].isupper() and bool({word.lower() for word in near} & _RULERS)
        if language.century.fullmatch(before.lower()):
            return words.ordinal(value) if value <= language.last_ordinal_ruler else words.cardinal(value)
        if before.lower() in language.numbered:
            return words.cardinal(value)
        alone, rank = len(numeral) == 1, match["rank"]
        if rank and not re.fullmatch(language.rank, rank):
            return None
        if rank or (match["stop"] and not before[:1].isupper()):
            ending = self._calendar.ending(match, noun) if match["stop"] else ""
            feminine = rank in ("ª", "re") or (rank in ("e", "ème") and words.is_feminine(noun))
            return words.ordinal(value, feminine=feminine, ending=ending)
        century = language.century.fullmatch(noun.lower().rstrip("."))
        if language.roman_before_noun and (century or (not alone and noun and not before[:1].isupper())):
            return words.ordinal(value, feminine=words.is_feminine(noun))
        if not ruler and (alone or not before[:1].isupper()):
            return None
        if not (ruler or (match["stop"] and noun)) or value > language.last_ordinal_ruler:
            return words.cardinal(value)
        queen = bool({word.lower() for word in near} & _QUEENS)
        said = words.ordinal(value, feminine=queen)
        article = language.ruler_articles[queen]
        return f"{article} {said.title() if language.dotted_dates else said}" if article else said
