"""`voiceagent eval`: callers of a script try an agent, and what must come of it is checked."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path

import click

from voiceagent.cli.output import format_json_option, write_output
from voiceagent.client.signalling import about
from voiceagent.client.voices import best_voice, named_voice
from voiceagent.engines import load_tts
from voiceagent.models.registry import registry
from voiceagent.scenarios.agent_server import served
from voiceagent.scenarios.models import ScenarioModel
from voiceagent.scenarios.scenario import Persona, Scenario, Way, chosen, load_scenarios
from voiceagent.scenarios.speech_caller import Speak, speaker
from voiceagent.scenarios.trial import Callee, Trial, run_trial
from voiceagent.scenarios.trial_tally import TrialTally

WAYS: tuple[Way, ...] = ("text", "speech")
NO_DATA = 2
Found = Sequence[tuple[Scenario, Path]]


@click.command(
    "eval",
    epilog="""\b
Examples:
  voiceagent eval scenarios/ --agent agent.yaml               by text: seconds
  voiceagent eval scenarios/ --agent agent.yaml --by speech   over real WebRTC
  voiceagent eval scenarios/book.yaml --repeat 5              pass^5: does it always work?
  voiceagent eval scenarios/ --format junit --out results.xml
  voiceagent eval scenarios/ --repeat 3 --format html --out results.html
  voiceagent eval scenarios/ --url http://127.0.0.1:8080      a server that runs
  voiceagent eval scenarios/ --agent agent.yaml --llm-url http://127.0.0.1:11434    by another language model
  voiceagent eval scenarios/ --model-url http://127.0.0.1:8000/v1 --model judge

