"""Latency budgets: the limits on every stage's percentiles, per profile, the check of one live turn against them, and the
reader of `latency_budgets.yaml`: a mapping of profiles to stages to percentiles, each limit a number with its unit. A profile
may extend one above it, or a shipped one, and then names only what differs. `profile/leg` does the same for the calls of a leg.
Nothing is guessed: each mistake is a ConfigError that names the file, the line and what was expected there."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from voiceagent.errors import ConfigError
from voiceagent.latency.burn import OnMiss
from voiceagent.latency.spans import CRITICAL_PATH, LegKind, Stage, TurnReport
from voiceagent.resources import default_budgets_file
from voiceagent.settings_file import compose, did_you_mean


@dataclass(frozen=True, slots=True)
class StageLimits:
    """The upper limits of a stage's percentiles."""

    p50_ms: float
    p95_ms: float
    p99_ms: float
    on_miss: OnMiss = OnMiss.WARN
    """The furthest action while too many turns miss the p95."""


@dataclass(frozen=True, slots=True)
class Budgets:
    """The budgets of every profile that the file names; each profile limits every stage. `profile/leg` are those of the calls
    that come by a leg, where the file names it."""

    source: str
    """The file they came from, for messages."""
    profiles: Mapping[str, Mapping[Stage, StageLimits]]

    def of(self, profile: str, leg: LegKind | None = None) -> Mapping[Stage, StageLimits]:
        """The limits of a profile for the calls of a leg. Raises ConfigError, which names the known profiles."""
        limits = self.profiles.get(f"{profile}/{leg}") or self.profiles.get(profile)
        if limits is None:
            known = ", ".join(name for name in self.profiles if "/" not in name)
            raise ConfigError(
                f"{self.source}: has no budgets for profile {profile!r}, only for {known}; add `{profile}: {{extends: cpu}}` "
                "to a file of yours for --budgets, or `budgets: cpu` to your profile"
            )
        return limits

    def extended(self, profile: str, like: str) -> Budgets:
        """These budgets, with another profile's limits for a profile that has none of its own. Raises ConfigError when that one
        has none either."""
        if profile in self.profiles or not like:
            return self
        own = {f"{profile}/{leg}": self.of(like, leg) for leg in LegKind if f"{like}/{leg}" in self.profiles}
        return Budgets(self.source, {**self.profiles, profile: self.of(like), **own})


@dataclass(frozen=True, slots=True)
class Miss:
    """A stage of a live turn that took longer than its budget's p95."""

    stage: Stage
    measured_ms: float
    limit_ms: float

    def __str__(self) -> str:
        return f"{self.stage} took {self.measured_ms:.0f} ms, over its p95 budget of {self.limit_ms:.0f} ms"


