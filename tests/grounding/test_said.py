"""An argument is what somebody said, or a choice of the schema; anything else is asked for."""

import json
from typing import Any

import pytest

from bench.bundled.lm import demo_tools, held_out, history
from voiceagent.conversation.history import Message, ToolCall
from voiceagent.grounding.choices import was_chosen
from voiceagent.grounding.language import ENGLISH
from voiceagent.grounding.limits import ModelLimits
from voiceagent.grounding.said import Checked, Said, check
from voiceagent.models.registry import registry

MEANS = registry().model("micro-lm").limits.means
TABLE = {"properties": {"people": {"type": "integer"}, "day": {"type": "string"}, "time": {"type": "string"}}}


def checked(arguments: dict[str, Any], *said: str, schema: dict[str, Any] = TABLE) -> Checked:
    return check(arguments, schema, Said([Message("user", text) for text in said], ENGLISH), ENGLISH)


@pytest.mark.parametrize(
    ("said", "time", "sent"),
    [
        ("Book a table for two at seven tonight.", "7:44", "7 PM"),
        ("Book a table for two at seven tonight.", "7 PM", "7 PM"),
        ("Two people, at seven.", "7 PM", "7"),
        ("Two people, at 7 a.m.", "7 PM", "7 AM"),
        ("Two of us at half past nine.", "8:9", "9:30"),
        ("Two of us at half past nine.", "9:30", "9:30"),
        ("For two at noon.", "noon", "noon"),
        ("For two at 19:30.", "7:30 PM", "7:30 PM"),
        ("For two at 730 tonight.", "7:30 PM", "7:30 PM"),
        ("For two at 730.", "7:30", "7:30"),
        ("For two at 1130 a.m.", "11:30 AM", "11:30 AM"),
    ],
)
def test_a_time_is_sent_as_it_was_said(said: str, time: str, sent: str) -> None:
    found = checked({"people": 2, "time": time}, said)
    assert (found.arguments["time"], found.unsaid) == (sent, ())


@pytest.mark.parametrize(
    ("said", "time"),
    [
        ("A table for two tonight.", "7:30"),
        ("A table for two tonight.", "2 PM"),
        ("A table for two, at seven or at eight tonight.", "9:30"),
    ],
)
def test_a_time_that_nobody_said_is_asked_for(said: str, time: str) -> None:
    assert "time" in checked({"people": 2, "time": time}, said).unsaid


def test_one_number_does_not_stand_for_two_things() -> None:
    assert checked({"people": 7, "time": "7:30"}, "For four people.", "Seven.").unsaid == ("people", "time")
    assert checked({"people": 7, "time": "7"}, "Seven of us at seven.").unsaid == ()


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("A table for two", 2),
        ("a couple of us", 2),
        ("half an hour, please", 30),
        ("Remind me in two hours.", 120),
        ("twenty-five minutes", 25),
        ("3.5 of them", 3.5),
        ("three and a half cups", 3.5),
        ("half a cup", 0.5),
        ("both of us", 2),
        ("the plate is K-L-M 4-2-2", "KLM422"),
        ("on the third of May", "May third"),
        ("on May 3rd", "May third"),
        ("order four eight two, one three", "48213"),
        ("order 48 213", "48213"),
        ("order 4-8-2-1-3", "48213"),
        ("my number is 830-551", "830551"),
        ("my number is 2-1-4-6", 2146),
        ("it's two one four six", 2146),
        ("a hair cut", "haircut"),
        ("in oslo", "Oslo"),
        ("seven times eight", "7 * 8"),
        ("What is 775 minus three?", "775 - 3"),
        ("anything", ""),
        ("anything", None),
        ("anything", True),
        ("milk and bread", ["bread", "milk"]),
        ("Anna from Oslo", {"name": "Anna", "city": "Oslo"}),
    ],
)
def test_what_was_said_in_other_words_was_said(said: str, value: Any) -> None:
    assert checked({"it": value}, said, schema={}).unsaid == ()


