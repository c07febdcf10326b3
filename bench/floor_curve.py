"""Scores the manners of `bench/floor.py`: audible pauses on sounds that are no interruption against the time until a real one has
stopped the agent, as figures and as a curve over the length of speech that pauses the reply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from bench.curve_plot import Axes, Curve, Point, plot
from bench.virtual_call import FRAME_MS, Overlap
from models.train.overlap_sounds import Sound
from voiceagent.latency.budgets import percentile
from voiceagent.settings.agent import TurnSettings
from voiceagent.turn_taking.overlap import MANNERS, Manners

AUDIBLE_MS, BRIEF_MS = 250.0, 100.0
AUDIBLE_SHARE, STOP_P50_MS, STOP_P95_MS = 10.0, 200.0, 350.0
LENGTHS_MS = (200, 250, 300, 350, 400, 500, 700)
AXES = Axes(
    500.0, 50.0, 100, 10, "median time until an interruption has silenced the agent, ms", "audible pauses for no interruption, %"
)


@dataclass(frozen=True, slots=True)
class Scored:
    """All trials with one of the manners."""

    found: Sequence[tuple[Sound, Overlap]]

    def of(self, kind: str) -> list[Overlap]:
        """Those of a kind."""
        return [outcome for sound, outcome in self.found if sound.kind == kind]

    @property
    def quiet(self) -> list[Overlap]:
        """Outcomes of sounds that are no interruption."""
        return [outcome for sound, outcome in self.found if not sound.takes_floor]

    @property
    def interruptions(self) -> list[Overlap]:
        """Outcomes of sounds that are one, from their first word on."""
        return [*self.of("command"), *self.of("sentence")]

    @property
    def audible_share(self) -> float:
        """Share of sounds that are no interruption where the agent was audibly silent, in per cent."""
        return self.share_over(AUDIBLE_MS)

    def share_over(self, gap_ms: float) -> float:
        """The same for silences of over `gap_ms`."""
        return round(_share([outcome.yielded or outcome.gap_ms > gap_ms for outcome in self.quiet]), 1)

    def audible_share_of(self, kind: str) -> float:
        """The same of a kind."""
        return _share([_audible(outcome) for outcome in self.of(kind)])

    def stop_ms(self, percent: float, kind: str = "") -> float:
        """Time until an interruption that was yielded to had silenced the agent."""
        outcomes = self.of(kind) if kind else self.interruptions
        return percentile([outcome.stopped_ms for outcome in outcomes if outcome.yielded], percent)

    @property
    def softer_ms(self) -> float:
        """Until its voice was softer, or silent, in the median."""
        times = [outcome.softer_ms for outcome in self.interruptions if outcome.yielded]
        return percentile([time_ms for time_ms in times if time_ms is not None], 50)

    @property
    def back_share(self) -> float:
        """Share of all interruptions that were yielded to after which the old reply was heard again, in per cent."""
        outcomes = [outcome for sound, outcome in self.found if sound.takes_floor and outcome.yielded]
        return _share([outcome.gap_ms > BRIEF_MS for outcome in outcomes])

    @property
    def again_ms(self) -> tuple[list[float], list[float]]:
        """From the end of what was nothing, and of what was a backchannel, until the agent that had paused went on."""
        paused = [outcome for outcome in self.quiet if _audible(outcome) and not outcome.yielded]
        times = [(bool(outcome.words), max(0.0, outcome.back_after_ms or 0.0)) for outcome in paused]
        return [ms for words, ms in times if not words], [ms for words, ms in times if words]


def _audible(outcome: Overlap) -> bool:
    return outcome.yielded or outcome.gap_ms > AUDIBLE_MS


def _share(found: Sequence[bool]) -> float:
    return 100 * sum(found) / len(found)


def policies() -> dict[str, Manners]:
    """The default's manners with several lengths of speech that pause the reply."""
    chosen = MANNERS[TurnSettings().overlap]
    return {f"pauses after {ms} ms": replace(chosen, pause_after_ms=float(ms)) for ms in LENGTHS_MS}


def draw(scored: Mapping[str, Scored]) -> str:
    """The curve as SVG."""
    lengths = Curve("softer first, silent after 200 to 700 ms", [point(scored[name]) for name in policies()])
    return plot(
        (lengths, Curve("eager", [point(scored["eager"])])),
        point(scored[TurnSettings().overlap]),
        (STOP_P50_MS, AUDIBLE_SHARE),
        AXES,
    )


def point(found: Scored) -> Point:
    """Returns its place on the curve."""
    return max(FRAME_MS, found.stop_ms(50)), found.audible_share
