"""The demo's scenarios on the bundled models, by text and over real WebRTC: how many pass, who had the floor. Then lines so bad
that a caller must not get through: a setting of a line that did nothing would pass there."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.harness import Figure, at_least, plain
from voiceagent.client.signalling import about
from voiceagent.client.voices import best_voice
from voiceagent.engines import load_tts
from voiceagent.models.registry import registry
from voiceagent.scenarios.agent_server import served
from voiceagent.scenarios.scenario import Way, load_scenarios
from voiceagent.scenarios.speech_caller import speaker
from voiceagent.scenarios.trial import Callee, run_trial
from voiceagent.scenarios.trial_tally import TrialTally

SCENARIOS = Path(__file__).resolve().parents[1] / "examples" / "demo" / "scenarios"
NOTES = """
Each scenario was tried once a way. A known failure is named in its file, with the reason. A bad line is one on which the question
must not be answered in time: it proves that the setting reaches the sound.
"""
BAD_LINES = {
    "noise_db": "{noise_db: -10}",
    "loss": "{loss: 0.5}",
    "delay_ms": "{delay_ms: 300}",
    "jitter_ms": "{jitter_ms: 600}",
}
QUESTION = """
  - name: {name}
    line: {line}
    caller:
      - say: What time is it in Paris?
        expect: {{tools: [{{name: get_time, arguments: {{city: Paris}}}}], within_ms: 700}}"""


async def measure(options: argparse.Namespace) -> Iterator[Figure]:
    """All figures: about ten minutes on an idle machine."""
    with tempfile.TemporaryDirectory() as folder:
        bad = Path(folder) / "lines.yaml"
        asked = "".join(QUESTION.format(name=name, line=line) for name, line in {"clean": "{}", **BAD_LINES}.items())
        bad.write_text(f"scenarios:{asked}\n", encoding="utf-8")
        with served(None, options.profile or "embedded") as url:
            text = await _tried(url, SCENARIOS, "text")
            speech = await _tried(url, SCENARIOS, "speech")
            lines = await _tried(url, bad, "speech")
    return _rows(text, speech, lines)


async def _tried(url: str, path: Path, way: Way) -> TrialTally:
    voice = load_tts(best_voice(registry(), await about(url, None)).spec)
    try:
        callee = Callee(url, speak=speaker(voice))
        found = [(one, folder) for one, folder in load_scenarios([path]) if way in one.by]
        return TrialTally([await run_trial(one, folder, way, 1, callee) for one, folder in found])
    finally:
        await voice.close()


def _rows(text: TrialTally, speech: TrialTally, lines: TrialTally) -> Iterator[Figure]:
    for way, tally in (("text", text), ("speech", speech)):
        expected = [trial for trial in tally.trials if not trial.known_failure]
        yield at_least(f"by {way}: scenarios that pass", sum(one.passed for one in expected), len(expected), "")
    known = [trial for trial in speech.trials if trial.known_failure]
    yield plain("by speech: known failures that failed", sum(not one.passed for one in known), f"of {len(known)}", 0)
    for kind, measures in speech.interaction.items():
        for name, value in measures.items():
            parts = {f" {part}": each for part, each in value.items()} if isinstance(value, dict) else {"": value}
            for part, each in parts.items():
                yield plain(f"{kind}: {name.removesuffix('_ms')}{part}", each, "ms" if name.endswith("_ms") else "", 2)
    for trial in lines.trials:
        good = trial.passed is (trial.scenario == "clean")
        yield Figure(
            f"line {trial.scenario}: answered in time", float(trial.passed), "", "1" if trial.scenario == "clean" else "0", good
        )