def test_one_name_does_not_stand_for_two_things() -> None:
    schema = {"properties": {"owner": {"type": "string"}, "pet": {"type": "string"}}, "required": ["pet"]}
    assert checked({"owner": "Max", "pet": "Max"}, "Do you have my dog Max?", schema=schema).unsaid == ("owner",)
    assert checked({"owner": "Max", "pet": "Max"}, "Max's dog is called Max.", schema=schema).unsaid == ()
    assert checked({"owner": "Rex", "pet": "Max"}, "Do you have Max? I'm Rex.", schema=schema).unsaid == ()


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("A table for two", 4),
        ("order 48213, order 48216", "48215"),
        ("in Rome", "Paris"),
        ("7 plus 8", "7 * 8"),
        ("my number is 2-1-4-6", 2147),
        ("it's 12 or 34", 1234),
        ("for three months", "Monday"),
        ("some carrots, please", "car"),
        ("three cups", 3.5),
        ("milk", ["bread", "milk"]),
        ("Anna", {"name": "Anna", "city": "Oslo"}),
    ],
)
def test_what_nobody_said_is_unsaid(said: str, value: Any) -> None:
    assert checked({"it": value}, said, schema={}).unsaid == ("it",)


@pytest.mark.parametrize(
    ("said", "written", "sent"),
    [
        ("My order number is for 8271.", "8271", "48271"),
        ("My order number is for 8271.", "48271", "48271"),
        ("The reference is to 33 one.", "331", "2331"),
        ("My PIN is 48 to 71.", "4871", "48271"),
        ("It's extension ate 0 4 for 9.", "049", "80449"),
        ("The zip code was 9 won 4 too 7.", "947", "91427"),
        ("My order number is 8271 for the two of us.", "8271", "8271"),
        ("My order is for 8271.", "8271", "8271"),
        ("I called to 8271 about my number.", "8271", "8271"),
        ("What is the number for 20 people?", "20", "20"),
    ],
)
def test_a_digit_of_a_code_that_was_written_as_a_word_of_its_sound_is_put_back(said: str, written: str, sent: str) -> None:
    schema = {"properties": {"order_number": {"type": "string"}}}
    assert checked({"order_number": written}, said, schema=schema) == Checked({"order_number": sent}, (), sent != written)


def test_words_that_sound_like_digits_stay_words_elsewhere() -> None:
    assert checked({"people": 4}, "My room number is for two people.").unsaid == ("people",)
    assert checked({"people": 2}, "My room number is for two people.").unsaid == ()


def test_a_code_that_was_said_otherwise_is_put_right_where_there_is_only_one() -> None:
    assert checked({"order": "48143"}, "Where's my order 48 213?").arguments == {"order": "48213"}
    assert checked({"order": "21383"}, "Where is my order 4838? How's 213?").unsaid == ("order",)
    assert checked({"order": "4814"}, "Where's my order 48213?").unsaid == ("order",)


@pytest.mark.parametrize(
    ("said", "value", "sent"),
    [
        ("I'd like help to build muscle.", "building muscle", "build muscle"),
        ("I want to lose weight.", "weight loss", "lose weight"),
        ("Could somebody repair my bike?", "repairing my bikes", "repair my bike"),
        ("What is forty eight divided by six?", "408 / 6", "48 / 6"),
        ("What's 12 plus 5 minus 3?", "12 + 50 - 3", "12 + 5 - 3"),
    ],
)
def test_words_in_another_form_are_sent_as_they_were_said(said: str, value: str, sent: str) -> None:
    found = checked({"it": value}, "Hello.", said, schema={})
    assert (found.arguments["it"], found.unsaid, found.mended) == (sent, (), True)


def test_a_sum_with_more_numbers_than_were_said_is_asked_for() -> None:
    assert checked({"it": "4 + 8 + 6"}, "What is 48 plus six?", schema={}).unsaid == ("it",)


