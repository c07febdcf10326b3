"""The waterfall of `voiceagent call`, from the same event that the page draws."""

from __future__ import annotations

import io

import msgspec
from rich.console import Console

from voiceagent.cli.call_report import waterfall
from voiceagent.json_types import JsonObject
from voiceagent.latency.spans import Span, Stage, TurnReport, Wait, WaitCause, WaitInterval, split
from voiceagent.realtime.turn import turn_measured

LIMITS = {Stage.LLM_TTFT: 100.0, Stage.VOICE_TO_VOICE: 1000.0, Stage.BARGE_IN_STOP: 180.0}
WAIT = Wait(
    5000.0,
    split(
        5000.0,
        6430.0,
        [
            WaitInterval(WaitCause.ENDPOINT, 5000.0, 5200.004),
            WaitInterval(WaitCause.LLM_TTFT, 5100.0, 5500.0),
            WaitInterval(WaitCause.TOOL, 5500.0, 5800.0),
            WaitInterval(WaitCause.LLM_TTFT, 5800.0, 6100.0),
            WaitInterval(WaitCause.LLM_WRITING, 6100.0, 6250.0),
            WaitInterval(WaitCause.TTS_FIRST_AUDIO, 6250.0, 6400.0),
        ],
    ),
)
TURN = TurnReport("c", 1, 0.0, "embedded", (Span(Stage.LLM_TTFT, 5100.0, 400.0),), 1430.0, None, wait=WAIT)


def event(report: TurnReport) -> JsonObject:
    return dict(msgspec.to_builtins(turn_measured(report, LIMITS, [Stage.LLM_TTFT])))


def shown(report: TurnReport, width: int = 80) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(waterfall(event(report)))
    return [line.rstrip() for line in out.getvalue().splitlines()]


def figures_ms(lines: list[str]) -> dict[str, float]:
    return {line.split()[0]: float(line.split()[-2]) for line in lines if line.endswith(" ms")}


def test_the_rows_add_up_to_the_wait_and_stand_in_the_order_of_a_turn() -> None:
    lines = shown(TURN)
    figures = figures_ms(lines)
    assert list(figures) == ["endpoint", "llm_ttft", "llm_writing", "tool", "tts_first_audio", "other", "voice_to_voice"]
    assert figures["llm_ttft"] == 600
    assert "llm_ttft ×2" in " ".join(lines)
    assert sum(figures.values()) - figures["voice_to_voice"] == figures["voice_to_voice"] == 1430


def test_a_stage_over_budget_says_by_how_much_and_nothing_is_cut_at_eighty_columns() -> None:
    lines = shown(TURN)
    assert any("over budget: 400 ms of 100" in line for line in lines)
    assert not any("…" in line for line in lines)
    assert all(len(line) <= 80 for line in lines)


def test_a_turn_of_which_nothing_was_heard_says_so() -> None:
    silent = TurnReport("c", 1, 0.0, "embedded", (), None, None)
    assert "no sound of the reply was heard" in " ".join(shown(silent))


def test_the_parts_on_the_wire_touch_and_add_up() -> None:
    turn = event(TURN)
    assert turn["wait_ms"] == 1430.0
    ends = [0.0] + [part["start_ms"] + part["duration_ms"] for part in turn["wait"]]
    assert all(abs(part["start_ms"] - end) < 0.011 for part, end in zip(turn["wait"], ends, strict=False))
    assert abs(sum(part["duration_ms"] for part in turn["wait"]) - turn["wait_ms"]) < 1.0
