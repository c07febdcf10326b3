"""The steps of an agent: a small graph in `agent.yaml`. Each step has its own instructions and tools, collects values, and says
which step follows."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, Literal

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
    handoff: str = ""
    """Another agent's file (relative to this one), which takes the call over here."""
    summary: bool = True
    """True if that agent reads a summary of what was said, which the language model writes."""
    pass_values: Annotated[tuple[str, ...], msgspec.Meta(max_length=MAX_VALUES)] | None = None
    """The values that it gets. None: all that are known."""
    everywhere: bool | Literal["person"] = False
    """True if the model may go to it from any step, because the caller asks for it. Going to the first step starts over.
    `person`: besides, a caller who asks for a person is taken there without the model, unless they can be transferred to one."""
    final: bool = False
    """True if the model leads nowhere from it. The caller still may, by asking for a person or to start over."""


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
        if step.final and step.next:
            yield f"step {name} is `final`, so its `next` would never be taken; leave one of them out", ("steps", name)
        yield from _of_handoff(name, step, collected, is_first=name == next(iter(steps)))
        for following in step.next:
            yield from _of_transition(name, step, following, steps, collected)
    asked_for = [name for name, step in steps.items() if step.everywhere == "person"]
    for name in asked_for[1:]:
        yield f"step {name}: callers who ask for a person go to {asked_for[0]} already; write `everywhere: true`", ("steps", name)
    if steps:
        reached = _reachable(steps)
        for name in steps:
            if name not in reached:
                yield f"step {name} cannot be reached: no step has it as `to`, and it is not `everywhere`", ("steps", name)


def _of_handoff(name: str, step: StepSettings, collected: Collection[str], *, is_first: bool) -> Iterator[Mistake]:
    at = ("steps", name)
    if not step.handoff:
        if step.pass_values is not None:
            yield f"step {name}: `pass_values` needs `handoff`, the file of the agent that gets them", at
        return
    own = next((key for key in ("instructions", "tools", "values", "next", "final") if getattr(step, key)), "")
    if own:
        yield f"step {name} hands the call off, so its `{own}` would never be used; put them into {step.handoff}", at
    if is_first:
        yield f"step {name} is the first and hands the call off; begin with the agent of {step.handoff} instead", at
    for value in step.pass_values or ():
        if value not in collected:
            yield f"step {name}: `pass_values` names {value!r:.60}, which no step collects{did_you_mean(value, collected)}", at


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


def as_mermaid(
    steps: Mapping[str, StepSettings], file: str = "", agents: Mapping[str, Mapping[str, StepSettings]] = MappingProxyType({})
) -> str:
    """The graph as a Mermaid flowchart, with those of the `agents` that it hands calls off to, by their files; `file` is the
    name of its own among them."""
    prefixes = {name: f"a{number}_" for number, name in enumerate((name for name in agents if name != file), 1)} | {file: ""}
    lines = ["flowchart TD", *_drawn(steps, "")]
    for name, others in agents.items():
        if name != file:
            box = [f'  subgraph {prefixes[name]}agent["{name}"]', *_drawn(others, prefixes[name], "    ")]
            lines += [*box, *([] if others else [f'    {prefixes[name]}all["{name}"]']), "  end"]
    for name, graph in {file: steps, **agents}.items():
        for step, settings in graph.items():
            if settings.handoff:
                first = next(iter(steps if settings.handoff == file else agents[settings.handoff]), "all")
                lines.append(f"  {prefixes[name]}{step} ==>|handoff| {prefixes[settings.handoff]}{first}")
    return "\n".join(lines)


def as_data(steps: Mapping[str, StepSettings]) -> list[dict[str, object]]:
    """The graph for programs: of each step what it collects, where it leads and on which conditions."""
    return [
        {
            "name": name,
            "values": list(step.values),
            "next": [{"to": way.to, "when": condition(way)} for way in step.next],
            "handoff": step.handoff or None,
            "everywhere": step.everywhere,
            "final": step.final,
        }
        for name, step in steps.items()
    ]


def _drawn(steps: Mapping[str, StepSettings], prefix: str, indent: str = "  ") -> Iterator[str]:
    """The lines of one agent's steps."""
    for number, (name, step) in enumerate(steps.items()):
        label = name if not step.values else f"{name}<br/>{', '.join(step.values)}"
        box = f'(["{label}"])' if number == 0 or step.final else f'[["{label}"]]' if step.handoff else f'["{label}"]'
        yield f"{indent}{prefix}{name}{box}"
    for name, step in steps.items():
        for following in step.next:
            why = condition(following)
            label = f'|"{why}"|' if why else ""
            yield f"{indent}{prefix}{name} -->{label} {prefix}{following.to}"
    everywhere = [name for name, step in steps.items() if step.everywhere]
    if everywhere:
        yield f'{indent}{prefix}anywhere(("any step"))'
        yield from (f"{indent}{prefix}anywhere -.-> {prefix}{name}" for name in everywhere)


def condition(way: NextStep) -> str:
    """The conditions of a way out, in words; empty: there are none but that all values are known."""
    why = [f"{value} = {_shown(wanted)}" for value, wanted in way.when.items()]
    if way.after:
        fields = ", ".join(f"{field} = {_shown(wanted)}" for field, wanted in way.result.items())
        why.insert(0, f"after {way.after}" + (f": {fields}" if fields else ""))
    return ", ".join(why)


def _shown(value: Constant) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value).replace('"', "'")