KIND = {"enum": ["check-up", "cleaning", "emergency"], "description": "emergency (toothache, pain), check-up: control"}
SIZE = {"oneOf": [{"const": "s", "title": "small"}, {"const": "l", "title": "large", "description": "big or huge"}]}
UNIT = {"anyOf": [{"enum": ["C", "F"]}, {"type": "null"}]}


@pytest.mark.parametrize(
    ("said", "value", "schema"),
    [
        ("I need a check up.", "check-up", KIND),
        ("A checkup, please.", "check-up", KIND),
        ("My teeth have to be cleaned.", "cleaning", KIND),
        ("I have a terrible toothache.", "emergency", KIND),
        ("Just a control.", "check-up", KIND),
        ("It is an emergency!", "emergency", KIND),
        ("A large one.", "l", SIZE),
        ("A really big one.", "l", SIZE),
        ("In C, please.", "C", UNIT),
        ("Never mind.", None, UNIT),
        ("Change my oil.", "oil_change", {"enum": ["oil_change", "tire_change"]}),
        ("The brakes squeak.", "brakeTest", {"enum": ["brakeTest", "lights"]}),
        ("For three.", 3, {"enum": [1, 2, 3]}),
        ("Hello.", "only", {"enum": ["only"]}),
        ("Hello.", "small", {"enum": ["small", "large"], "default": "small"}),
        ("Yoga and boxing.", ["yoga", "boxing"], {"type": "array", "items": {"enum": ["yoga", "boxing", "cycling"]}}),
        ("A big one.", {"size": "l"}, {"type": "object", "properties": {"size": SIZE}}),
        ("Yes.", True, {"type": "boolean"}),
    ],
)
def test_a_choice_is_said_by_its_words_or_by_those_that_the_tool_sets_beside_it(said: str, value: Any, schema: Any) -> None:
    assert checked({"it": value}, said, schema={"properties": {"it": schema}}).unsaid == ()


@pytest.mark.parametrize(
    ("said", "value", "schema"),
    [
        ("I have a terrible toothache.", "check-up", KIND),
        ("I have a terrible toothache.", "cleaning", KIND),
        ("A small one.", "l", SIZE),
        ("It is cold.", "C", UNIT),
        ("Change something.", "oil_change", {"enum": ["oil_change", "tire_change"]}),
        ("For three.", 2, {"enum": [1, 2, 3]}),
        ("Hello.", "large", {"enum": ["small", "large"], "default": "small"}),
        ("Yoga.", ["yoga", "boxing"], {"type": "array", "items": {"enum": ["yoga", "boxing", "cycling"]}}),
        ("A small one.", {"size": "l"}, {"type": "object", "properties": {"size": SIZE}}),
        ("Hello.", "K", UNIT),
    ],
)
def test_a_choice_that_nobody_said_is_unsaid(said: str, value: Any, schema: Any) -> None:
    assert checked({"it": value}, said, schema={"properties": {"it": schema}}).unsaid == ("it",)


def test_a_tool_that_was_called_names_a_choice() -> None:
    schema = {"properties": {"kind": {"enum": ["table", "appointment"]}}}
    booked = Message("assistant", "Booked.", (ToolCall("1", "book_table", "{}"),))
    said = Said([Message("user", "Something for two."), booked, Message("user", "Cancel it.")], ENGLISH)
    assert check({"kind": "table"}, schema, said, ENGLISH).unsaid == ()
    assert check({"kind": "appointment"}, schema, said, ENGLISH).unsaid == ("kind",)


@pytest.mark.parametrize("empty", [{}, {"city": ""}, {"city": None}])
def test_what_a_tool_needs_and_nobody_gave_is_unsaid(empty: dict[str, Any]) -> None:
    needs = {"properties": {"city": {"type": "string"}, "day": {"type": "string"}}, "required": ["city"]}
    assert checked(empty, "How is the weather?", schema=needs).unsaid == ("city",)
    assert checked({"city": "Oslo"}, "How is the weather in Oslo?", schema=needs).unsaid == ()
    for allowed in ({"type": ["string", "null"]}, {"type": "string", "default": "here"}):
        assert checked({"city": None}, "Hello.", schema={"properties": {"city": allowed}, "required": ["city"]}).unsaid == ()


