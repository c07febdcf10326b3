"""Yes, no, and what is neither."""

from __future__ import annotations

import pytest

from voiceagent.turn_taking.languages import language
from voiceagent.turn_taking.request import agrees

YES = {
    "en": (
        "Yes.",
        "Yes, please.",
        "Yes, that's right.",
        "Sure, why not.",
        "Go ahead.",
        "Yes, that's fine.",
        "Of course.",
        "Okay, do it.",
    ),
    "de": ("Ja.", "Ja, bitte.", "Ja, das stimmt.", "Warum nicht?", "Auf jeden Fall.", "Gerne.", "Ja genau, das ist richtig."),
    "es": ("Sí.", "Sí, por favor.", "Por qué no.", "Claro que sí.", "De acuerdo.", "Sí, está bien."),
    "fr": ("Oui.", "Oui, c'est ça.", "Bien sûr.", "D'accord.", "Pourquoi pas ?", "Oui, s'il vous plaît."),
    "it": ("Sì.", "Sì, grazie.", "Va bene.", "Perché no?", "Certo."),
    "pt": ("Sim.", "Sim, por favor.", "Pode ser.", "Com certeza.", "Por que não?"),
    "nl": ("Ja.", "Ja, graag.", "Dat is goed.", "Waarom niet?", "Ja hoor, prima."),
}
NO_YES = {
    "en": ("No.", "Yes, but for five.", "Not really.", "Yes, at eight.", "What?", "", "I would like that to be Friday.", "Why?"),
    "de": ("Nein.", "Ja, aber für fünf.", "Nicht wirklich.", "Ja, um acht.", "Was?"),
    "es": ("No.", "Sí, pero para cinco.", "A las ocho.", "¿Qué?"),
    "fr": ("Non.", "Oui, mais pour cinq.", "À huit heures.", "Quoi ?"),
    "it": ("No.", "Sì, ma per cinque.", "Alle otto."),
    "pt": ("Não.", "Sim, mas para cinco.", "Às oito."),
    "nl": ("Nee.", "Ja, maar voor vijf.", "Om acht uur."),
}


def pairs(by_code: dict[str, tuple[str, ...]]) -> list[tuple[str, str]]:
    return [(code, said) for code, texts in by_code.items() for said in texts]


@pytest.mark.parametrize(("code", "said"), pairs(YES))
def test_a_plain_yes_agrees(code: str, said: str) -> None:
    assert agrees(said, language(code))


@pytest.mark.parametrize(("code", "said"), pairs(NO_YES))
def test_whatever_says_more_or_less_does_not(code: str, said: str) -> None:
    assert not agrees(said, language(code))


def test_nothing_agrees_in_a_language_that_is_not_known() -> None:
    assert not agrees("Tak.", language("pl"))
