"""The demo agent's own tools, so that the model knows them as they are."""

from __future__ import annotations

import random

from models.train.tools.families import Family, Made, Param
from models.train.tools.slots import slots_of
from models.train.tools.yaml_data import read

SLOT_OF = {"order_number": "code"}
"""Of the parameters that are not called as their slot is."""
SLOTS = slots_of(read("demo")["slots"])


def demo_tools(rng: random.Random) -> tuple[Made, ...]:
    """All of them, or some."""
    if rng.random() < 0.7:
        return DEMO_TOOLS
    chosen = sorted(rng.sample(range(len(DEMO_TOOLS)), rng.randint(3, 9)))
    return tuple(DEMO_TOOLS[index] for index in chosen)


def _demo_tools() -> tuple[Made, ...]:
    found = []
    for one in read("demo")["tools"]:
        family = Family.of({**one, "names": [one["name"]], "descriptions": [one["description"]]})
        properties = one["properties"]
        params = [Param(SLOT_OF.get(name, name), name, name in one["required"], properties[name]) for name in properties]
        found.append(Made(family, "", one["name"], one["description"], tuple(params), SLOTS))
    return tuple(found)


DEMO_TOOLS = _demo_tools()
