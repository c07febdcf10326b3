"""Tools of voiceagent itself: `end_call` beside an agent's own, and `note` and `go_to_step` of an agent with steps."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

from models.train.tools.families import FAMILIES, tool
from models.train.tools.played import PlayedAgent
from models.train.tools.requests import finish
from models.train.tools.slots import SLOTS, Slot
from models.train.tools.talk import Message, said, user
from models.train.tools.yaml_data import read
from voiceagent.turn_taking.languages.en import ENGLISH

ENDED_SHARE = 0.5
"""Of the conversations with an agent that may end the call, those that it ends."""
KNOWN_SHARE, CORRECTED_SHARE, ELSEWHERE_SHARE = 0.3, 0.25, 0.3
WORDS = ENGLISH.prompts


def _schema(name: str, description: str, **parameters: Any) -> dict[str, Any]:
    parameters = {"type": "object", **parameters}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


END_CALL = _schema(
    "end_call", WORDS.end_call, properties={"reason": {"type": "string", "maxLength": 300, "description": WORDS.end_call_reason}}
)


def note(values: dict[str, Any]) -> dict[str, Any]:
    """The tool `note` of a step that collects these, by their schemas."""
    return _schema("note", WORDS.note, properties=values)


def go_to_step(steps: Sequence[str]) -> dict[str, Any]:
    """The tool `go_to_step`."""
    step = {"type": "string", "enum": list(steps)}
    return _schema("go_to_step", WORDS.go_to_step, properties={"step": step}, required=["step"])


def ending(
    schemas: Sequence[dict[str, Any]], conversations: Sequence[list[Message]], rng: random.Random
) -> tuple[list[dict[str, Any]], list[list[Message]]]:
    """The agent with `end_call`, some of its conversations to their goodbye. No other goodbye is left in them."""
    byes = {text for text, _ in read("talk")["bye"]}
    kept = [messages for messages in conversations if not any(message["content"] in byes for message in messages)]
    ended = [[*messages, *_goodbye(rng)] if rng.random() < ENDED_SHARE else messages for messages in kept]
    return [*schemas, END_CALL], ended


def _goodbye(rng: random.Random) -> list[Message]:
    endings = read("steps")["goodbyes"]
    reason = rng.choice(endings["reasons"])
    calls = [_call("end_call", {"reason": reason} if rng.random() < 0.7 else {})]
    farewell = {"role": "assistant", "content": rng.choice(endings["said"]), "tool_calls": calls}
    return [user(finish(rng.choice(endings["heard"]), rng)), farewell]


def steps_example(rng: random.Random, conversations: int) -> tuple[PlayedAgent, list[list[Message]]]:
    """An agent in one of its steps, and conversations with it until the step is over."""
    told = read("steps")
    keys = rng.sample([key for key, slot in SLOTS.items() if slot.asks and not slot.enum], rng.choice([1, 1, 2, 2, 3]))
    values = {rng.choice(SLOTS[key].names): SLOTS[key] for key in keys}
    places = rng.sample(list(told["elsewhere"].items()), rng.randint(3, 7))
    elsewhere, topics = dict(places[: rng.choice([0, 1, 2, 3])]), dict(places[3:])
    if len(topics) > 1:
        values = {rng.choice(told["topics"]): _topic(topics), **dict(list(values.items())[: rng.choice([0, 0, 1])])}
    shapes = {name: _shape(slot, rng) for name, slot in values.items()}
    words = " and ".join(name.replace("_", " ") for name in values)
    parts = [rng.choice(told["agents"]), rng.choice(told["instructions"]).replace("{}", words)]
    known = rng.choice(told["known"]) if rng.random() < KNOWN_SHARE else ""
    own = [made.schema for made in (tool(rng.choice(FAMILIES), rng) for _ in range(rng.choice([0, 0, 1, 2])))]
    moving = [note(shapes), *([go_to_step(list(elsewhere))] if elsewhere else [])]
    names = {schema["function"]["name"]: schema for schema in [*own, *moving]}
    ends = [END_CALL] if rng.random() < 0.4 else []
    agent = PlayedAgent("\n\n".join([*parts, *([f"{WORDS.known_values} {known}"] if known else [])]), [*names.values(), *ends])
    return agent, [_step(values, elsewhere, bool(ends), rng) for _ in range(conversations)]


def _step(values: dict[str, Slot], elsewhere: dict[str, list[str]], ends: bool, rng: random.Random) -> list[Message]:
    """One conversation: the values as they are told, one after the other or at once, corrected now and then."""
    messages = [said(rng.choice(read("talk")["greetings"]))] if rng.random() < 0.35 else []
    missing = list(values)
    rng.shuffle(missing)
    asked = ""
    while missing:
        if elsewhere and rng.random() < ELSEWHERE_SHARE / len(values):
            step = rng.choice(list(elsewhere))
            text = finish(rng.choice(elsewhere[step]), rng)
            return [*messages, user(text), _calling(_call("go_to_step", {"step": step}))]
        if ends and rng.random() < 0.08:
            return [*messages, *_goodbye(rng)]
        told = [missing.pop(0) for _ in range(min(len(missing), rng.choice([1, 1, 2])))]
        given, spoken = {}, []
        for name in told:
            words, value = values[name].draw(rng)
            given[name] = int(value) if values[name].type == "integer" else value
            spoken.append(words if asked and rng.random() < 0.5 else values[name].fragment(words, rng))
        messages += [user(finish(_opening(asked, rng).replace("{}", ", ".join(spoken)), rng)), *_noted(given)]
        if missing:
            asked = rng.choice(values[missing[0]].asks)
            messages.append(said(asked))
        elif rng.random() < CORRECTED_SHARE and (free := [name for name in values if not values[name].enum]):
            name = rng.choice(free)
            words, value = values[name].draw(rng)
            again = int(value) if values[name].type == "integer" else value
            text = rng.choice(read("talk")["corrections"]).replace("{}", words)
            messages += [said(rng.choice(read("steps")["kept"])), user(finish(text, rng)), *_noted({name: again})]
    return messages[:-1]


def _opening(asked: str, rng: random.Random) -> str:
    openings: list[str] = read("talk")["answering"] if asked else read("steps")["openings"]
    return rng.choice(openings)


def _noted(given: dict[str, Any]) -> list[Message]:
    return [_calling(_call("note", given)), {"role": "tool", "content": json.dumps({"noted": given}, ensure_ascii=False)}]


def _calling(call: dict[str, Any]) -> Message:
    return {"role": "assistant", "content": "", "tool_calls": [call]}


def _call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "arguments": arguments}}


def _topic(wishes: dict[str, list[str]]) -> Slot:
    """A value that says which of these wishes a caller has."""

    def draw(rng: random.Random) -> tuple[str, str]:
        topic = rng.choice(list(wishes))
        return rng.choice(wishes[topic]), topic

    return Slot(draw, "string", ("reason",), asks=("What is it about?", "How can I help you?"), enum=tuple(wishes))


def _shape(slot: Slot, rng: random.Random) -> dict[str, Any]:
    described = {"description": rng.choice(slot.descriptions)} if slot.descriptions and rng.random() < 0.6 else {}
    return {"type": slot.type, **({"enum": list(slot.enum)} if slot.enum else {}), **described}
