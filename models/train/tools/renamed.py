"""Tools under other names: the same conversations are learned with signatures that somebody else might have written."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

from models.train.tools.held_out import judged_tools
from models.train.tools.talk import Message
from models.train.tools.yaml_data import cap, read

OTHER_WORD_SHARE, OTHER_STYLE_SHARE = 0.35, 0.5
"""Of the words of a name that have a synonym, those that are exchanged; of the agents, those with names in another style."""


def renamed(
    schemas: Sequence[dict[str, Any]], conversations: Sequence[list[Message]], rng: random.Random
) -> tuple[list[dict[str, Any]], list[list[Message]]]:
    """The tools in another order, with other names and parameters, and the conversations with their calls."""
    style = rng.choice(["snake", "camel"]) if rng.random() < OTHER_STYLE_SHARE else ""
    tools: dict[str, str] = {}
    parameters: dict[str, dict[str, str]] = {}
    found = []
    for schema in rng.sample(schemas, len(schemas)):
        function = schema["function"]
        name = _other(function["name"], style, rng)
        if name in tools.values() or _plain(name) in judged_tools():
            name = function["name"]
        properties, required = function["parameters"].get("properties", {}), function["parameters"].get("required", ())
        names: dict[str, str] = {}
        for old in rng.sample(list(properties), len(properties)):
            new = _other(old, style, rng)
            names[old] = old if new in names.values() or new in properties else new
        tools[function["name"]], parameters[function["name"]] = name, names
        told = {**function["parameters"], "properties": {names[old]: _shuffled(properties[old], rng) for old in names}}
        told["required"] = [names[old] for old in required]
        found.append({**schema, "function": {**function, "name": name, "parameters": told}})
    return found, [[_called(message, tools, parameters) for message in messages] for messages in conversations]


def _called(message: Message, tools: Mapping[str, str], parameters: Mapping[str, Mapping[str, str]]) -> Message:
    if "tool_calls" not in message:
        return message
    calls = []
    for call in message["tool_calls"]:
        name, given = call["function"]["name"], call["function"]["arguments"]
        arguments = {parameters[name][key]: given[key] for key in parameters[name] if key in given}
        calls.append({**call, "function": {"name": tools[name], "arguments": arguments}})
    return {**message, "tool_calls": calls}


def _other(name: str, style: str, rng: random.Random) -> str:
    """`name` in another style, some of its words exchanged for others that mean the same."""
    parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", name)
    if "".join(parts) != name.replace("_", ""):
        return name
    synonyms = read("synonyms")
    parts = [
        rng.choice(synonyms[part.lower()]) if part.lower() in synonyms and rng.random() < OTHER_WORD_SHARE else part.lower()
        for part in parts
    ]
    words = "_".join(parts).split("_")
    if style == "camel" or (not style and any(letter.isupper() for letter in name)):
        return words[0] + "".join(map(cap, words[1:]))
    return "_".join(words)


def _shuffled(schema: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """With an enum's values in another order."""
    return {**schema, "enum": rng.sample(schema["enum"], len(schema["enum"]))} if "enum" in schema else schema


def _plain(name: str) -> str:
    return name.replace("_", "").lower()