Exit codes: 0 every trial passed (or is known to fail), 1 one did not, 2 wrong usage or nothing to try.""",
)
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--agent", type=click.Path(exists=True, path_type=Path), help="The agent's YAML file. Default: the demo agent.")
@click.option("--profile", default="", help="Its models. Default: what the agent names, else the best that is here.")
@click.option("--llm-url", metavar="URL", default="", help="As for `serve`: the language model server of the agent.")
@click.option("--llm-model", metavar="NAME", default="", help="As for `serve`: its model.")
@click.option("--url", default="", help="Call this server instead of starting one.")
@click.option("--token", envvar="VOICEAGENT_KEY", show_envvar=True, default="", help="A key of that server, if it asks for one.")
@click.option("--monitor-token", default="", help="A monitor's key of that server: scenarios read their calls' events.")
@click.option("--by", type=click.Choice([*WAYS, "both"]), default="text", show_default=True, help="How the callers call.")
@click.option("--name", "names", multiple=True, help="Only this scenario; may be given several times.")
@click.option("--tag", "tags", multiple=True, help="Only scenarios with this tag; may be given several times.")
@click.option("--repeat", default=1, show_default=True, type=click.IntRange(1, 100), help="Trials of each scenario.")
@click.option(
    "--timeout", "timeout_s", default=30.0, show_default=True, type=click.FloatRange(1, 600), help="Longest wait, in s."
)
@click.option(
    "--model-url", default="", help="A server of OpenAI's Chat Completions, for callers that are played and for the judge."
)
@click.option("--model", default="", help="Its model. Its key is read from VOICEAGENT_SCENARIO_API_KEY.")
@click.option("--format", "form", type=click.Choice(["text", "json", "junit", "html"]), default="text", show_default=True)
@format_json_option
@click.option("--out", type=click.Path(path_type=Path), help="Write it to this file; the text goes to the terminal.")
def eval_(
    paths: tuple[Path, ...],
    agent: Path | None,
    profile: str,
    llm_url: str,
    llm_model: str,
    url: str,
    token: str,
    monitor_token: str,
    by: str,
    names: tuple[str, ...],
    tags: tuple[str, ...],
    repeat: int,
    timeout_s: float,
    model_url: str,
    model: str,
    form: str,
    as_json: bool,
    out: Path | None,
) -> int:
    """Have callers of a script try an agent, by text or over real WebRTC, and check what came of it: words, tools, state, times.
    PATHS are scenario files, or folders of them."""
    form = "json" if as_json else form
    if bool(model_url) is not bool(model):
        raise click.UsageError("--model-url and --model belong together")
    if out is not None and form == "text":
        raise click.UsageError("--out needs --format json, junit or html")
    if url and (agent or profile or llm_url or llm_model):
        raise click.UsageError("--url calls a server that runs; --agent, --profile and --llm-url belong to one that is started")
    ways = WAYS if by == "both" else tuple(way for way in WAYS if way == by)
    found = chosen(load_scenarios(paths), names, tags)
    planned = [(one, folder, way) for one, folder in found for way in ways if way in one.by]
    if not planned:
        click.echo(f"error: none of these scenarios can be tried by {by}; see their `by`", err=True)
        return NO_DATA
    played = next((one.name for one, _, _ in planned if isinstance(one.caller, Persona)), "")
    if played and not model:
        raise click.UsageError(f"{played}: its caller is played by a language model; name it with --model-url and --model")
    quiet = form != "text" and out is None
    server = [*(["--llm-url", llm_url] if llm_url else []), *(["--llm-model", llm_model] if llm_model else [])]
    with nullcontext(url.rstrip("/")) if url else served(agent, profile, *server) as address:
        tally = asyncio.run(_run(planned, address, token, monitor_token, repeat, timeout_s, model_url, model, quiet=quiet))
    if form != "text":
        write_output(_formatted(tally, form), out)
    return 0 if tally.is_good else 1


def _formatted(tally: TrialTally, form: str) -> str:
    if form == "json":
        return json.dumps(tally.as_data(), indent=2, ensure_ascii=False) + "\n"
    return tally.as_junit() if form == "junit" else tally.as_html()


async def _run(
    planned: Sequence[tuple[Scenario, Path, Way]],
    url: str,
    token: str,
    monitor_token: str,
    repeat: int,
    timeout_s: float,
    model_url: str,
    model: str,
    *,
    quiet: bool,
) -> TrialTally:
    played = ScenarioModel(model_url, model, os.environ.get("VOICEAGENT_SCENARIO_API_KEY", "")) if model else None
    trials: list[Trial] = []
    async with _voices(url, token) as voice_of:
        for scenario, folder, way in planned:
            speak = await voice_of(scenario.voice) if way == "speech" else None
            callee = Callee(url, token, monitor_token, timeout_s, played, speak)
            for number in range(1, repeat + 1):
                trials.append(await run_trial(scenario, folder, way, number, callee))
                if not quiet:
                    _tell(trials[-1])
    if played is not None:
        await played.close()
    tally = TrialTally(trials)
    if not quiet:
        _tell_all(tally, repeat)
    return tally


class _Voices:
    """The voices of callers, loaded once each."""

    def __init__(self, url: str, token: str) -> None:
        self._url, self._token = url, token
        self._engines: dict[str, tuple[object, Speak]] = {}

    async def __call__(self, name: str) -> Speak:
        if name not in self._engines:
            known = registry()
            voice = named_voice(known, name) if name else best_voice(known, await about(self._url, self._token or None))
            engine = load_tts(voice.spec)
            self._engines[name] = (engine, speaker(engine))
        return self._engines[name][1]

    async def close(self) -> None:
        for engine, _ in self._engines.values():
            await engine.close()  # type: ignore[attr-defined]


@asynccontextmanager
async def _voices(url: str, token: str) -> AsyncIterator[_Voices]:
    voices = _Voices(url, token)
    try:
        yield voices
    finally:
        await voices.close()


def _tell(trial: Trial) -> None:
    mark = click.style("FAILED", fg="red") if trial.fails_run else click.style("ok    " if trial.passed else "known ", fg="green")
    number = f" #{trial.number}" if trial.number > 1 else ""
    click.echo(f"{mark} {trial.scenario} ({trial.way}){number}, {trial.took_s:.1f} s")
    for line in (trial.known_failure if trial.failures else "", *trial.failures):
        if line:
            click.echo(f"         {line}")
    for line in trial.skipped:
        click.echo(f"         not asked: {line}")
    if not trial.passed:
        for who, words in trial.conversation:
            click.echo(click.style(f"         {who}: {words}", dim=True))


def _tell_all(tally: TrialTally, repeat: int) -> None:
    for line in tally.interaction_lines:
        click.echo(f"       {line}")
    passed = sum(trial.passed for trial in tally.trials)
    click.echo(
        f"{passed} of {len(tally.trials)} trials passed. pass@1 {tally.pass_1:.1%}"
        + (f", pass^{repeat} {tally.pass_k(repeat):.1%}" if repeat > 1 else "")
    )
