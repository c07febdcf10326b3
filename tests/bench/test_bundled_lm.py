"""The held-out list is fair, and the bundled language model does on a part of it what its card says."""

import random

from bench.bundled.lm import RequestEntry, demo_tools, held_out, history, score
from models.train import domain
from models.train.lm_dialogues import train_conversation
from models.train.lm_replies import TOOLS
from voiceagent.llm.embedded.embedded import EmbeddedEngine
from voiceagent.models.registry import resolve

TRAINED_SENTENCES = 200_000
TOOLS_WITH_VALUES = {name for name, (_, parameters) in TOOLS.items() if parameters} - {"cancel_booking"}
"""The others' requests hold no value that could be held out."""


def last_words(entry: RequestEntry) -> str:
    return str(entry.messages[-1]["content"])


def test_the_list_is_as_large_as_the_card_says() -> None:
    assert (len(held_out("single")), len(held_out("dialogue"))) == (300, 300)
    assert {entry.tool for entry in held_out("single")} == TOOLS_WITH_VALUES
    assert all(domain.is_held_out(last_words(entry)) for entry in (*held_out("single"), *held_out("dialogue")))


def test_no_held_out_sentence_is_in_200000_sentences_of_the_training() -> None:
    judged = {last_words(entry).lower() for entry in (*held_out("single"), *held_out("dialogue"))}
    rng = random.Random(3)
    seen = 0
    while seen < TRAINED_SENTENCES:
        for message in train_conversation(rng, 4):
            if message["role"] != "user":
                continue
            seen += 1
            text = str(message["content"])
            assert text.lower() not in judged
            assert not domain.is_held_out(text)


def test_the_demo_agent_has_exactly_the_tools_of_the_training() -> None:
    schemas = {schema["function"]["name"]: schema["function"] for schema in demo_tools()}
    assert list(schemas) == list(TOOLS)
    for name, (_, parameters) in TOOLS.items():
        assert list(schemas[name]["parameters"]["properties"]) == list(parameters)


def test_a_list_entry_becomes_the_history_of_a_call() -> None:
    entry = next(entry for entry in held_out("dialogue") if any(m["role"] == "tool" for m in entry.messages))
    messages = history(entry.messages)
    asked = next(index for index, message in enumerate(messages) if message.tool_calls)
    assert messages[asked + 1].tool_call_id == messages[asked].tool_calls[0].call_id
    assert messages[-1].role == "user"


async def test_the_bundled_model_makes_the_right_calls_on_a_part_of_the_list() -> None:
    engine = EmbeddedEngine(resolve("micro-lm"))
    try:
        found = await score(engine, held_out("single")[:40])
    finally:
        await engine.close()
    assert found.tool >= 97.5
    assert found.exact >= 85
