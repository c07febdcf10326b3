"""After a tool's result nothing is said but what stands in it; without one, nothing but the model's own sentences."""

import json
from typing import Any

import pytest

from voiceagent.conversation.history import Message, ToolCall
from voiceagent.grounding.language import ENGLISH
from voiceagent.grounding.limits import ModelLimits
from voiceagent.grounding.replies import ReplyCheck, question, read_out

LIMITS = ModelLimits(
    tools={"get_weather": ("city",)},
    asks={"city": "In which city?"},
    sentences=("Hello! How can I help you?", "In which city?"),
    claims=("I can tell the weather.",),
    answer_words="it is in degrees sorry",
    tells={"get_weather": ("weather", "temperature")},
)
SNOW = {"city": "Oslo", "weather": "snow", "temperature": -3}


def after(result: dict[str, Any], *before: Message) -> list[Message]:
    call = ToolCall("1", "get_weather", '{"city": "Oslo"}')
    asked = Message("user", "Is it cloudy in Oslo?")
    return [*before, asked, Message("assistant", "", (call,)), Message("tool", json.dumps(result), tool_call_id="1")]


def spoken(text: str, messages: list[Message], *, has_all_tools: bool = True) -> str:
    """What is spoken of a reply that comes letter by letter."""
    check = ReplyCheck(LIMITS, messages, ENGLISH, has_all_tools=has_all_tools)
    passed = "".join(check.add(letter) for letter in text) + check.finish()
    return f"{passed} {check.instead or ''}".strip()


def test_a_reply_from_the_result_is_spoken_as_it_is() -> None:
    assert spoken("It is snow in Oslo, minus -3 degrees.".replace("minus ", ""), after(SNOW)) == "It is snow in Oslo, -3 degrees."


@pytest.mark.parametrize(
    "reply",
    ["It is cloudy in Oslo, -3 degrees.", "It is snow in Paris.", "It is", "It is cloudy", "It is snow in Oslo -4 degrees."],
)
def test_a_reply_that_says_something_else_gives_way_to_the_result(reply: str) -> None:
    assert spoken(reply, after(SNOW)) == "City Oslo, weather snow, temperature -3."


def test_what_was_said_of_another_result_before_does_not_count() -> None:
    before = [Message("user", "And Rome?"), Message("assistant", "It is sunny in Rome, 20 degrees.")]
    assert spoken("It is sunny in Rome, 20 degrees.", after(SNOW, *before)) == "City Oslo, weather snow, temperature -3."


def test_the_clauses_before_a_wrong_one_are_spoken() -> None:
    assert spoken("It is snow in Oslo, 16 degrees.", after(SNOW)) == (
        "It is snow in Oslo, City Oslo, weather snow, temperature -3."
    )


def test_what_a_reply_leaves_out_is_added() -> None:
    assert spoken("It is -3 degrees in Oslo.", after(SNOW)) == "It is -3 degrees in Oslo. Weather snow."


def test_an_error_is_never_read_out() -> None:
    wrong = {"error": "There is no city Oslo."}
    assert spoken("Sorry. There is no city Oslo.", after(wrong)) == "Sorry. There is no city Oslo."
    assert spoken("It is sunny in Oslo.", after(wrong)) == "Sorry, that did not work."


def test_without_a_result_only_its_own_sentences_and_what_was_said_before_are_spoken() -> None:
    hello = [Message("user", "Hello.")]
    assert spoken("Hello! How can I help you?", hello) == "Hello! How can I help you?"
    assert spoken('Hello! How can IHow can IHello! 1:47"}}', hello) == "Hello!"
    assert spoken("Itomorrow, yes.", hello) == "Sorry, I did not understand."
    again = [*hello, Message("assistant", "It is sunny in Rome."), Message("user", "Say that again.")]
    assert spoken("It is sunny in Rome.", again) == "It is sunny in Rome."


def test_a_claim_is_spoken_only_where_it_holds() -> None:
    asked = [Message("user", "What can you do?")]
    assert spoken("I can tell the weather.", asked) == "I can tell the weather."
    assert spoken("I can tell the weather.", asked, has_all_tools=False) == "I'm sorry, I can't help with that."
    assert spoken("Hello! I can tell the weather.", asked, has_all_tools=False) == "Hello!"


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ({"date": "Friday", "free": 3}, "Date Friday, free 3."),
        ({"free_rooms": [1, 2], "note": None, "late": True}, "Free rooms 1, 2, late true."),
        ({"result": {"a": 1, "b": "two"}}, "Result a 1, b two."),
        ({}, "Sorry, that did not work."),
    ],
)
def test_a_result_is_read_out_plainly(result: dict[str, Any], said: str) -> None:
    assert read_out(json.dumps(result), ENGLISH) == said


def test_an_argument_is_asked_for_in_the_models_words_or_by_its_name() -> None:
    schema = {"properties": {"order_number": {"type": "string"}, "minutes": {"type": "integer"}}}
    assert question(("city",), schema, LIMITS, ENGLISH) == "In which city?"
    assert question(("order_number", "minutes"), schema, LIMITS, ENGLISH) == "What order number? How many minutes?"
