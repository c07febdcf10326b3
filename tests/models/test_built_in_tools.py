"""Conversations with voiceagent's own tools, and with tools under other names, for the training of the small language model's
adapter."""

from __future__ import annotations

import random
from typing import Any

from models.train.adapter_prompt import message_text, prompt_text
from models.train.tools.built_in import END_CALL, WORDS, ending, go_to_step, note, steps_example
from models.train.tools.held_out import judged_tools
from models.train.tools.played import played
from models.train.tools.renamed import renamed
from models.train.tools.scenarios import scenarios
from models.train.tools.talk import Message, said, user
from tests.models.test_tool_dialogues import fits
from voiceagent.call.step_tools import GoToTool, NoteTool
from voiceagent.tools.call_tools import EndCallTool

ROWS = 150


def check(schemas: list[dict[str, Any]], conversations: list[list[Message]]) -> int:
    """That every call fits its schema; how many there are."""
    parameters = {schema["function"]["name"]: schema["function"]["parameters"] for schema in schemas}
    calls = [call["function"] for messages in conversations for one in messages for call in one.get("tool_calls", ())]
    for call in calls:
        schema = parameters[call["name"]]
        assert set(schema.get("required", ())) <= set(call["arguments"])
        assert all(fits(value, schema["properties"][name]) for name, value in call["arguments"].items()), call
    return len(calls)


def test_the_schemas_are_those_of_the_tools() -> None:
    values = {"day": {"type": "string", "description": "the day"}, "people": {"type": "integer"}}
    own = [END_CALL, note(values), go_to_step(["slot"])]
    tools = [EndCallTool(WORDS.end_call, WORDS.end_call_reason), NoteTool("", WORDS.note, values)]
    schemas = [*(tool.schema for tool in tools), GoToTool(WORDS.go_to_step, ["slot"]).schema]
    assert [prompt_text(Shown([one])) for one in own] == [prompt_text(Shown([one])) for one in schemas]


class Shown:
    """An agent with tools alone."""

    instructions = ""

    def __init__(self, schemas: list[dict[str, Any]]) -> None:
        self.schemas = schemas


def test_calls_of_steps_fit_their_schemas() -> None:
    rng = random.Random(1)
    for agent, conversations in (steps_example(rng, 4) for _ in range(ROWS)):
        assert check(agent.schemas, conversations)


def test_a_goodbye_is_said_in_the_turn_that_ends_the_call() -> None:
    talks = [[user("Are you open?"), said("Yes.")] for _ in range(20)] + [[user("Bye."), said("Goodbye.")]]
    schemas, conversations = ending([], talks, random.Random(1))
    ended = [messages for messages in conversations if check(schemas, [messages])]
    assert 0 < len(ended) < len(conversations) == 20
    assert all("oodbye" in message_text(messages[-1])[1].split("\n<tool_call>")[0] for messages in ended)


def test_renamed_tools_are_called_by_their_new_names() -> None:
    rng, old = random.Random(1), {tool.tool.name for one in scenarios() for tool in one.tools}
    new = set[str]()
    for agent, conversations in (played(rng, 3) for _ in range(ROWS)):
        schemas, found = renamed(agent.schemas, conversations, rng)
        assert check(schemas, found) == check(agent.schemas, conversations)
        new |= {schema["function"]["name"] for schema in schemas}
    assert len(new - old) > ROWS / 2
    assert not {name.replace("_", "").lower() for name in new} & judged_tools()
