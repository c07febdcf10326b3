"""Kinds of values: what each hears in the caller's words, whole, in part, corrected, or not at all, and how it says it back."""

from __future__ import annotations

from datetime import date

import pytest

from voiceagent.turn_taking.languages import LANGUAGES
from voiceagent.values.digits import CardDigits
from voiceagent.values.kind import Frame
from voiceagent.values.kinds import KINDS, kind, prepare

OPTIONS: dict[str, dict[str, object]] = {
    "digits": {"length": 6},
    "choice": {"choices": {"cheese": ["gouda"], "ham": [], "tuna salad": []}},
}


def frame(name: str, code: str = "en") -> Frame:
    return Frame(code, date(2026, 11, 27), options=OPTIONS.get(name, {}))


@pytest.mark.parametrize(
    ("name", "said", "so_far", "value", "partial"),
    [
        ("digits", "4 8 1 5 1 6", "", "481516", ""),
        ("digits", "Four, eight, one.", "", None, "481"),
        ("digits", "five one six", "481", "481516", ""),
        ("digits", "double five oh seven", "48", "485507", ""),
        ("digits", "555, no sorry, 556", "", None, "556"),
        ("digits", "four to eight for ate one", "", "428481", ""),
        ("digits", "481517, scratch that, 999 000", "12", "999000", ""),
        ("digits", "no, the last two are four five", "481516", "481545", ""),
        ("digits", "no, 7 not 5", "481516", "481716", ""),
        ("digits", "the third digit is six", "481516", "486516", ""),
        ("digits", "I said fifteen, not fifty", "415052", "411552", ""),
        ("phone", "my number is 212 555 0147", "", "+12125550147", ""),
        ("phone", "two one two, five five five", "", None, "212555"),
        ("phone", "no, 0148", "+12125550147", "+12125550148", ""),
        ("phone", "plus four four two oh seven nine four six oh nine five eight", "", "+442079460958", ""),
        ("email", "J-O at gmail dot com", "", "jo@gmail.com", ""),
        ("email", "It's jo dot smith at gmail dot com, please.", "", "jo.smith@gmail.com", ""),
        ("email", "no, not at gmail, at googlemail", "jo.smith@gmail.com", "jo.smith@googlemail.com", ""),
        ("email", "it's with a double t", "jo.smit@gmail.com", "jo.smitt@gmail.com", ""),
        ("email", "no, B as in Bravo", "pob@gmail.com", "bob@gmail.com", ""),
        ("email", "Jess dot Wynne, W Y N N E, at gmail dot com", "", "jess.wynne@gmail.com", ""),
        ("date", "Tuesday the 8", "", "2026-12-08", ""),
        ("name", "It's Dunne, D-U-double-N-E", "", "Dunne", ""),
        ("name", "B as in boy, J, oh, R, K", "", "Bjork", ""),
        ("phone", "200 12 555 0150", "", "+12125550150", ""),
        ("digits", "8,847 13.", "", "884713", ""),
        ("email", "gmail.com", "nina.patel", "nina.patel@gmail.com", ""),
        ("time", "1145 in the morning", "", "11:45", ""),
        ("time", "quarter pass 2 in the afternoon", "", "14:15", ""),
        ("email", "no, dot org", "jo@example.com", "jo@example.org", ""),
        ("email", "mike seventy-seven at gmail dot com", "", "mike77@gmail.com", ""),
        ("email", "J underscore Schultz, that's S C H U L T Z, at gmail dot com", "", "j_schultz@gmail.com", ""),
        ("email", "Laura dot Bennett it gmail.com", "", "laura.bennett@gmail.com", ""),
        ("email", "Dan.Wooatgmail.com", "", "dan.woo@gmail.com", ""),
        ("email", "no, woo is W U", "dan.woo@gmail.com", "dan.wu@gmail.com", ""),
        ("email", "wolf with an e at the end", "m.wolf@gmail.com", "m.wolfe@gmail.com", ""),
        ("name", "Catherine with a K, Moore", "", "Katherine Moore", ""),
        ("name", "no h in John, J O N", "John Peterson", "Jon Peterson", ""),
        ("name", "Ann with an e", "Ann Whitfield", "Anne Whitfield", ""),
        ("name", "with a v", "Stephen Hale", "Steven Hale", ""),
        ("name", "Philip with one l, Snow", "", "Philip Snow", ""),
        ("name", "Peter, P E T E R, Parks", "", "Peter Parks", ""),
        ("name", "Bond. James Bond.", "", "James Bond", ""),
        ("name", "Alice Green, like the color", "", "Alice Green", ""),
        ("name", "My name's Marcus Lee, I called yesterday.", "", "Marcus Lee", ""),
        ("phone", "no, it ends in seven one", "+12125550117", "+12125550171", ""),
        ("digits", "one two, five thousand", "", "125000", ""),
        ("address", "it's fourteen fifty Elm Street, Austin", "", "1450 Elm Street, Austin", ""),
        ("address", "no, seventy-three", "37 Hill Street, Boulder", "73 Hill Street, Boulder", ""),
        ("address", "nine Queen Street, Leeds, L S one, two T W", "", "9 Queen Street, Leeds, LS1, 2TW", ""),
        ("address", "9 Queen Street, Leeds LS1 2 TW", "", "9 Queen Street, Leeds LS1 2TW", ""),
        ("money", "one forty-nine ninety-nine", "", "149.99 USD", ""),
        ("name", "with an e at the end, C L A R K E", "Susan Clark", "Susan Clarke", ""),
        ("address", "6 Church Lane, York YO1 7HX", "", "6 Church Lane, York YO1 7HX", ""),
        ("date_of_birth", "ninety-six", "--03-08", "1996-03-08", ""),
        ("money", "a dollar twenty-five", "", "1.25 USD", ""),
        ("name", "My name is Jane Nguyen. N-G-U-Y-E-N.", "", "Jane Nguyen", ""),
        ("name", "No, M A Y E R", "Anna Maier", "Anna Mayer", ""),
        ("address", "twelve main street springfield six two seven oh four", "", "12 main street springfield 62704", ""),
        ("address", "Main Street", "", None, "Main Street"),
        ("date", "Tuesday, no sorry, Wednesday", "", "2026-12-02", ""),
        ("date", "no, the fourth", "2026-12-03", "2026-12-04", ""),
        ("time", "half past three", "", "15:30", ""),
        ("time", "no, in the morning", "15:30", "03:30", ""),
        ("date_of_birth", "July 4th", "", None, "--07-04"),
        ("date_of_birth", "nineteen eighty five", "--07-04", "1985-07-04", ""),
        ("money", "three and a half dollars", "", "3.50 USD", ""),
        ("choice", "the second one", "", "ham", ""),
        ("choice", "tunna salat", "", "tuna salad", ""),
        ("choice", "Gouda", "", "cheese", ""),
        ("yes_no", "no, it's five", "", "no", ""),
        ("yes_no", "that's right", "", "yes", ""),
    ],
)
def test_a_kind_hears_its_value(name: str, said: str, so_far: str, value: str | None, partial: str) -> None:
    heard = kind(name).hear(said, so_far, frame(name))
    assert (heard.value, heard.partial, heard.about_it) == (value, partial, True)


