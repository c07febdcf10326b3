"""Conversations as they are heard, for the training of the small language model's adapter: what the recogniser wrote is what the
call holds."""

from __future__ import annotations

import random
from typing import Any

import pytest

from models.train.adapter_hear import spoken
from models.train.tools.hearing import Mishearing, enum_values, heard, understood
from models.train.tools.talk import Message, said, user


def called(tool: str, /, **arguments: Any) -> Message:
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"type": "function", "function": {"name": tool, "arguments": arguments}}],
    }


def booked(sentence: str, **arguments: Any) -> list[Message]:
    return [user(sentence), called("book", **arguments), {"role": "tool", "content": '{"ok": true}'}, said("Done.")]


def arguments(messages: list[Message]) -> dict[str, Any]:
    found: dict[str, Any] = messages[1]["tool_calls"][0]["function"]["arguments"]
    return found


def test_a_value_is_written_as_it_was_heard() -> None:
    written = booked("A table at seven thirty p.m. for Miller.", time="seven thirty p.m.", name="Miller")
    made = heard(written, lambda _: "a table at 7.30 p.m. for Muller")
    assert made[0]["content"] == "a table at 7.30 p.m. for Muller"
    assert arguments(made) == {"time": "7.30 p.m.", "name": "Muller"}


def test_a_code_is_its_digits_however_they_are_written() -> None:
    written = booked("My number is two one four six.", number="2146")
    assert arguments(heard(written, lambda _: "My number is 2-1-4-6.")) == {"number": "2146"}


@pytest.mark.parametrize("wrong", ["My number is 2-1-4.", "My number is true."])
def test_a_conversation_ends_where_a_value_was_lost(wrong: str) -> None:
    before: list[Message] = [user("Hello."), said("Hello.")]
    written = [*before, *booked("My number is two one four six.", number="2146")]
    assert heard(written, lambda text: wrong if "number" in text else text) == before


def test_a_number_may_be_heard_as_a_word_that_sounds_like_it() -> None:
    written = booked("I need four tires.", count=4)
    assert arguments(heard(written, lambda _: "I need for tires.")) == {"count": 4}
    assert heard(written, lambda _: "I need five tires.") == []


def test_a_number_that_was_said_in_other_words_stays() -> None:
    assert arguments(heard(booked("Wake me in half an hour.", minutes=30), lambda text: text)) == {"minutes": 30}


def _of_pasta(_: str) -> str:
    return "I would like to have one pastor on Fryday"


def test_a_value_of_an_enum_stays() -> None:
    schema = {"function": {"parameters": {"properties": {"kind": {"enum": ["pizza", "pasta"]}, "day": {"type": "string"}}}}}
    fixed = enum_values([schema])
    made = heard(booked("I would like to have one pasta on Friday.", kind="pasta", day="Friday"), _of_pasta, fixed)
    assert arguments(made) == {"kind": "pasta", "day": "Fryday"}


def test_what_follows_has_the_heard_words_too() -> None:
    written = booked("A table for Miller.", name="Miller")
    written[2]["content"] = '{"name": "Miller"}'
    written[3]["content"] = "Thank you, Miller."
    made = heard(written, lambda _: "A table for Muller.")
    assert [message["content"] for message in made[2:]] == ['{"name": "Muller"}', "Thank you, Muller."]


def test_a_sentence_that_was_not_understood_is_left_out() -> None:
    assert not understood("Could you book me a table for four?", "good boots the stable fall")
    assert not understood("Hello there.", "")
    assert understood("And in Oslo?", "and in Oslo.")


def test_codes_are_spoken_digit_by_digit() -> None:
    assert spoken("Order 5-1-3 and AB1234, number 83655.") == "Order 5 1 3 and A B 1 2 3 4, number 8 3 6 5 5."
    assert spoken("It costs $450 at 7:30, or 120 dollars.") == "It costs $450 at 7:30, or 120 dollars."


def test_words_are_misheard_as_others_were() -> None:
    mishearing = Mishearing([("We need four tires.", "We need for tires."), ("Hello there.", "Hello there.")] * 3)
    rng = random.Random(1)
    listened = {mishearing.hear("Four, please, for Hello.", rng) for _ in range(40)}
    assert listened == {"Four, please, for Hello.", "for, please, for Hello."}
