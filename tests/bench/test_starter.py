"""The requests to small language models, and how answers to them are judged."""

import json
import re

import pytest

from bench.starter.cases import DEMO, Agent, Turn, agents, made_tool
from bench.starter.judging import judge_absent, judge_calls, judge_fact, same, values_heard
from bench.starter.normal import heard_as, words
from bench.starter.talk import Talk
from bench.starter.transcript import transcript
from voiceagent.llm.embedded.embedded import EmbeddedEngine
from voiceagent.models.registry import resolve

SPLITS = ("dev", "held_out")
AT_LEAST = {
    ("demo", "call"): 200,
    ("unseen", "call"): 300,
    ("none", "none"): 150,
    ("facts", "fact"): 100,
    ("facts", "absent"): 25,
}


def turns(split: str) -> list[tuple[Agent, Turn]]:
    return [(agent, turn) for agent in agents(split) for dialogue in agent.dialogues for turn in dialogue]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("seven thirty p.m.", "7:30 PM"),
        ("eight p.m.", "8pm"),
        ("six thirty p.m.", "6.30 pm"),
        ("eight p.m.", "8:00 PM."),
        ("four zero nine one eight", "4-0-9 18"),
        ("one hundred and twenty five", "125"),
        ("three thousand two hundred and six", "3,206"),
        ("two point five", "2.5"),
        ("two oh four", "204"),
        ("the twenty-first of May", "21st of May"),
        ("nineteen ninety four", "1994"),
        ("Doctor Hill", "dr. hill"),
        ("twenty dollars", "$20"),
        ("San José", "san jose"),
    ],
)
def test_spellings_of_the_same_words_are_one(one: str, other: str) -> None:
    assert words(one) == words(other)


@pytest.mark.parametrize(
    ("one", "other"), [("seven p.m.", "19:00"), ("seven", "seventeen"), ("table", "tables"), ("seven p.m.", "seven"), ("", "x")]
)
def test_other_words_are_not(one: str, other: str) -> None:
    assert words(one) != words(other)


def test_what_was_misheard_is_found_in_its_place() -> None:
    said, heard = words("What's the weather in Oslo tomorrow?"), words("What's the weather nostril tomorrow?")
    assert heard_as(["tomorrow"], said, heard) == ["tomorrow"]
    assert heard_as(["oslo"], said, heard) == ["nostril"]
    assert heard_as(["paris"], said, heard) == []


@pytest.mark.parametrize("split", SPLITS)
def test_every_right_call_is_one_that_the_tool_takes_and_is_judged_right(split: str) -> None:
    for agent in agents(split):
        tools = {tool.name: tool for tool in agent.tools()}
        for dialogue in agent.dialogues:
            for turn in dialogue:
                made = []
                for call in turn.calls:
                    values = {
                        key: next((one for one in wanted if one is not None), None) for key, wanted in call.arguments.items()
                    }
                    given = {key: value for key, value in values.items() if value is not None}
                    tools[call.name].parse(json.dumps(given))
                    made.append((call.name, given))
                assert judge_calls(made, turn.calls, turn.said, turn.said).exact, turn


def test_the_held_out_sets_are_as_large_as_they_are_said_to_be() -> None:
    kinds: list[tuple[str, str]] = [(turn.set, turn.kind) for _, turn in turns("held_out")]
    assert {kind: kinds.count(kind) for kind in AT_LEAST if kinds.count(kind) < AT_LEAST[kind]} == {}
    with_tools = [agent for agent in agents("held_out") if agent.own_tools]
    assert len(with_tools) >= 12
    assert sum(len(agent.tools()) for agent in with_tools) >= 40
    assert len({agent.name for agent, turn in turns("held_out") if turn.set == "facts"}) >= 25


def test_nothing_held_out_is_in_dev() -> None:
    dev, held_out = ({agent.name for agent in agents(split)} - {DEMO} for split in SPLITS)
    assert not dev & held_out
    said_dev, said_held_out = ({" ".join(words(turn.said)) for _, turn in turns(split)} for split in SPLITS)
    assert not {said for said in said_dev & said_held_out if len(said.split()) > 3}


def test_no_long_sentence_stands_there_twice() -> None:
    for split in SPLITS:
        said = [" ".join(words(turn.said)) for _, turn in turns(split)]
        assert not {one for one in said if said.count(one) > 1 and len(one.split()) > 3}