@pytest.mark.parametrize(
    ("code", "name", "said", "so_far", "value"),
    [
        ("de", "time", "halb vier", "", "15:30"),
        ("de", "digits", "zweiundzwanzig null sieben, doppel fünf", "", "220755"),
        ("de", "digits", "Nein, sieben, nicht neun", "481519", "481517"),
        ("de", "date", "am fünften Zwölften", "", "2026-12-05"),
        ("de", "date", "Montag in einer Woche", "", "2026-12-07"),
        ("de", "name", "Maier mit A I", "Stefan Meier", "Stefan Maier"),
        ("de", "name", "Ute Brand, mit dt", "", "Ute Brandt"),
        ("de", "name", "Hoffmann, Petra Hofmann, mit zwei F und zwei N.", "", "Petra Hoffmann"),
        ("de", "email", "lena punkt fuchs bei posteo punkt de", "", "lena.fuchs@posteo.de"),
        ("de", "phone", "sechsundfünfzig", "+49891234", "+4989123456"),
        ("de", "phone", "nein, am Ende vierundvierzig", "+491725550143", "+491725550144"),
        ("de", "money", "siebenfünfzig", "", "7.50 EUR"),
        ("fr", "name", "C'est au nom de Sophie Lambert", "", "Sophie Lambert"),
        ("es", "email", "hugo punto vela, con uve, arroba terra punto es", "", "hugo.vela@terra.es"),
        ("es", "address", "calle Sol número ocho, veintiocho cero trece Madrid", "", "calle Sol 8, 28013 Madrid"),
        ("es", "date_of_birth", "veinticinco del cuatro del setenta y nueve", "", "1979-04-25"),
        ("fr", "date_of_birth", "dix-sept juin quatre-vingt-onze", "", "1991-06-17"),
        ("fr", "name", "Quéméneur, Q-U-É-M-É-N-E-U-R", "", "Quéméneur"),
        ("it", "date", "l'undici dicembre", "", "2026-12-11"),
        ("pt", "name", "Kubitschek, K-U-B-I-T-S-C-H-E-K", "", "Kubitschek"),
        ("fr", "digits", "quatre-vingt-dix, soixante-douze, zéro un", "", "907201"),
        ("fr", "email", "marie tiret bas dupont arobase orange point fr", "", "marie_dupont@orange.fr"),
        ("es", "date", "pasado mañana", "", "2026-11-29"),
        ("it", "time", "le cinque meno un quarto di pomeriggio", "", "16:45"),
        ("nl", "time", "tien voor half vier", "", "15:20"),
        ("pt", "digits", "meia zero, cinco três, dois um", "", "605321"),
    ],
)
def test_each_language_has_its_words(code: str, name: str, said: str, so_far: str, value: str) -> None:
    assert kind(name).hear(said, so_far, frame(name, code)).value == value


