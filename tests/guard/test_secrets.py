"""What is a secret, and what only looks like one."""

from __future__ import annotations

import pytest

from voiceagent.guard.secrets import Secrets, entropy_bits

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
