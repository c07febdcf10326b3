"""Personal data is taken out of what is kept, and other words stay."""

from __future__ import annotations

import pytest

from voiceagent.store.personal_data import KINDS, PersonalData
from voiceagent.turn_taking.languages import LANGUAGES

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "book",
            "description": "Book.",
            "parameters": {
                "type": "object",
                "properties": {
                    "surname": {"type": "string"},
                    "mail": {"type": "string", "format": "email"},
                    "dish": {"type": "string"},
                },
            },
        },
    }
]


def masked(text: str, *kinds: str, code: str = "en") -> str:
    return PersonalData(kinds or KINDS, [LANGUAGES[code]]).mask(text)  # type: ignore[arg-type]  # kinds by name


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Call me at +49 30 1234567, please.", "Call me at [phone], please."),
        ("It is (555) 010-4477.", "It is [phone]."),
        ("My number is 0176/12345678.", "My number is [phone]."),
        ("Five five five, zero one four four.", "[phone]."),
        ("It's 555 double four oh one two.", "It's [phone]."),
        ("Write to ann.lee@example.com soon.", "Write to [email] soon."),
        ("That is ann dot lee at example dot co dot uk, all lower case.", "That is [email], all lower case."),
        ("4111 1111 1111 1111 is my card.", "[card] is my card."),
        ("4111-1111-1111-1111", "[card]"),
        ("Hello, my name is Zoltan Kovács and I need a table.", "Hello, my name is [name] and I need a table."),
        ("This is Mary Ann O'Neil speaking.", "This is [name] speaking."),
        ("Ask for Dr. Weber.", "Ask for Dr. [name]."),
    ],
)
def test_personal_data_is_masked(said: str, kept: str) -> None:
    assert masked(said) == kept


@pytest.mark.parametrize(
    "said",
    [
        "A table for four at seven on Friday.",
        "Order 48213, from the 12th of May 2026.",
        "It costs 1,250 euros and 99 cents.",
        "Meet me at the station.",
        "I am fine, thank you.",
        "The version is 3.11.7.",
        "One, two, three, go!",
        "This is it.",
    ],
)
def test_other_words_stay(said: str) -> None:
    assert masked(said) == said


@pytest.mark.parametrize(
    ("code", "said", "kept"),
    [
        ("de", "Ich heiße Jörg Müller, null eins sieben sechs vier vier fünf.", "Ich heiße [name], [phone]."),
        ("de", "j punkt müller at beispiel punkt de", "[email]"),
        ("fr", "Je m'appelle Éloïse Dupont.", "Je m'appelle [name]."),
        ("es", "Me llamo Íñigo Pérez.", "Me llamo [name]."),
        ("it", "Mi chiamo Chiara Rossi.", "Mi chiamo [name]."),
        ("nl", "Mijn naam is Joris Bakker.", "Mijn naam is [name]."),
        ("pt", "Meu nome é João Souza.", "Meu nome é [name]."),
    ],
)
def test_each_language_has_its_forms(code: str, said: str, kept: str) -> None:
    assert masked(said, code=code) == kept


def test_only_the_kinds_that_are_asked_for_are_masked() -> None:
    said = "I am Ann, 555 010 4477, ann@example.com."
    assert masked(said, "email") == "I am Ann, 555 010 4477, [email]."
    assert masked(said, "phone") == "I am Ann, [phone], ann@example.com."
    assert PersonalData().mask(said) == said
    assert not PersonalData().of_call().is_on


def test_what_a_tool_got_is_masked_wherever_it_stands_in_the_call() -> None:
    redactor = PersonalData(KINDS, [LANGUAGES["en"]], TOOLS).of_call()
    assert redactor.mask("Kovacs with a K, the soup please.") == "Kovacs with a K, the soup please."
    redactor.note_tool("book", '{"surname": "Kovacs", "mail": "x@y.example", "dish": "soup"}')
    redactor.note_tool("book", "no JSON")
    assert redactor.mask("KOVACS with a K, the soup please.") == "[name] with a K, the soup please."
    assert redactor.masked({"said": ["Kovacs", 5], "ok": True}) == {"said": ["[name]", 5], "ok": True}
    assert PersonalData(KINDS, [], TOOLS).of_call().mask("Kovacs") == "Kovacs"  # another call