def check_turn(report: TurnReport, budgets: Budgets) -> tuple[Miss, ...]:
    """The stages of one turn that were over budget, in the order of `Stage`; empty when none was.

    One turn has no percentiles, so each of its stages is judged by the p95 limit: in a system that is just within budget one turn
    in twenty misses. If a stage occurred several times, the longest is judged. Raises ConfigError when the budgets do not name
    the turn's profile.
    """
    limits = budgets.of(report.profile, report.leg)
    measured = report.durations_ms()
    worst = {stage: max(measured[stage]) for stage in Stage if stage in measured}
    return tuple(Miss(stage, ms, limits[stage].p95_ms) for stage, ms in worst.items() if ms > limits[stage].p95_ms)


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest of `values` that at least `percent` (0..100) of them do not exceed: the nearest-rank definition, whose
    every value really occurred. The p99 of few turns is the worst of them. Raises ValueError when there are none."""
    if not values:
        raise ValueError("a percentile of no values does not exist")
    if not 0 <= percent <= 100:
        raise ValueError(f"percent is {percent}, expected 0 to 100")
    rank = math.ceil(percent * len(values) / 100)
    return sorted(values)[max(rank, 1) - 1]


@dataclass(frozen=True, slots=True)
class Distribution:
    """The three percentiles that budgets limit."""

    count: int
    p50_ms: float
    p95_ms: float
    p99_ms: float


def distribution(values_ms: Sequence[float]) -> Distribution:
    """Summarise durations. Raises ValueError when there are none."""
    return Distribution(len(values_ms), percentile(values_ms, 50), percentile(values_ms, 95), percentile(values_ms, 99))


@dataclass(frozen=True, slots=True)
class StageComparison:
    """One stage over all turns. `measured` is None when no turn had it."""

    stage: Stage
    measured: Distribution | None
    limits: StageLimits

    @property
    def over(self) -> tuple[str, ...]:
        """The percentiles that exceed their limit."""
        if self.measured is None:
            return ()
        pairs = (
            ("p50", self.measured.p50_ms, self.limits.p50_ms),
            ("p95", self.measured.p95_ms, self.limits.p95_ms),
            ("p99", self.measured.p99_ms, self.limits.p99_ms),
        )
        return tuple(name for name, measured_ms, limit_ms in pairs if measured_ms > limit_ms)


def compare(reports: Iterable[TurnReport], limits: Mapping[Stage, StageLimits]) -> tuple[StageComparison, ...]:
    """Compare turns of one profile with its limits; one entry per stage, in the order of `Stage`."""
    measured_ms: dict[Stage, list[float]] = {}
    for report in reports:
        for stage, durations_ms in report.durations_ms().items():
            measured_ms.setdefault(stage, []).extend(durations_ms)
    return tuple(
        StageComparison(stage, distribution(measured_ms[stage]) if stage in measured_ms else None, limits[stage])
        for stage in Stage
    )


# --- the file ---------------------------------------------------------------------------------------------------------

EXTENDS = "extends"
"""The key that names the profile whose limits fill in the missing ones."""
MAX_FILE_BYTES = 256 * 1024
MAX_LIMIT_MS = 3_600_000.0
PERCENTILES = ("p50", "p95", "p99")
ON_MISS = "on_miss"
"""The key that names the action."""
_QUANTITY = re.compile(r"(?P<number>\d{1,9}(?:\.\d{1,9})?)\s*(?P<unit>[^\W\d]*)", re.ASCII)
_UNIT_MS = {"ms": 1.0, "s": 1000.0}
_PROFILE = re.compile(r"[a-z][a-z0-9_-]{0,63}")


def load_budgets(path: Path) -> Budgets:
    """Read and check a budgets file; the shipped profiles are known as well as its own. Raises ConfigError, and nothing else,
    whatever the file holds."""
    shipped = default_budgets_file()
    base = {} if path == shipped else load_budgets(shipped).profiles
    return parse_budgets(_read(path), str(path), base)


def parse_budgets(text: str, source: str, base: Mapping[str, Mapping[Stage, StageLimits]] | None = None) -> Budgets:
    """Check the YAML `text` of a budgets file; `source` is its name in messages, `base` are profiles known besides its own.
    Raises ConfigError, and nothing else."""
    root = compose(text, source)
    if root is None:
        raise ConfigError(f"{source}:1: is empty; expected profiles with their stages' limits")
    known = dict(base or {})
    reader = _Reader(source, known)
    for name, key, value in reader.entries(root, "profiles"):
        limits = reader.profile(name, key, value)
        for former in [former for former in known if former.startswith(f"{name}/")]:
            del known[former]  # of a shipped profile that is replaced here
        known[name] = limits
    if not root.value:
        raise ConfigError(f"{source}:1: names no profile, expected one such as `embedded:` with its stages' limits")
    return Budgets(source, known)


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"{path}: cannot be read ({reason}); give --budgets a readable YAML file") from error
    if len(data) > MAX_FILE_BYTES:
        raise ConfigError(f"{path}: is larger than {MAX_FILE_BYTES // 1024} kB; expected a small YAML file of latency budgets")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{line}: is not UTF-8 text; expected a YAML file of latency budgets") from error


class _Reader:
    """Walks the YAML nodes, which know their lines. `known` are the profiles that another may extend."""

    def __init__(self, source: str, known: Mapping[str, Mapping[Stage, StageLimits]]) -> None:
        self._source = source
        self._known = known

    def _error(self, node: yaml.Node, message: str) -> ConfigError:
        return ConfigError(f"{self._source}:{node.start_mark.line + 1}: {message}")

    def entries(self, node: yaml.Node, what: str) -> Iterator[tuple[str, yaml.Node, yaml.Node]]:
        """The keys of a mapping as (text, key node, value node), each once."""
        if not isinstance(node, yaml.MappingNode):
            raise self._error(node, f"expected a mapping of {what}, found {_found(node)}")
        seen: dict[str, int] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise self._error(key, f"expected the name of one of the {what}, found {_found(key)}")
            name = str(key.value)
            if name in seen:
                raise self._error(key, f"{_shown(name)} stands here twice (first in line {seen[name]}); keep one")
            seen[name] = key.start_mark.line + 1
            yield name, key, value

    def profile(self, name: str, key: yaml.Node, node: yaml.Node) -> dict[Stage, StageLimits]:
        """The limits of one profile, complete and consistent."""
        limits = self._of_all_legs(name, key)
        keys = dict.fromkeys(limits, key)
        for stage_name, stage_key, value in self.entries(node, "stages"):
            if stage_name == EXTENDS:
                extended = self._extended(name, value)
                keys = dict.fromkeys(extended, stage_key) | keys
                limits = {**extended, **limits}
                continue
            try:
                stage = Stage(stage_name)
            except ValueError as error:
                known = ", ".join(Stage)
                near = did_you_mean(stage_name, (*Stage, EXTENDS))
                raise self._error(
                    stage_key, f"{name}: unknown stage {_shown(stage_name)}, expected one of {known}{near}"
                ) from error
            limits[stage] = self._limits(f"{name}.{stage}", stage_key, value, limits.get(stage))
            if "/" in name and limits[stage].on_miss is not self._known[name.partition("/")[0]][stage].on_miss:
                raise self._error(stage_key, f"{name}.{stage}: on_miss holds for all legs; write it at the profile")
            keys[stage] = stage_key
        missing = [stage for stage in Stage if stage not in limits]
        if missing:
            raise self._error(
                key, f"{name}: has no limits for {', '.join(missing)}; every stage needs them, here or by `extends:`"
            )
        path_ms = sum(limits[stage].p50_ms for stage in CRITICAL_PATH)
        whole_ms = limits[Stage.VOICE_TO_VOICE].p50_ms
        if path_ms > whole_ms:
            raise self._error(
                keys[Stage.VOICE_TO_VOICE],
                f"{name}: the parts do not fit the whole: the p50 of {' + '.join(CRITICAL_PATH)} add up to {path_ms:g} ms, "
                f"voice_to_voice p50 is {whole_ms:g} ms; raise the whole or lower a part",
            )
        return limits

    def _of_all_legs(self, name: str, key: yaml.Node) -> dict[Stage, StageLimits]:
        """The limits of the profile where `name` is a profile and a leg; else none. Raises ConfigError for an invalid name."""
        profile, slash, leg = name.partition("/")
        if not _PROFILE.fullmatch(profile):
            raise self._error(key, f"profile {_shown(name)} is not a name; expected small letters, digits, - and _")
        if not slash:
            return {}
        if leg not in tuple(LegKind):
            raise self._error(key, f"{_shown(name)}: unknown leg {_shown(leg)}, expected one of {', '.join(LegKind)}")
        if profile not in self._known:
            raise self._error(key, f"{_shown(name)}: profile {_shown(profile)} does not stand above; write its limits first")
        return dict(self._known[profile])

    def _extended(self, name: str, node: yaml.Node) -> Mapping[Stage, StageLimits]:
        wanted = str(node.value) if isinstance(node, yaml.ScalarNode) else ""
        if wanted not in self._known:
            known = ", ".join(self._known) or "no other"
            raise self._error(node, f"{name}: cannot extend {_found(node)}; expected a profile that stands above: {known}")
        return self._known[wanted]

    def _limits(self, what: str, key: yaml.Node, node: yaml.Node, known: StageLimits | None) -> StageLimits:
        """A stage's limits. `known` are those that it extends, for an action alone."""
        found: dict[str, float] = {}
        on_miss = OnMiss.WARN if known is None else known.on_miss
        for name, name_key, value in self.entries(node, f"percentiles of {what}"):
            if name == ON_MISS:
                on_miss = self._action(what, value)
                continue
            if name not in PERCENTILES:
                raise self._error(name_key, f"{what}: unknown percentile {_shown(name)}, expected p50, p95 and p99, or {ON_MISS}")
            found[name] = self._quantity_ms(f"{what}.{name}", value)
            below = [lower for lower in PERCENTILES if lower in found and lower < name and found[lower] > found[name]]
            above = [upper for upper in PERCENTILES if upper in found and upper > name and found[upper] < found[name]]
            if below or above:
                raise self._error(value, f"{what}: the percentiles decrease; expected p50 ≤ p95 ≤ p99")
        if not found and known is not None and node.value:
            return replace(known, on_miss=on_miss)
        missing = [name for name in PERCENTILES if name not in found]
        if missing:
            raise self._error(key, f"{what}: has no {', '.join(missing)}; expected p50, p95 and p99")
        return StageLimits(found["p50"], found["p95"], found["p99"], on_miss)

    def _action(self, what: str, node: yaml.Node) -> OnMiss:
        text = str(node.value).strip() if isinstance(node, yaml.ScalarNode) else ""
        if text not in tuple(OnMiss):
            raise self._error(node, f"{what}: {ON_MISS} is {_found(node)}, expected {', '.join(OnMiss)}")
        return OnMiss(text)

    def _quantity_ms(self, what: str, node: yaml.Node) -> float:
        if not isinstance(node, yaml.ScalarNode):
            raise self._error(node, f"{what}: expected a time with its unit such as 120 ms, found {_found(node)}")
        text = str(node.value).strip()
        match = _QUANTITY.fullmatch(text)
        if match is None:
            raise self._error(node, f"{what}: {_shown(text)} is not a time; expected a number with its unit such as 120 ms")
        if not match["unit"]:
            raise self._error(node, f"{what}: {text} has no unit; write {text} ms or {text} s")
        if match["unit"] not in _UNIT_MS:
            raise self._error(node, f"{what}: unknown unit {_shown(match['unit'])}, expected ms or s")
        value_ms = float(match["number"]) * _UNIT_MS[match["unit"]]
        if not 0 < value_ms <= MAX_LIMIT_MS:
            raise self._error(node, f"{what}: {text} is out of range; expected more than 0 ms, at most {MAX_LIMIT_MS / 1000:g} s")
        return value_ms


def _found(node: yaml.Node) -> str:
    if isinstance(node, yaml.ScalarNode):
        return _shown(str(node.value)) if str(node.value).strip() else "nothing"
    return "a mapping" if isinstance(node, yaml.MappingNode) else "a list"


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "…")
