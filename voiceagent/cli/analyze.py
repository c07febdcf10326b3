"""`voiceagent analyze`: the times of a conversation, from its recording alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from voiceagent.analysis.conversation_times import AnsweredTurn, ConversationTimes, CutIn, Interruption, conversation_times
from voiceagent.analysis.speech_spans import SpeechSpan, speech_spans
from voiceagent.audio.format import HEARD_HZ
from voiceagent.audio.resample import StreamResampler
from voiceagent.audio.wav_file import as_int16, opened_wav
from voiceagent.cli.output import format_json_option
from voiceagent.cli.tables import plain_table, show
from voiceagent.errors import ConfigError
from voiceagent.latency.budgets import percentile

LONGEST_S = 4 * 3600
NO_DATA = 2
LEFT, RIGHT = "left", "right"


@click.command(
    epilog="""\b
Examples:
  voiceagent analyze call.wav                        a recording: the caller left, the agent right
  voiceagent analyze call.wav --caller right         the other way round
  voiceagent analyze calls/*.wav --format json       many calls as one, for programs

Exit codes: 0 it was measured, 1 a file cannot be read, 2 a side has no sound."""
)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--caller", type=click.Choice([LEFT, RIGHT]), default=LEFT, show_default=True, help="The caller's channel.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="For people or programs."
)
@format_json_option
def analyze(files: tuple[Path, ...], caller: str, form: str, as_json: bool) -> int:
    """Measure a recorded call of any agent: how fast it answered, how fast it stopped when it was interrupted, and who spoke how
    much. FILES are WAV files of two channels."""
    calls = [_measured(file, caller) for file in files]
    for problem in (problem for _, problems in calls for problem in problems):
        click.echo(problem, err=True)
    measured = [times for times, _ in calls]
    if as_json or form == "json":
        click.echo(json.dumps(_as_data(files, measured), indent=2))
    else:
        _tell(measured)
    silent = [file for file, times in zip(files, measured, strict=True) if not times.caller_s or not times.agent_s]
    return NO_DATA if silent else 0


def _measured(file: Path, caller: str) -> tuple[ConversationTimes, list[str]]:
    """The times of a recording, and what is to be said about it."""
    sides = _sides(file)
    names = ("caller", "agent") if caller == LEFT else ("agent", "caller")
    spans: dict[str, list[SpeechSpan]] = {}
    problems = []
    for name, channel, pcm in zip(names, (LEFT, RIGHT), sides, strict=True):
        spans[name], is_speech = speech_spans(pcm)
        if not spans[name]:
            problems.append(f"error: {file}: the {channel} channel, the {name}, is silent; --caller says which channel is whose")
        elif not is_speech:
            problems.append(f"warning: {file}: no speech in the {channel} channel, the {name}: its sounds count as speech")
    return conversation_times(spans["caller"], spans["agent"]), problems


def _sides(file: Path) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    """Both channels at 16 kHz, shape (samples,) each. Raises ConfigError."""
    with opened_wav(file) as (pieces, channels, rate_hz):
        if channels != 2:
            raise ConfigError(
                f"{file}: has {channels} channel{'s' * (channels != 1)}; expected 2, the caller left and the agent right"
            )
        streams = StreamResampler(rate_hz, HEARD_HZ), StreamResampler(rate_hz, HEARD_HZ)
        found: tuple[list[NDArray[np.int16]], ...] = ([], [])
        samples = 0
        for piece in pieces:
            samples += len(piece)
            if samples > LONGEST_S * rate_hz:
                raise ConfigError(f"{file}: is longer than {LONGEST_S // 3600} hours; cut it")
            for side, stream in enumerate(streams):
                found[side].append(stream.process(as_int16(piece[:, side])))
        for side, stream in enumerate(streams):
            found[side].append(stream.process(np.zeros(0, np.int16), last=True))
    return np.concatenate(found[0]), np.concatenate(found[1])


def _distributions(calls: Sequence[ConversationTimes]) -> dict[str, list[float]]:
    """Milliseconds by what they are of."""
    return {
        "response": [turn.response_ms for call in calls for turn in call.turns],
        "stop": [one.stop_ms for call in calls for one in call.interruptions if one.stop_ms is not None],
        "overlap": [ms for call in calls for ms in call.overlaps_ms],
        "caller's gap": [ms for call in calls for ms in call.caller_gaps_ms],
        "silence": [ms for call in calls for ms in call.silences_ms],
    }


def _summary(values_ms: Sequence[float]) -> dict[str, float]:
    if not values_ms:
        return {"n": 0}
    percentiles = {f"p{percent}_ms": percentile(values_ms, percent) for percent in (50, 90, 95)}
    found = {**percentiles, "mean_ms": sum(values_ms) / len(values_ms), "max_ms": max(values_ms)}
    return {"n": len(values_ms), **{name: round(ms, 1) for name, ms in found.items()}}


def _as_data(files: Sequence[Path], calls: Sequence[ConversationTimes]) -> dict[str, object]:
    def listed(part: str) -> list[dict[str, object]]:
        of_call = [(file, one) for file, call in zip(files, calls, strict=True) for one in getattr(call, part)]
        return [{**({"file": str(file)} if len(files) > 1 else {}), **_rounded(one)} for file, one in of_call]

    caller_s, agent_s = sum(call.caller_s for call in calls), sum(call.agent_s for call in calls)
    return {
        "turns": listed("turns"),
        "interruptions": listed("interruptions"),
        "cut_ins": listed("cut_ins"),
        "distributions": {name.replace("'s ", "_"): _summary(values) for name, values in _distributions(calls).items()},
        "talk": {"caller_s": round(caller_s, 3), "agent_s": round(agent_s, 3), "agent_share": _share(agent_s, caller_s)},
    }


def _rounded(one: AnsweredTurn | Interruption | CutIn) -> dict[str, object]:
    return {
        name: value if value is None else round(value, 1 if name.endswith("_ms") else 3) for name, value in asdict(one).items()
    }


def _share(agent_s: float, caller_s: float) -> float:
    return round(agent_s / (agent_s + caller_s), 3) if agent_s + caller_s else 0.0


def _tell(calls: Sequence[ConversationTimes]) -> None:
    columns = ("n", "p50", "mean", "p90", "p95", "max")
    table: Table = plain_table("in ms", "", *columns, right=columns)
    for name, values in _distributions(calls).items():
        summary = _summary(values)
        table.add_row(name, str(summary.pop("n")), *(f"{summary[f'{key}_ms']:.0f}" if summary else "–" for key in columns[1:]))
    show(table)
    caller_s, agent_s = sum(call.caller_s for call in calls), sum(call.agent_s for call in calls)
    went_on = sum(one.stop_ms is None for call in calls for one in call.interruptions)
    cut_ins = sum(len(call.cut_ins) for call in calls)
    click.echo(f"The caller spoke {caller_s:.1f} s, the agent {agent_s:.1f} s ({_share(agent_s, caller_s):.0%} of the speech).")
    click.echo(f"The agent spoke on over the caller {went_on} times, and began while the caller spoke {cut_ins} times.")
