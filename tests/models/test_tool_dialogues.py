"""What the adapter of the small language model learns from: calls that fit their tools, arguments that were said, and nothing
that it is judged on."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from functools import cache
from typing import Any

from bench.starter.cases import agents
from bench.starter.normal import words
from models.train.adapter_prompt import prompt_text, template
from models.train.tools.agents import Agent
from models.train.tools.conversations import example
from models.train.tools.demo import DEMO_TOOLS
from models.train.tools.families import FAMILIES, family_of_kind
from models.train.tools.held_out import is_judged
from models.train.tools.talk import Message
from models.train.tools.yaml_data import read
from voiceagent.resources import demo_agent_file
from voiceagent.tools.modules import load_tools

AGENTS = 300
SENTENCE_WORDS = 4
"""Shorter ones ("Thank you very much.") are said everywhere."""
TYPES: dict[str, type | tuple[type, ...]] = {"string": str, "integer": int, "number": (int, float), "boolean": bool}


@cache
def examples() -> list[tuple[Agent, list[list[Message]]]]:
    rng = random.Random(3)
    return [example(rng, 5) for _ in range(AGENTS)]


def calls() -> Iterator[tuple[Agent, list[Message], dict[str, Any]]]:
    """All calls, with the agent and with what went before."""
    for agent, conversations in examples():
        for messages in conversations:
            for at, message in enumerate(messages):
                for call in message.get("tool_calls", ()):
                    yield agent, messages[:at], call["function"]


def fits(value: Any, schema: dict[str, Any]) -> bool:
    if "anyOf" in schema:
        return any(fits(value, one) for one in schema["anyOf"])
    if "enum" in schema and value not in schema["enum"]:
        return False
    kind = schema.get("type")
    return kind is None or (isinstance(value, TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool)))


def test_every_call_fits_its_tools_schema() -> None:
    for agent, _, function in calls():
        schema = next(one["function"] for one in agent.schemas if one["function"]["name"] == function["name"])
        properties = schema["parameters"]["properties"]
        assert set(schema["parameters"]["required"]) <= set(function["arguments"]), function
        for name, value in function["arguments"].items():
            assert fits(value, properties[name]), (function, properties[name])


def test_the_words_of_every_argument_were_said() -> None:
    checked = 0
    for agent, before, function in calls():
        schema = next(one["function"] for one in agent.schemas if one["function"]["name"] == function["name"])
        heard = " ".join(message["content"] for message in before if message["role"] == "user")
        for name, value in function["arguments"].items():
            part = schema["parameters"]["properties"][name]
            if isinstance(value, str) and "enum" not in part:
                assert was_said(value, heard), (value, before)
                checked += 1
    assert checked > AGENTS


def was_said(value: str, heard: str) -> bool:
    """The value, or each of its words, or a code letter by letter."""
    pieces = [plain(piece) for piece in value.split(" ") if piece not in "+-*/"]
    letters = "".join(filter(str.isalnum, heard)).lower()
    return plain(value) in plain(heard) or all(piece in plain(heard) for piece in pieces) or value.lower() in letters


def plain(text: str) -> str:
    """Letters and digits in one form, without what a caller says while thinking."""
    for filler in read("talk")["fillers"]:
        text = text.replace(f" {filler}", "")
    return "".join(words(text.replace(" dot ", ".").replace(" at ", "@")))


def test_conversations_alternate() -> None:
    for _, conversations in examples():
        for messages in conversations:
            roles = [message["role"] for message in messages]
            assert roles[-1] == "assistant"
            turns = [role for role, _ in itertools.groupby(roles)]
            turns = turns[1:] if turns[0] == "assistant" else turns
            followed = {"user": {"assistant"}, "assistant": {"user", "tool"}, "tool": {"assistant"}}
            assert turns[0] == "user"
            assert all(after in followed[before] for before, after in itertools.pairwise(turns))
            for before, after in itertools.pairwise(messages):
                assert ("tool_calls" in before) == (after["role"] == "tool") or before["role"] == "tool"
            asked = sum(len(message.get("tool_calls", ())) for message in messages)
            assert asked == roles.count("tool")


def test_every_kind_of_turn_is_there() -> None:
    talk = read("talk")
    said = [message["content"] for _, some in examples() for messages in some for message in messages]
    assert any(text in talk["unknown"] for text in said)
    assert any(text.startswith(tuple(talk["denials"])) for text in said)
    assert any(text.startswith("Please tell me the") for text in said)
    assert any(text.startswith("I can ") for text in said)
    assert any(fact.statement in agent.instructions for agent, _ in examples() for fact in agent.facts)
    assert any(agent.is_demo for agent, _ in examples())


def test_an_example_is_the_same_for_the_same_seed() -> None:
    one, other = (example(random.Random(9), 3)[1] for _ in range(2))
    assert one == other


def test_no_placeholder_is_left() -> None:
    for agent, conversations in examples():
        assert not {"{", "}", "["} & set(agent.instructions)
        for messages in conversations:
            for message in messages:
                assert message["role"] == "tool" or not {"{", "}", "["} & set(message["content"]), message


def test_the_demos_tools_are_known_as_they_are() -> None:
    true = [tool.schema for tool in load_tools("tools.py", demo_agent_file().parent)]
    demo = Agent("Be brief.", (), DEMO_TOOLS, is_demo=True)
    assert prompt_text(demo) == template().render(messages=[{"role": "system", "content": "Be brief."}], tools=true)


def made_names() -> set[str]:
    kinds = read("kinds")
    families = [
        family_of_kind(pattern, kind["kind"], shown, ("x0",))
        for pattern in kinds["tools"]
        for kind in kinds["kinds"]
        for shown in (kind["kind"], kind["names"][0])
    ]
    return {name for family in (*FAMILIES, *families) for name in family.all_names}


def test_no_tool_of_the_held_out_agents_is_in_the_training_data() -> None:
    held_out = {tool.name for agent in agents("held_out") if agent.own_tools for tool in agent.tools()}
    known = {name.replace("_", "").lower() for name in made_names()}
    assert held_out
    assert sum(name.replace("_", "").lower() in known for name in held_out) == 0


def test_no_sentence_of_the_held_out_agents_is_in_the_training_data() -> None:
    said = {
        message["content"] for _, some in examples() for messages in some for message in messages if message["role"] == "user"
    }
    turns = [turn.said for agent in agents("held_out") for dialogue in agent.dialogues for turn in dialogue]
    held_out = {" ".join(words(text)) for text in turns if len(text.split()) > SENTENCE_WORDS}
    common = len(held_out & {" ".join(words(text)) for text in said})
    assert held_out
    assert common == 0


def test_a_conversation_with_a_held_out_sentence_is_left_out() -> None:
    turns = [turn.said for agent in agents("held_out") for dialogue in agent.dialogues for turn in dialogue]
    longest = max(turns, key=len)
    assert is_judged(["Hello.", longest.upper()])
    assert not is_judged(["Hello.", "Thank you very much."])
