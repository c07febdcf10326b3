"""Written forms of letters: Roman numerals, titles, streets, states and other abbreviations of English, in words. Pure."""

from __future__ import annotations

import re

from voiceagent.text_normalization.context import after, word_set, words_before
from voiceagent.text_normalization.numerals import by_digits, cardinal, ordinal, roman

ROMAN = re.compile(r"[IVXLCDM]{1,15}(?P<rank>(?:st|nd|rd|th))?(?![\w'’])")
_NUMBERED = word_set(
    """war chapter part volume book act scene section article title phase type stage level class bowl episode appendix table
    figure category tier division group mark olympiad fantasy rocky psalm canto vatican apollo page unit step grade factor
    schedule annex amendment lesson round season theft apple generation gen corps sonata symphony no"""
)
_RULERS = word_set(
    """king queen pope emperor tsar czar prince sultan saint henry elizabeth louis charles george edward james william mary
    richard john paul pius benedict francis gregory leo clement urban innocent alexander nicholas catherine peter frederick
    philip ferdinand ivan napoleon ramses ramesses thutmose ptolemy otto gustav christian haakon olav umberto emmanuel
    harald margrethe robert thomas martin michael david joseph samuel harry walter davis xerxes darius cyrus rama amenhotep
    sixtus julius adrian celestine boniface stephen wilhelm friedrich albert leopold baudouin juan carlos felipe alfonso
    pedro joao constantine justinian mehmed selim murad osman theodosius valentinian andrew arthur"""
)
_VERBS = word_set(
    """am think have had want like can will would could should need know did do use used mean love see saw guess believe feel
    hope wish wrote found made got went said tell told suggest recommend don't can't didn't wouldn't'd may might must also
    just really was were"""
)
_WERE = word_set("was were")
_PLAIN_ROMAN = word_set("II III VI VII VIII IX XI XII XIII XIV XV XVI XVII XVIII XIX XX XXI XXII XXIII XXIV XXV IV")
_NO_NAMES = word_set("""the a an his her their my your our this that via per by on in for with and or an some any of to""")
TITLE = re.compile(r"(?P<short>Mr|Mrs|Ms|Mx|Prof|Rev|Capt|Sgt|Gen|Gov|Sen|Hon|Lt|Col)\.?(?=\s+[A-Z])")
_TITLES = {
    "Mr": "Mister",
    "Mrs": "Missus",
    "Ms": "Miz",
    "Mx": "Mix",
    "Prof": "Professor",
    "Rev": "Reverend",
    "Capt": "Captain",
    "Sgt": "Sergeant",
    "Gen": "General",
    "Gov": "Governor",
    "Sen": "Senator",
    "Hon": "Honorable",
    "Lt": "Lieutenant",
    "Col": "Colonel",
}
WORLD_WAR = re.compile(r"WW(?P<number>II|I|2|1)(?!\w)")
STREET = re.compile(r"(?P<short>St|Dr|Ave|Blvd|Rd|Ln|Ct|Pl|Sq|Hwy|Pkwy|Cir|Ter|Mt|Ft|Apt|Ste|Fl|Rm|Bldg|Dept)\b\.?(?!\w)")
_STREETS = {
    "St": "Street",
    "Dr": "Drive",
    "Ave": "Avenue",
    "Blvd": "Boulevard",
    "Rd": "Road",
    "Ln": "Lane",
    "Ct": "Court",
    "Pl": "Place",
    "Sq": "Square",
    "Hwy": "Highway",
    "Pkwy": "Parkway",
    "Cir": "Circle",
    "Ter": "Terrace",
}
_BEFORE_NAMES = {"St": "Saint", "Dr": "Doctor", "Mt": "Mount", "Ft": "Fort"}
_BEFORE_NUMBERS = {"Apt": "Apartment", "Ste": "Suite", "Fl": "Floor", "Rm": "Room", "Bldg": "Building", "Dept": "Department"}
DIRECTION = re.compile(r"(?P<short>[NSEW]\.?|N\.?W\.?|N\.?E\.?|S\.?W\.?|S\.?E\.?)(?!\w)")
_DIRECTIONS = {"N": "North", "S": "South", "E": "East", "W": "West"}
_DIRECTIONS |= {"NW": "Northwest", "NE": "Northeast", "SW": "Southwest", "SE": "Southeast"}
_STATES = dict(
    entry.split(":")
    for entry in [
        "AL:Alabama",
        "AK:Alaska",
        "AZ:Arizona",
        "AR:Arkansas",
        "CA:California",
        "CO:Colorado",
        "CT:Connecticut",
        "DE:Delaware",
        "FL:Florida",
        "GA:Georgia",
        "HI:Hawaii",
        "ID:Idaho",
        "IL:Illinois",
        "IN:Indiana",
        "IA:Iowa",
        "KS:Kansas",
        "KY:Kentucky",
        "LA:Louisiana",
        "ME:Maine",
        "MD:Maryland",
        "MA:Massachusetts",
        "MI:Michigan",
        "MN:Minnesota",
        "MS:Mississippi",
        "MO:Missouri",
        "MT:Montana",
        "NE:Nebraska",
        "NV:Nevada",
        "NH:New_Hampshire",
        "NJ:New_Jersey",
        "NM:New_Mexico",
        "NY:New_York",
        "NC:North_Carolina",
        "ND:North_Dakota",
        "OH:Ohio",
        "OK:Oklahoma",
        "OR:Oregon",
        "PA:Pennsylvania",
        "RI:Rhode_Island",
        "SC:South_Carolina",
        "SD:South_Dakota",
        "TN:Tennessee",
        "TX:Texas",
        "UT:Utah",
        "VT:Vermont",
        "VA:Virginia",
        "WA:Washington",
        "WV:West_Virginia",
        "WI:Wisconsin",
        "WY:Wyoming",
        "DC:D_C",
    ]
)
STATE = re.compile(r"(?P<state>[A-Z]{2})(?:\s+(?P<zip>\d{5})(?:-(?P<plus>\d{4}))?)?(?![\w-])")
WORD = re.compile(
    r"(?P<word>approx\.|vs\.?|etc\.|e\.\s?g\.,?|i\.\s?e\.,?|[Jj]r\.|[Ss]r\.|w/o|w/|c/o|and/or|Inc\.|Ltd\.|Corp\.|govt\.|est\.|a\.k\.a\.)(?!\w)"
)
_WORDS = {
    "approx.": "approximately",
    "vs": "versus",
    "vs.": "versus",
    "etc.": "etcetera",
    "e.g.": "for example",
    "i.e.": "that is",
    "jr.": "Junior",
    "sr.": "Senior",
    "w/o": "without",
    "w/": "with",
    "c/o": "care of",
    "and/or": "and or",
    "inc.": "Incorporated",
    "ltd.": "Limited",
    "corp.": "Corporation",
    "govt.": "government",
    "est.": "established",
    "a.k.a.": "also known as",
}
PLACE = re.compile(
    r"(?P<word>[Ff]igs?|[Ee]q|pp?|[Vv]ols?|[Cc]h|[Cc]hap|[Ss]ec|[Aa]rt|[Pp]ara|Apt|Ste|Rm|Ext|ext|tel|Tel)\.?\s(?=#?\d|[IVXL]+\b|[A-Z]\b)"
)
_PLACES = {"fig": "figure", "figs": "figures", "eq": "equation", "p": "page", "pp": "pages", "vol": "volume", "vols": "volumes"}
_PLACES |= {"ch": "chapter", "chap": "chapter", "sec": "section", "art": "article", "para": "paragraph", "apt": "apartment"}
_PLACES |= {"ste": "suite", "rm": "room", "ext": "extension", "tel": "telephone"}