def test_every_fact_stands_in_the_instructions_or_is_a_yes_or_no() -> None:
    short = r"yes|no|not|dont|cannot|cant|arent|free"
    for split in SPLITS:
        for agent, turn in turns(split):
            if turn.kind == "fact":
                known = f" {' '.join(words(agent.instructions))} "
                stands = [key for key in turn.keys if all(f" {' '.join(words(part))} " in known for part in key.split(" & "))]
                assert stands or any(re.fullmatch(short, key) for key in turn.keys), turn


def test_a_wrong_value_a_missing_call_and_one_too_many_are_wrong() -> None:
    [turn] = next(dialogue for agent in agents("held_out") if agent.name == "hotel" for dialogue in agent.dialogues)
    right = ("free_rooms", {"date": "May 4th"})
    assert judge_calls([right], turn.calls, turn.said, turn.said).exact
    for made in ([], [("free_rooms", {"date": "May"})], [right, ("free_rooms", {"date": "May 5th"})], [("free_rooms", None)]):
        assert not judge_calls(made, turn.calls, turn.said, turn.said).exact


def test_a_value_that_was_misheard_is_right_only_against_the_words_as_heard() -> None:
    calls = next(turn.calls for agent, turn in turns("dev") if turn.said == "And in Oslo?")
    verdict = judge_calls([("get_weather", {"city": "Nostril"})], calls, "And in Oslo?", "And the nostril.")
    assert verdict.named
    assert not verdict.exact
    assert not values_heard(calls, "And in Oslo?", "And in nostril.")
    assert judge_calls([("get_weather", {"city": "Nostril"})], calls, "And in Oslo?", "And in nostril.").as_heard


def test_a_compound_is_the_same_in_one_word_and_in_two() -> None:
    assert same("checkup", "check up")
    assert not same("checks", "check up")


def test_an_empty_argument_is_one_left_out() -> None:
    calls = next(turn.calls for agent, turn in turns("dev") if turn.said == "How's the weather outside?")
    assert judge_calls([("get_weather", {"city": "", "day": None})], calls, "", "").exact
    assert not judge_calls([("get_weather", {"city": "Rome"})], calls, "", "").exact


def test_facts_are_told_in_any_spelling_but_not_in_a_flood() -> None:
    assert judge_fact("We close at nine p.m.", ("9 pm",))
    assert judge_fact("It is open from 8:30 until 7.", ("8 30 & 7",))
    assert not judge_fact("We close at ten.", ("9",))
    assert not judge_fact("word " * 100 + "9", ("9",))


def test_what_is_not_known_is_said_and_not_made_up() -> None:
    assert judge_absent("I'm sorry, I don't know that.", "")
    assert not judge_absent("It costs 20 dollars.", "")
    assert not judge_absent("I don't know, maybe 20 dollars.", "")
    assert judge_absent("I don't know, but a ticket costs 20 dollars.", "A ticket costs $20.")


def test_a_line_of_the_sets_makes_the_schema_of_a_function_tool() -> None:
    tool = made_tool('free(date: str, kind: Literal["a", "b"] = "a") -- How many are free. => {"free": 3}')
    assert tool.schema["function"] == {
        "name": "free",
        "description": "How many are free.",
        "parameters": {
            "type": "object",
            "properties": {"date": {"type": "string"}, "kind": {"enum": ["a", "b"]}},
            "required": ["date"],
        },
    }


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("A table for four at seven thirty p.m.", "A table for four at 7:30 p.m."),
        ("On May third at nine a.m.", "On May 3rd at 9 a.m."),
        ("the twenty first of October", "the 21st of October"),
        ("my first order, number zero eight two six", "my first order, number 0826"),
        ("add seventeen and twenty five", "add 17 and 25"),
        ("six hundred and twelve", "612"),
        ("eighty two point five kilos", "82.5 kilos"),
    ],
)
def test_a_faultless_transcript_has_numbers_in_digits(said: str, written: str) -> None:
    assert transcript(said) == written


@pytest.mark.parametrize("split", SPLITS)
def test_a_faultless_transcript_says_the_same(split: str) -> None:
    for _, turn in turns(split):
        assert words(transcript(turn.said)) == words(turn.said)


async def test_a_dialogue_runs_the_agents_tools_and_goes_on_from_their_results() -> None:
    engine = EmbeddedEngine(resolve("micro-lm"))
    try:
        talk = Talk(engine.open("call"), next(agent for agent in agents("dev") if agent.name == DEMO))
        booked = await talk.say("Book a table for four tomorrow at 7:30 PM.")
        changed = await talk.say("Make it for six people.")
    finally:
        await engine.close()
    assert booked.calls == (("book_table", {"people": 4, "day": "tomorrow", "time": "7:30 PM"}),)
    assert changed.calls == (("change_booking", {"kind": "table", "people": 6}),)
    assert "six" in changed.text
