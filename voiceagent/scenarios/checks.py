"""Holds what happened in a call against what was expected. The events are those that the server tells monitors; in calls by
speech, the times are the caller's own. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from num2words import num2words

from voiceagent.json_types import JsonObject
from voiceagent.latency.budgets import percentile
from voiceagent.scenarios.floor_events import FloorEvent, yield_failures
from voiceagent.scenarios.scenario import Constant, Expected, ExpectedTool

_MARKS = re.compile(r"[^\w\s@.:+-]|(?<!\d)[.:](?!\w)|[.:](?!\w)")
_ARTICLES = {"a", "an", "the"}
LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pt")
NUMBERS = {num2words(number, lang=code): str(number) for code in LANGUAGES for number in range(21)}
"""Small numbers in words, as a language model may write them into an argument."""


@dataclass(slots=True)
class Passage:
    """A part of a call: what happened from one thing that the caller did to the next, or all of it."""

    events: list[JsonObject] = field(default_factory=list)
    waits_ms: list[float] = field(default_factory=list)
    """The waits: by text for the first words, by speech from the end of the caller's speech to the agent's first sound."""
    stops_ms: list[float] = field(default_factory=list)
    over_budget: list[str] = field(default_factory=list)
    """Stages that were over budget."""
    floor_events: list[FloorEvent] = field(default_factory=list)

    def of(self, kind: str) -> list[JsonObject]:
        """The events of a type."""
        return [event for event in self.events if event["type"] == kind]

    @property
    def heard(self) -> str:
        """The words that were heard of the agent."""
        return " ".join(str(event["heard"]) for event in self.of("agent.said") if event.get("heard"))

    @property
    def understood(self) -> str:
        """The words that the agent understood."""
        said = [event for event in self.events if event["type"] in ("caller.said", "caller.typed")]
        return " ".join(str(event["text"]) for event in said if event.get("text"))


def failures(expected: Expected, passage: Passage, before: Sequence[JsonObject] = ()) -> Iterator[str]:
    """Each expectation that does not hold, in one line, the judge's apart. `before` are the call's earlier events."""
    yield from _words(expected, passage)
    yield from _tools(expected, passage)
    yield from _times(expected, passage)
    yield from _course(expected, passage, [*before, *passage.events])


def _words(expected: Expected, passage: Passage) -> Iterator[str]:
    heard, understood = passage.heard, passage.understood
    for pattern in expected.says:
        if not re.search(pattern, heard, re.IGNORECASE):
            yield f"says {pattern!r}: heard was {heard!r}"
    for pattern in expected.says_not:
        if found := re.search(pattern, heard, re.IGNORECASE):
            yield f"says_not {pattern!r}: {found[0]!r} was heard in {heard!r}"
    for pattern in expected.understood:
        if not re.search(pattern, understood, re.IGNORECASE):
            yield f"understood {pattern!r}: it was {understood!r}"
    if expected.answered is not None and bool(heard) is not expected.answered:
        yield f"answered {str(expected.answered).lower()}: heard was {heard!r}"


def _tools(expected: Expected, passage: Passage) -> Iterator[str]:
    started, ended = passage.of("tool.started"), {event["tool_call"]: event for event in passage.of("tool.ended")}
    names = [str(event["name"]) for event in started]
    unwanted = names if expected.no_tools is True else [name for name in names if expected.no_tools and name in expected.no_tools]
    if unwanted:
        yield f"no_tools: {', '.join(map(_call, (event for event in started if event['name'] in unwanted)))} was called"
    left = list(started)
    for wanted in expected.tools:
        tool = ExpectedTool(wanted) if isinstance(wanted, str) else wanted
        fits = [i for i, event in enumerate(left) if _fits(tool, event, ended.get(event["tool_call"]))]
        if not fits:
            called = ", ".join(map(_call, started)) or "no tool"
            yield f"tools {tool.name}({_pairs(tool.arguments)}){_outcome(tool)}: called was {called}"
            return
        left = left[fits[0] + 1 :]


def _fits(wanted: ExpectedTool, started: JsonObject, ended: JsonObject | None) -> bool:
    if started["name"] != wanted.name or (wanted.ok is not None and (ended is None or ended["ok"] is not wanted.ok)):
        return False
    given = _arguments(started)
    return all(name in given and alike(given[name], value) for name, value in wanted.arguments.items())


def alike(one: object, other: object) -> bool:
    """True for values that say the same: `7` and "seven", "a table" and "Table"."""
    if isinstance(one, bool | None) or isinstance(other, bool | None):
        return one is other
    return _plain(one) == _plain(other)


def _plain(value: object) -> list[str]:
    words = _MARKS.sub(" ", str(value).casefold()).split()
    words = [NUMBERS.get(word, word) for word in words if word not in _ARTICLES]
    return [word[:-2] if re.fullmatch(r"-?\d+\.0", word) else word for word in words]


def _arguments(event: JsonObject) -> Mapping[str, object]:
    arguments = event.get("arguments")
    try:
        found = json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _call(event: JsonObject) -> str:
    return f"{event['name']}({_pairs(_arguments(event))})"


def _pairs(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in values.items())


def _outcome(tool: ExpectedTool) -> str:
    return "" if tool.ok is None else " that works" if tool.ok else " that fails"


def _times(expected: Expected, passage: Passage) -> Iterator[str]:
    for name, limit, values in (
        ("within_ms", expected.within_ms, passage.waits_ms),
        ("stops_within_ms", expected.stops_within_ms, passage.stops_ms),
    ):
        if limit is not None and (not values or percentile(values, 100) > limit):
            took = f"it took {max(values):.0f} ms" if values else "it did not happen"
            yield f"{name} {limit:g}: {took}"
    if expected.within_budget and passage.over_budget:
        yield f"within_budget: over were {', '.join(dict.fromkeys(passage.over_budget))}"


def _course(expected: Expected, passage: Passage, so_far: Sequence[JsonObject]) -> Iterator[str]:
    broken_off = any(event["status"] == "interrupted" for event in passage.of("agent.said"))
    if expected.interrupted is not None and broken_off is not expected.interrupted:
        yield f"interrupted {str(expected.interrupted).lower()}: {'a reply was broken off' if broken_off else 'no reply was'}"
    if expected.yields is not None:
        yield from yield_failures(expected.yields, [event for event in passage.floor_events if event.behaviour != "turn"])
    steps = [str(event["step"]) for event in so_far if event["type"] == "step.changed"]
    if expected.step and (not steps or steps[-1] != expected.step):
        yield f"step {expected.step}: the call is in {steps[-1] if steps else 'none'}"
    if expected.state:
        kept = [event["state"] for event in so_far if event["type"] == "state.kept"]
        yield from _state(expected.state, kept[-1] if kept else "{}")
    reasons = [str(event["reason"]) for event in so_far if event["type"] == "call.ended"]
    if expected.ended and reasons != [expected.ended]:
        yield f"ended {expected.ended}: {f'it ended as {reasons[0]}' if reasons else 'the call went on'}"


def _state(wanted: Mapping[str, Constant], kept: object) -> Iterator[str]:
    state = json.loads(kept) if isinstance(kept, str) else kept
    for name, value in wanted.items():
        found = state.get(name) if isinstance(state, dict) else None
        if not alike(found, value):
            yield f"state {name}={value!r}: it is {found!r}"