@pytest.mark.parametrize(
    ("said", "value", "sent"),
    [
        ("At 9:30, please.", "930", "9:30"),
        ("At nine thirty, please.", "930", "9:30"),
        ("At 930, please.", "930", "9:30"),
        ("At 9:30 p.m.", "930 PM", "9:30 PM"),
        ("At 930 a.m.", "930 AM", "9:30 AM"),
        ("At 9:30.", "9.30", "9:30"),
        ("At 11:15.", "1115", "11:15"),
        ("At five past seven.", "0705", "7:05"),
        ("At 19:30.", "19:30", "19:30"),
    ],
)
def test_a_time_keeps_its_colon(said: str, value: str, sent: str) -> None:
    assert checked({"time": value}, said).arguments["time"] == sent


def test_what_stands_in_lists_and_objects_is_put_right_or_asked_for_as_well() -> None:
    when = {"type": "object", "properties": {"day": {}, "time": {"type": "string"}}, "required": ["day"]}
    schema = {"properties": {"when": when, "times": {"type": "array", "items": {"type": "string"}}}}
    found = checked({"when": {"day": "Friday", "time": "930"}}, "On Friday at 9:30.", schema=schema)
    assert (found.arguments, found.unsaid) == ({"when": {"day": "Friday", "time": "9:30"}}, ())
    assert checked({"times": ["930", "1015"]}, "At 9:30 or at 10:15.", schema=schema).arguments == {"times": ["9:30", "10:15"]}
    for lacking in ({"time": "9:30"}, {"day": "", "time": "9:30"}, {"day": "Monday", "time": "9:30"}):
        assert checked({"when": lacking}, "On Friday at 9:30.", schema=schema).unsaid == ("when",)


def test_digits_that_are_no_time_stay_digits() -> None:
    assert checked({"order": "930"}, "My order is 930.").arguments == {"order": "930"}
    assert checked({"order": "4830"}, "My order is 48 30, I came at nine.").arguments == {"order": "4830"}


def test_what_a_tool_answered_was_said_but_not_what_its_error_says() -> None:
    asked = Message("assistant", "It is booked at 8.", (ToolCall("1", "last_order", "{}"),))
    answered = Message("tool", json.dumps({"order": "48213", "seats": 4}), tool_call_id="1")
    refused = Message("tool", json.dumps({"error": "Tables are for 1 to 20 people."}), tool_call_id="1")
    said = Said(
        [Message("system", "Be brief, in 9 words."), Message("user", "My last order."), asked, answered, refused], ENGLISH
    )
    assert check({"order": "48213", "people": 4}, {}, said, ENGLISH).unsaid == ()
    for value in (20, 8, 9):  # of an error, of the agent itself, of its instructions
        assert check({"people": value}, {}, said, ENGLISH).unsaid == ("people",)


def test_no_right_call_of_the_held_out_list_is_refused_or_changed() -> None:
    parameters = {tool["function"]["name"]: tool["function"]["parameters"] for tool in demo_tools()}
    entries = [*held_out("single"), *held_out("dialogue")]
    found = [
        check(entry.arguments, parameters[entry.tool], Said(history(entry.messages), ENGLISH, MEANS), ENGLISH)
        for entry in entries
    ]
    refused = [one for one in found if one.unsaid or one.mended]
    assert len(refused) <= len(entries) // 100, refused


def test_a_choice_counts_as_said_by_a_text_that_stands_for_a_word_of_the_house() -> None:
    limits = ModelLimits(answer_words="is it").knowing({"Xarelto": ("our elto",)})
    said = Said([Message("user", "Do you have our elto?")], ENGLISH, limits.means)
    schema = {"type": "string", "enum": ["Xarelto", "Eliquis"]}
    assert was_chosen("Xarelto", schema, said, ENGLISH)
    assert not was_chosen("Eliquis", schema, said, ENGLISH)
    assert limits.answer_words.split() == ["is", "it", "Xarelto"]
