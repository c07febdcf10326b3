"""The trials of a run, counted: pass@1 is the share of trials that pass, pass^k the chance that k trials in a row do (τ-bench,
Yao and others 2024: the mean over scenarios of C(passed, k) / C(trials, k))."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from voiceagent import __version__
from voiceagent.json_types import JsonObject
from voiceagent.scenarios.floor_events import interaction
from voiceagent.scenarios.trial import Trial


@dataclass(frozen=True, slots=True)
class TrialTally:
    """The counts of a run."""

    trials: Sequence[Trial]

    @property
    def by_scenario(self) -> dict[str, list[Trial]]:
        """The trials of each scenario, each way apart, in the order of the run."""
        found: dict[str, list[Trial]] = {}
        for trial in self.trials:
            found.setdefault(f"{trial.scenario} ({trial.way})", []).append(trial)
        return found

    @property
    def pass_1(self) -> float:
        """The share of trials that pass; the mean over scenarios."""
        return self.pass_k(1)

    def pass_k(self, k: int) -> float:
        """The chance that `k` trials of a scenario all pass; the mean over scenarios that were tried as often."""
        shares = [
            math.comb(sum(trial.passed for trial in trials), k) / math.comb(len(trials), k)
            for trials in self.by_scenario.values()
            if len(trials) >= k
        ]
        return sum(shares) / len(shares) if shares else 0.0

    @property
    def is_good(self) -> bool:
        """True if every trial passed but for known failures."""
        return not any(trial.fails_run for trial in self.trials)

    @property
    def interaction(self) -> dict[str, JsonObject]:
        """The measures of who had the floor, by behaviour."""
        return interaction([event for trial in self.trials for event in trial.floor_events])

    @property
    def interaction_lines(self) -> list[str]:
        """These measures, a line each behaviour."""
        return [f"{kind}: {', '.join(map(_measure, measures.items()))}" for kind, measures in self.interaction.items()]

    def as_data(self) -> JsonObject:
        """The run as JSON."""
        most = max((len(trials) for trials in self.by_scenario.values()), default=0)
        return {
            "pass_1": self.pass_1,
            "pass_k": {str(k): self.pass_k(k) for k in range(1, most + 1)},
            "interaction": self.interaction,
            "scenarios": [
                {
                    "scenario": trials[0].scenario,
                    "way": trials[0].way,
                    "trials": [{**asdict(one), "passed": one.passed} for one in trials],
                }
                for trials in self.by_scenario.values()
            ],
        }

    def as_html(self) -> str:
        """One page that needs no network: what failed is open, with the conversations."""
        environment = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined)
        most = max((len(trials) for trials in self.by_scenario.values()), default=1)
        return environment.get_template("results.html").render(
            trials=len(self.trials),
            passed=sum(trial.passed for trial in self.trials),
            pass_1=self.pass_1,
            pass_k=[(k, self.pass_k(k)) for k in range(2, most + 1)],
            interaction=self.interaction_lines,
            scenarios=list(self.by_scenario.items()),
            made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            version=__version__,
        )

    def as_junit(self) -> str:
        """A test case a trial."""
        root = ET.Element("testsuites", name="voiceagent eval")
        suite = ET.SubElement(root, "testsuite", name="scenarios", tests=str(len(self.trials)))
        suite.set("failures", str(sum(trial.fails_run for trial in self.trials)))
        suite.set("skipped", str(sum(not trial.passed and not trial.fails_run for trial in self.trials)))
        ET.SubElement(suite, "system-out").text = "\n".join(self.interaction_lines)
        for trial in self.trials:
            name = trial.scenario if trial.number == 1 else f"{trial.scenario} #{trial.number}"
            case = ET.SubElement(suite, "testcase", classname=f"scenarios.{trial.way}", name=name, time=f"{trial.took_s:.3f}")
            if trial.failures and trial.known_failure:
                ET.SubElement(case, "skipped", message=_clean(f"{trial.known_failure}: {trial.failures[0]}"))
            elif trial.failures:
                failure = ET.SubElement(case, "failure", message=_clean(trial.failures[0]))
                failure.text = _clean("\n".join(trial.failures))
            told = "\n".join((*trial.skipped, *(f"{who}: {words}" for who, words in trial.conversation)))
            ET.SubElement(case, "system-out").text = _clean(told)
        ET.indent(root)
        return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _measure(measure: tuple[str, object]) -> str:
    name, value = measure
    if isinstance(value, dict):
        return f"{name} p50 {value['p50']:.0f}, max {value['max']:.0f}"
    return f"{name} {value:.2f}" if isinstance(value, float) else f"{name} {value}"


def _clean(text: str) -> str:
    """Text without the characters that XML does not allow."""
    return "".join(sign for sign in text if sign in "\n\t" or sign.isprintable())