def numeral(match: re.Match[str]) -> str | None:
    """World War II, Henry VIII, Chapter IV; "I", "MIX", "CD" and "Vitamin C" are words and letters."""
    written = match.group()
    value = roman(written)
    words = words_before(match, 2)
    named, following = (words[0].lower() if words else ""), after(match)
    if (
        value is None
        or not words
        or (written == "I" and following.lower() in _VERBS - (_WERE if named in _RULERS else frozenset()))
    ):
        return None
    if len(written) == 1 and (written not in "IVX" or (written == "I" and following.endswith("'m"))):
        return None
    if named in _NUMBERED:
        return cardinal(str(value))
    if following.lower() in ("century", "olympics", "olympiad", "dynasty") and len(written) > 1:
        return ordinal(value)
    if any(word.lower() in _RULERS for word in words) and words[0][:1].isupper() and (len(written) > 1 or named in _RULERS):
        return f"the {ordinal(value)}"
    if written in _PLAIN_ROMAN and words[0][:1].isupper() and named not in _NO_NAMES:
        return cardinal(str(value))
    return None


def title(match: re.Match[str]) -> str:
    """Abbreviations whose full stop would end a sentence before a word of the lexicon."""
    return _TITLES[match["short"]]


def world_war(match: re.Match[str]) -> str:
    """WWII."""
    return f"World War {'two' if match['number'] in ('II', '2') else 'one'}"


