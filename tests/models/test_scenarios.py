"""The agents whose callers were written by hand, for the training of the small language model's adapter: calls that fit their
tools, values that were said, and nothing that the model is judged on."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest

from bench.starter.cases import agents
from models.train.tools.demo import DEMO_TOOLS
from models.train.tools.exchanged_facts import FIGURE, with_other_facts
from models.train.tools.held_out import is_judged
from models.train.tools.played import played
from models.train.tools.scenarios import Call, Scenario, digit_by_digit, scenarios, with_other_values
from tests.models.test_tool_dialogues import fits

ROWS = 150


def schemas(one: Scenario) -> dict[str, dict[str, Any]]:
    made = [tool.schema for tool in one.tools] or [made.schema for made in DEMO_TOOLS]
    return {schema["function"]["name"]: schema["function"]["parameters"] for schema in made}


def calls() -> Iterator[tuple[Scenario, str, Call]]:
    """All calls, with all that was said in the dialogue up to there."""
    for one in scenarios():
        for dialogue in one.dialogues:
            said = ""
            for turn in dialogue:
                said = f"{said} {turn.said}"
                for call in turn.calls:
                    yield one, said, call


def test_every_call_fits_its_tools_schema() -> None:
    for one, said, call in calls():
        schema = schemas(one)[call.name]
        assert set(schema.get("required", ())) <= set(call.arguments), said
        for name, value in call.arguments.items():
            assert fits(value, schema["properties"][name]), (one.name, said, call)


def test_every_word_of_an_argument_was_said() -> None:
    for one, said, call in calls():
        for name, value in call.arguments.items():
            schema = schemas(one)[call.name]["properties"][name]
            if isinstance(value, str) and "enum" not in schema and name != "expression":
                spoken = digit_by_digit(value) if value.isdigit() else value
                assert spoken.lower() in said.lower().replace(" oh ", " zero ") or re.search(r"\d", value), (one.name, said, call)


def test_what_is_judged_is_not_among_them() -> None:
    judged = [agent for split in ("dev", "held_out") for agent in agents(split)]
    held_out = {tool.name.replace("_", "").lower() for agent in agents("held_out") if agent.own_tools for tool in agent.tools()}
    own = {tool.tool.name.replace("_", "").lower() for one in scenarios() for tool in one.tools}
    assert not own & held_out
    assert not {one.name for one in scenarios()} & {agent.name for agent in judged}
    assert not [turn.said for one in scenarios() for dialogue in one.dialogues for turn in dialogue if is_judged([turn.said])]


def test_played_conversations_alternate_and_leave_no_placeholder() -> None:
    rng = random.Random(4)
    for agent, conversations in (played(rng, 4) for _ in range(ROWS)):
        names = {schema["function"]["name"] for schema in agent.schemas}
        for messages in conversations:
            roles = [role for role, _ in itertools.groupby(message["role"] for message in messages)]
            assert roles[-1] == "assistant"
            assert all(after != before for before, after in itertools.pairwise(roles))
            for message in messages:
                assert all(call["function"]["name"] in names for call in message.get("tool_calls", ()))
                assert message["role"] == "tool" or not {"{", "}"} & set(message["content"]), message


def test_the_same_seed_gives_the_same() -> None:
    one, other = (played(random.Random(9), 3) for _ in range(2))
    assert one == other


@pytest.mark.parametrize("seed", range(20))
def test_exchanged_values_are_said_and_called_alike(seed: int) -> None:
    rng = random.Random(seed)
    dialogue = rng.choice([dialogue for one in scenarios() for dialogue in one.dialogues if dialogue[0].calls])
    names = {name: ["Zanzibar", "Quokka"] for turn in dialogue for call in turn.calls for name in call.arguments}
    turns = with_other_values(dialogue, names, rng)
    said = " ".join(turn.said for turn in turns)
    for turn in turns:
        for call in turn.calls:
            assert all(str(value) in said for value in call.arguments.values() if value in ("Zanzibar", "Quokka"))


def test_other_facts_stand_in_the_instructions_and_in_the_answers_alike() -> None:
    rng = random.Random(5)
    changed = 0
    for one in scenarios():
        other = with_other_facts(one, rng)
        before = {dialogue[0].said: dialogue[0].answer for dialogue in one.dialogues if len(dialogue) == 1}
        for dialogue in other.dialogues:
            said, answer = dialogue[0].said, dialogue[0].answer
            if len(dialogue) > 1 or answer == before[said]:
                continue
            changed += 1
            told = set(FIGURE.findall(before[said])) & set(FIGURE.findall(one.instructions))
            assert len(told) == len(set(FIGURE.findall(answer)) & set(FIGURE.findall(other.instructions))), answer
        assert other.tools == one.tools
    assert changed > 200
