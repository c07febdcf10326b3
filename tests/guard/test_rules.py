"""Blocked phrases, across case, accents, punctuation and the end of the text; topics by pattern."""

from __future__ import annotations

import pytest

from voiceagent.guard.rules import BlockedPhrases, Secrets, Topics, entropy_bits

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


SECRETS = Secrets()
RANDOM = "k9Fq2LmZ7xW4cVb8Rt1Yp6Ns"


@pytest.mark.parametrize(
    "text",
    [
        "The key is AKIA" + "Q3EGRT7XWPL2MZNV" + ".",
        "Use sk-proj-" + RANDOM,
        "ghp_" + RANDOM,
        "xoxb-" + "2048-abcdEFGH1234",
        "sk_" + "live_4eC39HqLyjWDarjtT1",
        "-----BEGIN RSA PRIVATE KEY-----",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
        "Your password is Tr0ub4dor&3.",
        "api key: 8f14e45fce",
        f"It reads {RANDOM}.",
        "The hash is 9e107d9d372bb6826bd81d3542a419d6.",
    ],
)
def test_a_secret_is_found(text: str) -> None:
    assert SECRETS.find(text, last=True).rule == "secrets"


@pytest.mark.parametrize(
    "text",
    [
        "I cannot tell you the password, please reset it.",
        "Your password is not shown here, and a passphrase should be long.",
        "The secret is patience.",
        "Your order AB-48271 is on its way.",
        "Internationalization and counterrevolutionaries are long words.",
        "See https://example.com/orders/48271/status-of-the-parcel for more.",
        "The reference is 123e4567-e89b-12d3-a456-426614174000.",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    ],
)
def test_ordinary_words_pass(text: str) -> None:
    assert not SECRETS.find(text, last=True).blocked


def test_entropy_counts_the_bits_of_a_character() -> None:
    assert entropy_bits("aaaa") == 0
    assert entropy_bits("abcd") == 2