@pytest.mark.parametrize(
    "said",
    [
        "Are you open on Sunday?",
        "Would you be open on Sunday?",
        "How much is it for two people?",
        "I don't know yet.",
        "I'm with a client.",
        "What for?",
        "",
    ],
)
@pytest.mark.parametrize("name", sorted(KINDS))
def test_other_words_are_not_about_the_value(name: str, said: str) -> None:
    assert not kind(name).hear(said, "", frame(name)).about_it or (name, said[:1]) == ("yes_no", "I")


@pytest.mark.parametrize(
    ("name", "said"), [("time", "half past three"), ("date", "3/12"), ("name", "Krzyzanowski"), ("choice", "tunna salat")]
)
def test_what_may_be_something_else_is_doubtful(name: str, said: str) -> None:
    assert kind(name).hear(said, "", frame(name)).doubtful


@pytest.mark.parametrize(
    ("code", "name", "said", "options", "grows"),
    [
        ("en", "phone", "212 555 0147", {}, False),
        ("de", "phone", "null acht neun zwölf vierunddreißig", {}, True),
        ("nl", "phone", "0612345678", {}, False),
        ("en", "digits", "4 8 1", {}, True),
        ("en", "digits", "4 8 1", {"length": 3}, False),
        ("en", "digits", "4 8 1", {"least": 3, "most": 5}, True),
    ],
)
def test_a_number_that_may_be_longer_is_growing(code: str, name: str, said: str, options: dict[str, object], grows: bool) -> None:
    heard = kind(name).hear(said, "", Frame(code, date(2026, 11, 27), options=options))
    assert heard.value is not None
    assert heard.growing is grows


def test_a_value_stands_in_no_repr() -> None:
    assert "1111" not in repr(CardDigits().hear("4111 1111 1111 1111", "", frame("card")))


@pytest.mark.parametrize("code", sorted(LANGUAGES))
@pytest.mark.parametrize("name", sorted(KINDS))
def test_every_kind_has_a_question_and_a_hint_in_every_language(code: str, name: str) -> None:
    prepare(code)
    assert LANGUAGES[code].values.ask[name]
    assert kind(name).hint(frame(name, code))
    assert kind(name).schema()["type"] == "string"


@pytest.mark.parametrize(
    ("code", "name", "value", "read"),
    [
        ("en", "phone", "+12125550147", "2 1 2, 5 5 5, 0 1 4 7"),
        ("en", "phone", "+442079460958", "plus 4 4, 2 0, 7 9 4 6, 0 9 5 8"),
        ("en", "email", "jo.smitt@gmail.com", "jo dot S M I T T, at, gmail dot com"),
        ("en", "name", "Jane Nguyen", "Jane Nguyen, N G U Y E N"),
        ("en", "card", "card ending 1111", "the card ending in 1 1 1 1"),
        ("en", "time", "15:30", "3:30 PM"),
        ("de", "time", "15:30", "15:30 Uhr"),
        ("de", "date", "2026-12-01", "Dienstag, 1. Dezember"),
        ("en", "money", "12.50 USD", "$12.50"),
        ("fr", "money", "12.50 EUR", "12,50 €"),
    ],
)
def test_a_value_is_written_to_be_read_back(code: str, name: str, value: str, read: str) -> None:
    assert kind(name).confirm(value, frame(name, code)) == read
