"""The steps of an agent that is a graph: the step in which the call is, the values that are known, and the step that follows. The
language model notes values and goes to a step by tools (`NOTE`, `GO_TO`); what follows is decided here. This file writes
`State.flow`."""

from __future__ import annotations

import json
from collections.abc import Mapping

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
    values = flow.values
    if name == NOTE and isinstance(kept := result.get("noted"), dict):
        values = {**values, **kept}
        step.put(flow=StepProgress(flow.step, values, flow.known))
    current = rules[flow.step]
    following = next((one for one in current.next if _holds(one, current, values, name, result)), None)
    if following is not None:
        _enter(step, following.to, values)


def _holds(way: TransitionRule, current: StepRule, values: Mapping[str, object], tool: str, result: Mapping[str, object]) -> bool:
    if any(values.get(name) != wanted for name, wanted in way.when.items()):
        return False
    if way.after:
        return way.after == tool and all(result.get(field) == wanted for field, wanted in way.result.items())
    return tool == NOTE and all(name in values for name in current.values)


def _enter(step: Step, name: str, values: Mapping[str, object]) -> None:
    known = json.dumps(values, ensure_ascii=False, sort_keys=True) if values else ""
    step.put(flow=StepProgress(name, values, known))
    step.do(act.StepChanged(name))
