"""What a caller says after a request was served, about the same: another value, the same place with another question, or that it
is to be taken back."""

from __future__ import annotations

import random
from dataclasses import replace

from models.train.tools.agents import Agent
from models.train.tools.families import Made
from models.train.tools.requests import Request, finish, request
from models.train.tools.values import Drawn
from models.train.tools.yaml_data import read

BOOKED = {"book_table": "table", "book_appointment": "appointment"}
"""What the demo's tools book: others of its tools, `change_booking` and `cancel_booking`, change that."""
PLACE = "city"
"""The slot that is meant by "there"."""
TAKEN_BACK_SHARE, THERE_SHARE = 0.15, 0.4


def again(asked: Request, agent: Agent, rng: random.Random) -> Request | None:
    """What follows; None where nothing can."""
    if rng.random() < TAKEN_BACK_SHARE and (back := _taken_back(asked, agent, rng)):
        return back
    if PLACE in asked.values and rng.random() < THERE_SHARE and (there := _there(asked, agent, rng)):
        return there
    return _corrected(asked, agent, rng)


def changer(agent: Agent, asked: Request) -> Made | None:
    """The tool of the agent that changes what was booked, where it has one."""
    if agent.is_demo:
        return _named(agent, "change_booking") if asked.made.name in BOOKED else None
    booked = asked.made.family.books
    return next((made for made in agent.tools if booked and made.family.changes), None)


def _corrected(asked: Request, agent: Agent, rng: random.Random) -> Request | None:
    """The same tool with one value changed: a correction, or a follow-up question."""
    params = [param for param in asked.made.params if param.key in asked.values]
    if not params:
        return None
    effect = asked.made.family.effect
    correcting = effect if rng.random() < 0.85 else not effect
    key, slot = (param := rng.choice(params)).key, asked.made.slot(param.key)
    value = slot.draw(rng)
    text = slot.fragment(value[0], rng) if rng.random() < 0.7 else value[0]
    new = _changed(asked, key, value, agent)
    pattern = rng.choice(read("talk")["corrections" if correcting or new.made is not asked.made else "follows"])
    text = value[0] if "for {}" in pattern else text
    return replace(new, said=finish(pattern.replace("{}", text), rng, pattern.endswith("?")))


def _changed(asked: Request, key: str, value: Drawn, agent: Agent) -> Request:
    """The call with another value; of the tool that changes bookings, where something was booked and there is one."""
    tool = changer(agent, asked)
    if tool is None or all(param.key != key for param in tool.params):
        return Request("", {**asked.values, key: value}, asked.made)
    kind = BOOKED.get(asked.made.name)
    return Request("", {key: value} if kind is None else {"kind": (kind, kind), key: value}, tool)


def _there(asked: Request, agent: Agent, rng: random.Random) -> Request | None:
    """Another question about the same place, or the same for another day."""
    place = asked.values[PLACE]
    made = rng.choice([made for made in agent.tools if any(param.key == PLACE for param in made.params)])
    keys = [param.key for param in made.params if param.key != PLACE and param.key in asked.values]
    if made is asked.made:
        if not keys:
            return None
        key = rng.choice(keys)
        value = made.slot(key).draw(rng)
        text = rng.choice(read("talk")["there"]).replace("{}", made.slot(key).fragment(value[0], rng))
        return Request(finish(text, rng, True), {**asked.values, key: value}, made)
    needed = [param.key for param in made.params if param.required and param.key != PLACE]
    bare = request(made, rng, only=needed)
    if bare is None:
        return None
    said = bare.said.rstrip(".?! ")
    return Request(f"{said} there{bare.said[len(said) :].strip() or '.'}", {**bare.values, PLACE: place}, made)


def _taken_back(asked: Request, agent: Agent, rng: random.Random) -> Request | None:
    """A call that cancels what was just done."""
    said = finish(rng.choice(read("talk")["taking_back"]), rng)
    if agent.is_demo:
        timer, booking = _named(agent, "cancel_timer"), _named(agent, "cancel_booking")
        if asked.made.name == "set_timer" and timer is not None:
            return Request(said, {}, timer)
        kind = BOOKED.get(asked.made.name)
        return Request(said, {"kind": (kind, kind)}, booking) if kind and booking is not None else None
    same = [made for made in agent.tools if made.about and made.about == asked.made.about]
    tool = next((made for made in same if made.family.group == "cancel"), None)
    if tool is None or asked.made is tool or not asked.made.family.effect:
        return None
    values = {param.key: asked.values[param.key] for param in tool.params if param.key in asked.values}
    complete = all(param.key in values for param in tool.params if param.required)
    return Request(said, values, tool) if complete else None


def _named(agent: Agent, name: str) -> Made | None:
    return next((made for made in agent.tools if made.name == name), None)
