"""A scenario as its file says it. A file holds several."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from voiceagent.errors import ConfigError
from voiceagent.settings_file import SettingsFile, did_you_mean

ADVICE = "see docs/scenarios.md"
Way = Literal["text", "speech"]
Constant = str | int | float | bool | None
Seconds = Annotated[float, msgspec.Meta(ge=0, le=600)]
Milliseconds = Annotated[float, msgspec.Meta(gt=0, le=600_000)]
Pattern = Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
Keys = Annotated[str, msgspec.Meta(pattern=r"^([0-9A-D*]{1,31}#?|#)$")]
Behaviour = Literal["turn", "interruption", "stop", "backchannel", "sound", "to_others", "background"]
INTERRUPTING = ("interruption", "stop")
"""Behaviours with which the caller takes the floor. The rest, but a turn, ask nothing of the agent."""


class ExpectedTool(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tool that must have been called."""

    name: str
    arguments: Mapping[str, Constant] = {}
    """Arguments that must be these. Text is compared without case, articles and marks; others may stand beside them."""
    ok: bool | None = None
    """True: it must have worked; False: it must have failed."""


class Expected(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The checks on a turn, or on the whole call. Patterns are regular expressions, searched without case."""

    says: tuple[Pattern, ...] = ()
    """In what was heard of the agent, each."""
    says_not: tuple[Pattern, ...] = ()
    understood: tuple[Pattern, ...] = ()
    """In what the agent understood, each."""
    tools: tuple[str | ExpectedTool, ...] = ()
    """Tools that were called, in this order; others may stand between."""
    no_tools: bool | tuple[str, ...] = False
    """True: no tool was called; names: none of these."""
    within_ms: Milliseconds | None = None
    """The longest wait for the reply."""
    stops_within_ms: Milliseconds | None = None
    """The longest time from the onset of an interruption to the agent's silence."""
    interrupted: bool | None = None
    """True: a reply was broken off; False: none was."""
    yields: bool | None = None
    """True: the agent stopped for this in time; False: it neither broke its reply off nor answered. By speech."""
    answered: bool | None = None
    """True: something was heard of the agent; False: it said nothing."""
    step: str = ""
    """The step that the call is in."""
    state: Mapping[str, Constant] = {}
    """The call's state; other keys may stand beside these."""
    ended: str = ""
    """The reason why the call ended."""
    within_budget: bool = False
    """True: no stage was over the p95 of its budget."""
    judge: str = ""
    """A question to the judge that must be answered with yes, about the conversation so far."""


class RecordedSpeech(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Speech out of a file."""

    audio: str
    """A WAV or FLAC file; its path begins in the folder of the scenario."""
    text: str = ""
    """Its words, for calls by text."""


class CallerStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that the caller does."""

    say: str | RecordedSpeech = ""
    sound: str = ""
    """A WAV or FLAC file without words, such as a door or a cough. By text there is none."""
    press: Keys = ""
    """Keys of a telephone, one after another. `#` or a pause ends the number."""
    level_db: Annotated[float, msgspec.Meta(ge=-60, le=20)] = 0
    """Says it so much louder."""
    behaviour: Behaviour = "turn"
    """The caller's purpose, for the measures."""
    over_reply_after_s: Seconds | None = None
    """Says it while the agent speaks, so long after the beginning of the reply to the step before."""
    wait_s: Seconds = 0
    """Waits first."""
    expect: Expected = Expected()

    @property
    def spoken(self) -> str | RecordedSpeech:
        """Words or a sound; empty where keys are pressed, or nothing happens."""
        return RecordedSpeech(self.sound) if self.sound else self.say

    @property
    def text(self) -> str:
        """The words, or the number that is keyed in, as a caller types them."""
        words = self.say.text if isinstance(self.say, RecordedSpeech) else self.say
        return words or (self.press[:-1] if self.press[1:].endswith("#") else self.press)

    @property
    def does_something(self) -> bool:
        """True unless it only waits."""
        return bool(self.spoken or self.press)

    @property
    def asks_nothing(self) -> bool:
        """True for what the agent has no reason to answer."""
        return self.behaviour not in ("turn", *INTERRUPTING)

    def __str__(self) -> str:
        words = self.text or (self.spoken.audio if isinstance(self.spoken, RecordedSpeech) else "")
        if not words:
            return f"wait_s {self.wait_s:g}"
        return f"{'press ' if self.press else ''}{words if len(words) <= 40 else f'{words[:40]}…'!r}"


class Persona(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A caller that a language model plays."""

    persona: str
    goal: str
    turns: Annotated[int, msgspec.Meta(ge=1, le=50)] = 8


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The caller's line and room, in calls by speech."""

    telephone: bool = False
    """True: 300 to 3,400 Hz."""
    noise_db: Annotated[float, msgspec.Meta(ge=-10, le=60)] | None = None
    """Noise under the speech, so many dB below it."""
    noise: str = ""
    """A WAV file of it; without one it is white."""
    loss: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0
    """The share of packets that are lost, each way."""
    delay_ms: Annotated[float, msgspec.Meta(ge=0, le=2000)] = 0
    jitter_ms: Annotated[float, msgspec.Meta(ge=0, le=2000)] = 0


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One call, and what must come of it."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=120)]
    caller: tuple[CallerStep, ...] | Persona
    by: tuple[Way, ...] = ("text", "speech")
    """The ways in which it makes sense."""
    tags: tuple[str, ...] = ()
    voice: str = ""
    """The caller's voice, by speech; the best that is here where it is empty."""
    line: Line = Line()
    expect: Expected = Expected()
    known_failure: str = ""
    """The reason why it fails by speech today. It is tried, and its failing does not fail the run."""


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    scenarios: tuple[Scenario, ...]


def load_scenarios(paths: Sequence[Path]) -> list[tuple[Scenario, Path]]:
    """All scenarios of the files, and of the YAML files in the folders, with the folders that their paths begin in. Raises
    ConfigError."""
    found: list[tuple[Scenario, Path]] = []
    for path in paths:
        files = sorted(path.glob("*.y*ml")) if path.is_dir() else [path]
        if not files:
            raise ConfigError(f"{path}: holds no YAML file; expected scenarios, {ADVICE}")
        for file in files:
            found += [(scenario, file.resolve().parent) for scenario in _read(file)]
    names = [scenario.name for scenario, _ in found]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise ConfigError(f"two scenarios are called {twice!r}; give each its own name")
    return found


def _read(file: Path) -> tuple[Scenario, ...]:
    settings = SettingsFile(file, ADVICE, "`scenarios:`")
    scenarios = settings.converted(_File).scenarios
    if not scenarios:
        raise settings.error("scenarios is empty; write one", "scenarios")
    for scenario in scenarios:
        for mistake in _mistakes(scenario, file.resolve().parent):
            raise settings.error(f"{scenario.name}: {mistake}", "scenarios")
    return scenarios


def _mistakes(scenario: Scenario, folder: Path) -> Iterator[str]:
    if not scenario.by:
        yield "by is empty; expected text, speech or both"
    steps = () if isinstance(scenario.caller, Persona) else scenario.caller
    if not isinstance(scenario.caller, Persona) and not any(step.does_something for step in steps):
        yield "the caller says nothing; expected a step with `say`, `sound` or `press`"
    before = False
    for step in steps:
        if sum(map(bool, (step.say, step.sound, step.press))) > 1:
            yield f"{step} does several things; expected one of `say`, `sound` and `press` a step"
        if step.over_reply_after_s is not None and (not before or not step.does_something):
            yield "over_reply_after_s needs a reply of the step before, and words, a sound or keys"
        before = step.does_something and not step.asks_nothing
        if step.behaviour in INTERRUPTING and step.over_reply_after_s is None:
            yield f"{step}: {step.behaviour} is said over a reply; expected over_reply_after_s"
        if step.expect.yields is not None and ("text" in scenario.by or step.behaviour == "turn"):
            yield f"{step}: yields is checked by speech, on a step with a behaviour; see `by` and `behaviour`"
        if isinstance(step.spoken, RecordedSpeech):
            if not (folder / step.spoken.audio).is_file():
                yield f"{step.spoken.audio}: no such file in {folder}"
            if "text" in scenario.by and step.say and not step.text:
                yield f"{step.spoken.audio} has no text; say it, or take text out of by"
    if scenario.line.noise and not (folder / scenario.line.noise).is_file():
        yield f"{scenario.line.noise}: no such file in {folder}"
    for expected in (scenario.expect, *(step.expect for step in steps)):
        for pattern in (*expected.says, *expected.says_not, *expected.understood):
            try:
                re.compile(pattern)
            except re.error as error:
                yield f"{pattern!r} is no regular expression ({error})"


def chosen(found: Sequence[tuple[Scenario, Path]], names: Sequence[str], tags: Sequence[str]) -> list[tuple[Scenario, Path]]:
    """Those of these names or tags; all where none are given. Raises ConfigError for an unknown one."""
    known_names = {scenario.name for scenario, _ in found}
    known_tags = {tag for scenario, _ in found for tag in scenario.tags}
    for what, wanted, known in (("scenario", names, known_names), ("tag", tags, known_tags)):
        for one in wanted:
            if one not in known:
                raise ConfigError(f"no {what} is called {one!r}{did_you_mean(one, known)}")
    if not names and not tags:
        return list(found)
    return [(one, folder) for one, folder in found if one.name in names or set(one.tags) & set(tags)]