def street(match: re.Match[str]) -> str | None:
    """St. is Street after a name and Saint before one; Dr. likewise."""
    short, following = match["short"], after(match)
    adjoins = match.string[: match.start()].rstrip()[-1:] not in (".", "!", "?", ",", ";", ":")
    words = words_before(match, 4) if adjoins else []
    numbered = any(word[:1].isdigit() for word in words[1:]) or (bool(words) and words[0][:1].isdigit())
    named = bool(words) and (words[0][:1].isupper() or words[0][:1].isdigit()) and words[0].lower() not in _NO_NAMES
    if short in _BEFORE_NUMBERS:
        return _BEFORE_NUMBERS[short] if following[:1].isdigit() or following[1:] == "" != following else None
    before_name = following[:1].isupper() and following.lower() not in ("apt", "suite", "ste", "unit", "nw", "ne", "sw", "se")
    if short == "Hwy" and following[:1].isdigit():
        return _STREETS[short]
    if short in _BEFORE_NAMES and before_name and (not (named and numbered) or words[0].isdigit()):
        return _BEFORE_NAMES[short]
    if short in _STREETS and named and words[0] not in ("Mr", "Mrs", "Ms", "Prof"):
        return _STREETS[short]
    return _BEFORE_NAMES[short] if short == "Dr" and before_name else None


def direction(match: re.Match[str]) -> str | None:
    """N. Main St., 5th Ave NW; a letter alone stays one."""
    short, following = match["short"].replace(".", ""), after(match)
    words = words_before(match, 2)
    nearest = words[0] if words else ""
    if len(short) == 1:
        road = nearest.title() in _STREETS or nearest in _STREETS.values()
        return (
            _DIRECTIONS[short]
            if road or (nearest[:1].isdigit() and following[:1].isupper()) or re.match(r"\d+(?:st|nd|rd|th)", following)
            else None
        )
    around = nearest[:1].isupper() or nearest[:1].isdigit() or following[:1].isupper() or following[:1].isdigit()
    return _DIRECTIONS[short] if around else None


def state(match: re.Match[str]) -> str | None:
    """San Francisco, CA 94107."""
    its_name = _STATES.get(match["state"], "").replace("_", " ")
    written = match.string[: match.start()].rstrip()
    near = (words_before(match) or [""])[0]
    is_word = match["state"] in ("ID", "OK", "OR", "IN", "ME", "HI", "OH", "MA", "PA", "LA", "DE", "CO", "AL")
    after_city = written.endswith(",") and near[:1].isupper()
    if not its_name or not (after_city or (match["zip"] and not is_word and (not near or near[:1].isupper()))):
        return None
    digits = [by_digits(part).replace(",", "") for part in (match["zip"], match["plus"]) if part]
    return ", ".join([its_name, *digits]) if digits else its_name


def word(match: re.Match[str]) -> str:
    """approx., e.g., w/."""
    written = re.sub(r"[\s,]", "", match["word"]).lower()
    return _WORDS[written] + ("," if match["word"].endswith(",") else "")


def place(match: re.Match[str]) -> str:
    """Fig. 3, p. 12, ext. 44: the word before the number."""
    short = match["word"]
    said = _PLACES[short.lower()]
    return said.title() if short[0].isupper() else said
