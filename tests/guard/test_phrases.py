"""Blocked phrases, across case, accents, punctuation and the end of the text; topics by pattern."""

from __future__ import annotations

import pytest

from voiceagent.guard.phrases import BlockedPhrases, Topics

PHRASES = BlockedPhrases(["Acme Rocket", "damn", "don't tell", "café noir deluxe"])


@pytest.mark.parametrize(
    "text",
    [
        "Try the ACME rocket.",
        "acme, … rocket!",
        "Damn!",
        "I don’t tell",
        "dont tell anyone",
        "A Cafe Noir, deluxe.",
        "acme acme rocket",
    ],
)
def test_a_phrase_is_found_however_it_is_written(text: str) -> None:
    assert PHRASES.find(text, last=True).rule == "phrases"


@pytest.mark.parametrize("text", ["Acme makes rockets.", "acme's rocket", "The damned.", "rocket acme", ""])
def test_other_words_pass(text: str) -> None:
    assert not PHRASES.find(text, last=True).blocked


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("Buy Acme, ", "Acme, "),
        ("Buy Acme Rock", "Acme Rock"),
        ("Buy Acm", "Acm"),
        ("Buy Acme Rocket", "Acme Rocket"),
        ("Buy Acme Rockets", ""),
        ("Buy Acme rolls ", ""),
        ("A café noir del", "café noir del"),
        ("Buy it. ", ""),
    ],
)
def test_what_may_be_the_beginning_of_a_phrase_is_held(text: str, held: str) -> None:
    verdict = PHRASES.find(text, last=False)
    assert not verdict.blocked
    assert verdict.hold == len(held)


def test_a_whole_phrase_is_found_once_another_word_begins() -> None:
    assert PHRASES.find("Buy Acme Rocket ", last=False).blocked
    assert not PHRASES.find("Buy Acme Rock", last=True).blocked


def test_a_topic_is_named_as_the_operator_named_it() -> None:
    topics = Topics({"medicine": (r"\bdos(e|age)\b", r"\bdiagnos"), "politics": r"\belections?\b"})
    assert topics.find("The usual DOSAGE is low.", last=True).rule == "medicine"
    assert topics.find("Elections are near.", last=False).rule == "politics"
    assert not topics.find("The weather is fine.", last=True).blocked
