"""The words for days and times in seven languages. Data. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Phrases = tuple[tuple[str | int, ...], ...]


def _listed(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _phrases(text: str) -> Phrases:
    """Phrases that are separated by bars, the longest first."""
    found = (tuple(phrase.split()) for phrase in text.split("|") if phrase.strip())
    return tuple(sorted(found, key=len, reverse=True))


@dataclass(frozen=True, slots=True)
class CalendarWords:
    """The words of one language, in small letters and without apostrophes."""

    months: tuple[str, ...]
    weekdays: tuple[str, ...]
    """From Monday on."""
    today: Phrases
    tomorrow: Phrases
    in_two_days: Phrases
    mornings: Phrases = ()
    """Phrases that name a part of the day with a word for a day."""
    ordinals: Mapping[str, int] = field(default_factory=dict)
    """Those that are not made of a number and an ending."""
    endings: tuple[str, ...] = ()
    """Endings that make a number an ordinal."""
    written: str = "{weekday} {day} {month}"
    """A date that is read back."""
    capitals: bool = False
    """True if days and months are written with a capital letter."""
    half_past: Phrases = ()
    """Before the hour, half an hour after it."""
    half_to: Phrases = ()
    """Before the hour, half an hour before it."""
    and_half: Phrases = ()
    """Behind the hour, half an hour after it."""
    quarter_past: Phrases = ()
    quarter_to: Phrases = ()
    and_quarter: Phrases = ()
    less_quarter: Phrases = ()
    """Behind the hour, a quarter of an hour before it."""
    noon: Phrases = ()
    midnight: Phrases = ()
    before_noon: Phrases = ()
    after_noon: Phrases = ()


WORDS: Mapping[str, CalendarWords] = {
    "en": CalendarWords(
        months=_listed("january february march april may june july august september october november december"),
        weekdays=_listed("monday tuesday wednesday thursday friday saturday sunday"),
        today=_phrases("today|this afternoon|this evening|tonight"),
        tomorrow=_phrases("tomorrow"),
        in_two_days=_phrases("day after tomorrow"),
        ordinals={
            **dict(zip(_listed("first second third fifth eighth ninth twelfth"), (1, 2, 3, 5, 8, 9, 12), strict=True)),
            "twentieth": 20,
            "thirtieth": 30,
        },
        endings=("th", "st", "nd", "rd"),
        written="{weekday}, {month} {day}",
        capitals=True,
        half_past=_phrases("half past|half"),
        quarter_past=_phrases("quarter past|quarter after"),
        quarter_to=_phrases("quarter to"),
        noon=_phrases("noon|midday"),
        midnight=_phrases("midnight"),
        before_noon=_phrases("am|a m|in the morning"),
        after_noon=_phrases("pm|p m|in the afternoon|in the evening|at night"),
    ),
    "de": CalendarWords(
        months=_listed("januar februar märz april mai juni juli august september oktober november dezember"),
        weekdays=_listed("montag dienstag mittwoch donnerstag freitag samstag sonntag"),
        today=_phrases("heute"),
        tomorrow=_phrases("morgen"),
        in_two_days=_phrases("übermorgen"),
        mornings=_phrases("am morgen"),
        ordinals={
            form: number
            for stem, number in (("erst", 1), ("dritt", 3), ("siebt", 7), ("acht", 8))
            for form in (f"{stem}e", f"{stem}en", f"{stem}er")
        },
        endings=("sten", "ster", "ste", "ten", "ter", "te"),
        written="{weekday}, {day}. {month}",
        capitals=True,
        half_to=_phrases("halb"),
        quarter_past=_phrases("viertel nach"),
        quarter_to=_phrases("viertel vor"),
        noon=_phrases("mittags|um zwölf uhr mittags"),
        midnight=_phrases("mitternacht"),
        before_noon=_phrases("morgens|vormittags|früh|vormittag"),
        after_noon=_phrases("nachmittags|abends|nachmittag|abend"),
    ),
    "fr": CalendarWords(
        months=_listed("janvier février mars avril mai juin juillet août septembre octobre novembre décembre"),
        weekdays=_listed("lundi mardi mercredi jeudi vendredi samedi dimanche"),
        today=_phrases("aujourdhui|ce soir|cet après midi"),
        tomorrow=_phrases("demain"),
        in_two_days=_phrases("après demain|aprèsdemain"),
        ordinals={"premier": 1, "1er": 1},
        and_half=_phrases("et demie|et demi"),
        and_quarter=_phrases("et quart"),
        less_quarter=_phrases("moins le quart|moins quart"),
        noon=_phrases("midi"),
        midnight=_phrases("minuit"),
        before_noon=_phrases("du matin"),
        after_noon=_phrases("de laprès midi|de laprèsmidi|du soir"),
    ),
    "es": CalendarWords(
        months=_listed("enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"),
        weekdays=_listed("lunes martes miércoles jueves viernes sábado domingo"),
        today=_phrases("hoy|esta tarde|esta noche"),
        tomorrow=_phrases("mañana"),
        in_two_days=_phrases("pasado mañana"),
        mornings=_phrases("por la mañana|de la mañana"),
        ordinals={"primero": 1, "primer": 1},
        written="{weekday} {day} de {month}",
        and_half=_phrases("y media"),
        and_quarter=_phrases("y cuarto"),
        less_quarter=_phrases("menos cuarto"),
        noon=_phrases("mediodía"),
        midnight=_phrases("medianoche"),
        before_noon=_phrases("de la mañana|por la mañana"),
        after_noon=_phrases("de la tarde|por la tarde|de la noche"),
    ),
    "it": CalendarWords(
        months=_listed("gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre"),
        weekdays=_listed("lunedì martedì mercoledì giovedì venerdì sabato domenica"),
        today=_phrases("oggi|stasera"),
        tomorrow=_phrases("domani"),
        in_two_days=_phrases("dopodomani|dopo domani"),
        ordinals={"primo": 1},
        and_half=_phrases("e mezza|e mezzo"),
        and_quarter=_phrases("e un quarto"),
        less_quarter=_phrases("meno un quarto"),
        noon=_phrases("mezzogiorno"),
        midnight=_phrases("mezzanotte"),
        before_noon=_phrases("di mattina|del mattino"),
        after_noon=_phrases("di pomeriggio|del pomeriggio|di sera"),
    ),
    "nl": CalendarWords(
        months=_listed("januari februari maart april mei juni juli augustus september oktober november december"),
        weekdays=_listed("maandag dinsdag woensdag donderdag vrijdag zaterdag zondag"),
        today=_phrases("vandaag|vanmiddag|vanavond"),
        tomorrow=_phrases("morgen"),
        in_two_days=_phrases("overmorgen"),
        ordinals={"eerste": 1, "derde": 3, "achtste": 8},
        endings=("ste", "de"),
        half_to=_phrases("half"),
        quarter_past=_phrases("kwart over"),
        quarter_to=_phrases("kwart voor"),
        noon=_phrases("twaalf uur s middags"),
        midnight=_phrases("middernacht"),
        before_noon=_phrases("s ochtends|s morgens|sochtends|smorgens"),
        after_noon=_phrases("s middags|s avonds|smiddags|savonds"),
    ),
    "pt": CalendarWords(
        months=_listed("janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro"),
        weekdays=_listed("segunda terça quarta quinta sexta sábado domingo"),
        today=_phrases("hoje|esta tarde|esta noite"),
        tomorrow=_phrases("amanhã"),
        in_two_days=_phrases("depois de amanhã"),
        ordinals={"primeiro": 1},
        written="{weekday}, {day} de {month}",
        and_half=(("e", 6),),  # "meia" is also a six
        and_quarter=_phrases("e um quarto|e quinze"),
        less_quarter=_phrases("menos um quarto"),
        noon=_phrases("meio dia|meiodia"),
        midnight=((6, "noite"), ("meianoite",)),
        before_noon=_phrases("da manhã"),
        after_noon=_phrases("da tarde|da noite"),
    ),
}
