"""The steps of an agent that is a graph: the step in which the call is, the values that are known, and the step that follows. The
language model notes values and goes to a step by tools (`NOTE`, `GO_TO`); what follows is decided here. This file writes
`State.flow`."""

from __future__ import annotations

import json
from collections.abc import Mapping

from msgspec.structs import replace

from voiceagent.conversation import actions as act
from voiceagent.conversation.history import read_arguments
from voiceagent.conversation.rules import StepRule, TransitionRule
from voiceagent.conversation.state import Step, StepProgress

NOTE, GO_TO = "note", "go_to_step"


def begin(step: Step) -> None:
    """The call begins in the first step, or goes on in the one in which another server has left it."""
    rules, left = step.state.rules.steps, step.state.flow
    if left.step in rules:
        _enter(step, left.step, left.values)
    elif rules:
        _enter(step, next(iter(rules)), {})


def tool_ended(step: Step, name: str, output: str, ok: bool) -> None:
    """A tool of a committed reply has a result. Note what it changes, and go to the step that follows."""
    rules, flow = step.state.rules.steps, step.state.flow
    if not ok or flow.step not in rules:
        return
    result = read_arguments(output) or {}
    if name == GO_TO:
        wanted = str(result.get("step"))
        if wanted in rules:
            _enter(step, wanted, {} if wanted == next(iter(rules)) else flow.values)
        return
    if name == NOTE and isinstance(kept := result.get("noted"), dict):
        collected = rules[flow.step].collect.keys() - flow.given_up
        noted(step, {value: told for value, told in kept.items() if value not in collected})
    else:
        _follow(step, name, result)


def noted(step: Step, values: Mapping[str, object]) -> None:
    """Values of the step are known. Go to the step that follows."""
    flow = step.state.flow
    step.put(flow=replace(flow, values={**flow.values, **values}))
    _follow(step, NOTE, {})


def give_up(step: Step, value: str) -> None:
    """The caller does not tell this value of the step."""
    flow = step.state.flow
    step.put(flow=replace(flow, given_up=flow.given_up | {value}))


def go_to(step: Step, name: str) -> None:
    """Go to a step, with the values that are known."""
    _enter(step, name, step.state.flow.values)


def _follow(step: Step, tool: str, result: Mapping[str, object]) -> None:
    flow = step.state.flow
    current = step.state.rules.steps[flow.step]
    following = next((one for one in current.next if _holds(one, current, flow.values, tool, result)), None)
    if following is not None:
        _enter(step, following.to, flow.values)


def _holds(way: TransitionRule, current: StepRule, values: Mapping[str, object], tool: str, result: Mapping[str, object]) -> bool:
    if any(values.get(name) != wanted for name, wanted in way.when.items()):
        return False
    if way.after:
        return way.after == tool and all(result.get(field) == wanted for field, wanted in way.result.items())
    return tool == NOTE and all(name in values for name in current.values)


def _enter(step: Step, name: str, values: Mapping[str, object]) -> None:
    known = json.dumps(values, ensure_ascii=False, sort_keys=True) if values else ""
    step.put(flow=StepProgress(name, values, known, step.state.flow.given_up if values else frozenset()))
    step.do(act.StepChanged(name))
