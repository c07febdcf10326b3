"""What the benchmark of people's turns says, times and counts."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bench.harness import Figure
from bench.people import by_band
from bench.people.contestants import AS_SHIPPED, Contestant, agent
from bench.people.conversation import Found, Heard, converse
from bench.people.figures import short_rows, turn_rows, waited_ms
from bench.people.material import BROWSER, TELEPHONE, TURNS_A_CALL, Spoken, calls, short_utterances, spoken, turns
from tests.people.people import RATE_HZ, recordings
from tests.server_process import running_server
from voiceagent.client.caller import Caller

PATIENT = Contestant("voiceagent, patient", "", Caller, "patient")
BALANCED = Contestant("voiceagent, balanced", "", Caller, "balanced")
PEER = Contestant("Pipecat", "", Caller)


def turn(at_ms: float | None, *pauses_s: float, band: str = BROWSER) -> Heard:
    return Heard(Spoken("u01", "turns", "someone", np.zeros(RATE_HZ, np.int16), 250.0, 900.0, pauses_s, band), at_ms)


def named(rows: list[Figure], *parts: str) -> Figure:
    (found,) = [row for row in rows if all(part in row.name for part in parts)]
    return found


def answered(rows: list[Figure], band: str) -> Figure:
    return next(row for row in rows if row.name.endswith(f"{band}: answered"))


def test_a_call_is_of_one_speaker_and_keeps_the_order() -> None:
    said = turns()
    made = calls(said)
    assert [each for call in made for each in call] == said
    assert all(len({each.speaker for each in call}) == 1 and len(call) <= TURNS_A_CALL for call in made)


def test_short_answers_are_said_in_both_bands() -> None:
    said = short_utterances()
    names = {band: [each.name for each in said if each.band == band] for band in (BROWSER, TELEPHONE)}
    assert names[BROWSER] == names[TELEPHONE]
    assert len(names[BROWSER]) > 40
    assert all(len({each.band for each in call}) == 1 for call in by_band(said))
    assert all(len(each.audio) / RATE_HZ >= each.end_ms / 1000 + 1.4 for each in said)


def test_who_is_heard_before_the_end_has_cut_the_turn_off_and_is_not_timed() -> None:
    heard = [turn(-120.0, 0.4), turn(300.0, 0.4), turn(500.0), turn(None)]
    assert [each.cut for each in heard] == [True, False, False, False]
    assert waited_ms(heard) == [300.0, 500.0]
    rows = list(turn_rows({BALANCED: Found(heard)}))
    assert named(rows, ": 4 turns cut off").value == 25.0
    assert named(rows, "2 hesitant turns cut off").value == 50.0
    assert named(rows, "mean").value == 400.0
    assert named(rows, "unanswered").value == 1


def test_each_manner_is_held_against_its_own_target() -> None:
    slow, hasty = [turn(1000.0), turn(1100.0)], [turn(-10.0), turn(700.0)]
    rows = list(turn_rows({BALANCED: Found(hasty), PATIENT: Found(slow), PEER: Found([turn(2000.0), turn(2200.0)])}))
    missed = {row.name for row in rows if not row.ok}
    assert len(missed) == 2
    assert all(name.startswith("voiceagent, balanced") for name in missed)
    assert named(rows, "mean answer over Pipecat's").value == 0.5


def test_a_short_answer_that_nobody_heard_is_lost() -> None:
    rows = list(short_rows({BALANCED: Found([turn(400.0), turn(None), turn(800.0, band=TELEPHONE)])}))
    assert (answered(rows, BROWSER).value, answered(rows, BROWSER).ok) == (50.0, False)
    assert (answered(rows, TELEPHONE).value, answered(rows, TELEPHONE).ok) == (100.0, True)


def test_the_manner_stands_in_the_agents_settings() -> None:
    assert "manner: patient" in agent("patient")
    assert "turn" not in agent(AS_SHIPPED)


async def test_people_are_answered_in_a_whole_call_and_timed_from_the_end_of_the_turn(tmp_path: Path) -> None:
    words = [each for each in recordings("utterances") if each.text in ("yes", "help")][:2]
    found = Found()
    with running_server(tmp_path) as server:
        await converse(Caller, server.url, [spoken(each, "utterances") for each in words], found)
    assert not found.problems
    assert len(waited_ms(found.turns)) == 2
