"""The steps of an agent: a small graph in `agent.yaml`. Each step has its own instructions and tools, collects values, and says
which step follows."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Annotated

import msgspec

from voiceagent.settings.values import is_collected, value_mistakes
from voiceagent.settings_file import did_you_mean

MAX_STEPS, MAX_VALUES, MAX_TRANSITIONS = 64, 32, 32
NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
Constant = str | int | float | bool
Mistake = tuple[str, tuple[str, ...]]
"""A message, and the keys that lead to the setting."""


class NextStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way out of a step. The first whose conditions hold is taken."""

    to: str
    when: dict[str, Constant] = {}
    """Collected values that must be these."""
    after: str = ""
    """The tool whose success it needs. Empty: all values of the step must be known."""
    result: dict[str, Constant] = {}
    """Fields of that tool's result that must be these."""


class StepSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One step."""

    instructions: str = ""
    """Added to the agent's own while the step lasts."""
    tools: Annotated[tuple[str, ...], msgspec.Meta(max_length=128)] | None = None
    """The agent's tools that the model has in it. None: all."""
    values: Annotated[dict[str, dict[str, object]], msgspec.Meta(max_length=MAX_VALUES)] = {}
    """The values to collect, by name: their JSON schemas, or the settings of those that the turn engine collects itself."""
    next: Annotated[tuple[NextStep, ...], msgspec.Meta(max_length=MAX_TRANSITIONS)] = ()
    everywhere: bool = False
    """True if the model may go to it from any step, because the caller asks for it. Going to the first step starts over."""


Steps = Annotated[dict[str, StepSettings], msgspec.Meta(max_length=MAX_STEPS)]
"""Steps by name. The first one is the beginning."""


def step_mistakes(steps: Mapping[str, StepSettings]) -> Iterator[Mistake]:
    """The mistakes of a graph, as far as they show without the tools."""
    collected = {name for step in steps.values() for name in step.values}
    for name, step in steps.items():
        if not NAME.fullmatch(name):
            yield f"step {name!r:.60}: expected a name of small letters, digits and _ (at most 40)", ("steps", name)
        for value in step.values:
            if not NAME.fullmatch(value):
                yield (
                    f"value {value!r:.60}: expected a name of small letters, digits and _ (at most 40)",
                    ("steps", name, "values"),
                )
            elif is_collected(step.values[value]):
                mistakes = value_mistakes(step.values[value], steps)
                yield from ((f"step {name}: {value}: {mistake}", ("steps", name, "values", value)) for mistake in mistakes)
        for following in step.next:
            yield from _of_transition(name, step, following, steps, collected)
    if steps:
        reached = _reachable(steps)
        for name in steps:
            if name not in reached:
                yield f"step {name} cannot be reached: no step has it as `to`, and it is not `everywhere`", ("steps", name)


def _of_transition(
    name: str, step: StepSettings, following: NextStep, steps: Collection[str], collected: Collection[str]
) -> Iterator[Mistake]:
    at = ("steps", name, "next")
    if following.to not in steps:
        yield f"step {name} leads to {following.to!r:.60}, which is no step{did_you_mean(following.to, steps)}", at
    for value in following.when:
        if value not in collected:
            yield f"step {name}: `when` names {value!r:.60}, which no step collects{did_you_mean(value, collected)}", at
    if following.result and not following.after:
        yield f"step {name}: `result` needs `after`, the tool whose result it is", at
    if not following.after and not step.values:
        yield f"step {name} collects nothing, so what leads to {following.to} needs `after`, a tool of it", at
    if following.after and step.tools is not None and following.after not in step.tools:
        near = did_you_mean(following.after, step.tools)
        yield f"step {name}: `after` names {following.after!r:.60}, which is none of its tools{near}", at


def _reachable(steps: Mapping[str, StepSettings]) -> set[str]:
    reached: set[str] = set()
    waiting = [next(iter(steps)), *(name for name, step in steps.items() if step.everywhere)]
    while waiting:
        name = waiting.pop()
        if name in steps and name not in reached:
            reached.add(name)
            waiting.extend(following.to for following in steps[name].next)
    return reached


def unknown_tools(steps: Mapping[str, StepSettings], known: Collection[str]) -> Iterator[str]:
    """Lines about tools that steps name and the agent has not."""
    for name, step in steps.items():
        named = [*(step.tools or ()), *(following.after for following in step.next if following.after)]
        for tool in dict.fromkeys(named):
            if tool not in known:
                yield f"step {name} names the tool {tool!r:.60}, which the agent has not{did_you_mean(tool, known)}"


def as_mermaid(steps: Mapping[str, StepSettings]) -> str:
    """The graph as a Mermaid flowchart."""
    lines = ["flowchart TD"]
    for number, (name, step) in enumerate(steps.items()):
        label = name if not step.values else f"{name}<br/>{', '.join(step.values)}"
        lines.append(f'  {name}(["{label}"])' if number == 0 else f'  {name}["{label}"]')
    for name, step in steps.items():
        for following in step.next:
            why = [f"{value} = {_shown(wanted)}" for value, wanted in following.when.items()]
            if following.after:
                fields = ", ".join(f"{field} = {_shown(wanted)}" for field, wanted in following.result.items())
                why.insert(0, f"after {following.after}" + (f": {fields}" if fields else ""))
            lines.append(f'  {name} -->|"{", ".join(why)}"| {following.to}' if why else f"  {name} --> {following.to}")
    everywhere = [name for name, step in steps.items() if step.everywhere]
    if everywhere:
        lines.append('  anywhere(("any step"))')
        lines += [f"  anywhere -.-> {name}" for name in everywhere]
    return "\n".join(lines)


def _shown(value: Constant) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value).replace('"', "'")
