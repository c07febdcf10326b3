"""Following a caller into another language, with inertia."""

from __future__ import annotations

from voiceagent.turn_taking.spoken_language import SpokenLanguage


def after(*turns: tuple[str, str]) -> str:
    spoken = SpokenLanguage("en")
    for heard, words in turns:
        spoken = spoken.after(heard, words)
    return spoken.code


def test_two_turns_in_a_row_change_the_language() -> None:
    assert after(("de", "Ich brauche bitte Hilfe."), ("de", "Mein Internet geht nicht.")) == "de"


def test_one_turn_does_not_nor_do_two_with_another_between() -> None:
    assert after(("de", "Ich brauche bitte Hilfe.")) == "en"
    assert after(("de", "Ich brauche bitte Hilfe."), ("en", "I need some help."), ("de", "Mein Internet geht nicht.")) == "en"
    assert after(("de", "Ich brauche bitte Hilfe."), ("nl", "Mijn internet doet niets.")) == "en"


def test_short_turns_and_turns_of_no_known_language_change_nothing() -> None:
    assert after(("de", "Ja, bitte."), ("de", "Stopp!"), ("de", "Danke schön.")) == "en"
    assert after(("de", "Ich brauche bitte Hilfe."), ("", "Mein Internet geht nicht."), ("de", "Es geht gar nichts.")) == "de"


def test_the_way_back_is_the_same() -> None:
    there = (("de", "Ich brauche bitte Hilfe."), ("de", "Mein Internet geht nicht."))
    assert after(*there, ("en", "Can you say that in English?"), ("en", "I do not speak German.")) == "en"
