"""The turns outside the demo that the endpointer is fitted to and judged on: the parts share nothing, hesitations stand anywhere
and are longer than the engine assumes, and scores count what they say."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
import yaml

from models.train import phrases
from models.train.endpoint_hear import HeardPause
from models.train.endpoint_turns import Turn
from models.train.stt_speak import HELD_OUT_VARIANTS
from models.train.turns.draw import LONGEST_PAUSE_MS, SHORTEST_PAUSE_MS, draw, pause_ms, turns
from models.train.turns.fit import HoldRule, fitted, speculate_from
from models.train.turns.fit_people import PLAIN_SUM, Known, cross_validated, fitted_to_people, with_habits
from models.train.turns.hear import Evidence, JudgedHearing
from models.train.turns.lengthen import lengthened, stretched
from models.train.turns.patterns import FOLDER, MOST_SHARED, Part, Pattern, patterns, shared
from models.train.turns.rows import only, pauses_of, rows
from models.train.turns.speak import by_telephone, draw_voice
from models.train.turns.sweep import Pauses, area, best, end_turns, outcomes_of, rule_score, silences
from voiceagent.turn_taking.endpointing import JUDGES, EndpointModel

PARTS: tuple[Part, ...] = ("fit", "brief", "tune", "held_out")
LEAST_PATTERNS, LEAST_TOPICS, LEAST_NEW_TOPICS = 350, 16, 5


def test_no_held_out_pattern_shares_most_words_with_one_that_is_fitted() -> None:
    fitted_to = [*patterns("fit"), *patterns("brief"), *patterns("tune")]
    near = [(a.text, b.text) for a in patterns("held_out") for b in fitted_to if shared(a.words, b.words) > MOST_SHARED]
    assert near == []


def test_no_pattern_is_the_demos() -> None:
    demo = {Pattern("", "", "", text).words for text in demo_patterns()}
    assert [one.text for part in PARTS for one in patterns(part) if one.words in demo and len(one.words) > 3] == []


def demo_patterns() -> Iterator[str]:
    for table in (phrases.REQUESTS, phrases.CORRECTIONS, phrases.FOLLOW_UPS, phrases.TALK, phrases.ANSWERS):
        yield from itertools.chain.from_iterable(table.values())
    yield from phrases.OUT_OF_DOMAIN


def test_each_part_has_many_patterns_and_topics_and_some_are_only_held_out() -> None:
    fit = [*patterns("fit"), *patterns("tune")]
    held_out = patterns("held_out")
    assert min(len({one.text for one in fit}), len({one.text for one in held_out})) >= LEAST_PATTERNS
    topics, others = {one.topic for one in fit}, {one.topic for one in held_out}
    assert min(len(topics), len(others)) >= LEAST_TOPICS
    assert len(others - topics) >= LEAST_NEW_TOPICS


def test_tuning_has_patterns_of_its_own() -> None:
    assert not {one.text for one in patterns("fit")} & {one.text for one in patterns("tune")}


def test_no_name_place_or_date_is_in_both_parts() -> None:
    listed = yaml.safe_load((FOLDER.parent / "values.yaml").read_text(encoding="utf-8"))
    assert listed["fit"].keys() == listed["held_out"].keys()
    assert not [slot for slot in listed["fit"] if set(listed["fit"][slot]) & set(listed["held_out"][slot])]


def test_held_out_turns_are_spoken_in_variants_that_no_other_part_knows() -> None:
    rng = random.Random(3)
    drawn = {part: {draw_voice(rng, part).name.rpartition("+")[2] for _ in range(400)} - {"joe"} for part in PARTS}
    assert drawn["held_out"] <= set(HELD_OUT_VARIANTS)
    assert not drawn["held_out"] & (drawn["fit"] | drawn["tune"])


@pytest.mark.parametrize("part", PARTS)
def test_every_pattern_can_be_drawn(part: Part) -> None:
    rng = random.Random(5)
    for pattern in patterns(part):
        turn = draw(rng, pattern, part).turn
        said = " ".join(unit.written for unit in turn.units)
        assert "{" not in said
        assert all(unit.spoken for unit in turn.units), said


def test_a_seed_draws_the_same_turns_and_another_one_others() -> None:
    one, again, other = (said(seed) for seed in (1, 1, 2))
    assert one == again
    assert one != other


def said(seed: int) -> list[Turn]:
    return [drawn.turn for drawn in islice(turns("fit", seed), 50)]


def test_hesitations_are_longer_than_a_log_normal_has_them() -> None:
    rng = random.Random(9)
    lengths = np.array([pause_ms(rng) for _ in range(5000)])
    assert lengths.min() >= SHORTEST_PAUSE_MS
    assert lengths.max() <= LONGEST_PAUSE_MS
    logs = np.log(lengths)
    beyond = np.exp(np.median(logs) + 2.326 * 0.6)  # the engine's log-normal has one in a hundred beyond this
    assert (lengths > beyond).mean() > 0.02


def test_people_hesitate_behind_any_word() -> None:
    before = {
        turn.units[pause.after_unit].written.lower().strip(".,?!")
        for turn in (drawn.turn for drawn in islice(turns("fit", 4), 1500))
        for pause in turn.pauses
    }
    assert len(before) > 250


def test_a_lengthened_word_lasts_longer_at_its_own_pitch() -> None:
    tone = np.sin(2 * np.pi * 125 * np.arange(8000) / 16000).astype(np.float32)
    longer = stretched(tone, 1.8)
    assert len(longer) == pytest.approx(len(tone) * 1.8, rel=0.05)
    crossings = np.flatnonzero((longer[1000:-1000][:-1] < 0) & (longer[1000:-1000][1:] >= 0))
    assert 16000 / np.diff(crossings).mean() == pytest.approx(125, rel=0.03)


def test_what_is_too_short_to_be_lengthened_stays_as_it_is() -> None:
    short = np.ones(400, np.float32)
    assert all(len(lengthened(random.Random(seed), short)) == 400 for seed in range(10))


def test_a_telephone_keeps_the_length_and_takes_the_highs() -> None:
    at = np.arange(16001) / 16000
    heard = by_telephone(np.asarray(8000 * np.sin(2 * np.pi * 6000 * at), np.int16))
    assert len(heard) == 16001
    assert np.abs(heard[2000:-2000].astype(np.int32)).max() < 400


def two_turns() -> Pauses:
    """One with a pause of 700 ms inside, and one without."""
    return Pauses(
        turn=np.array([0, 0, 1]),
        began_ms=np.array([-1500.0, 0.0, 10.0]),
        lasted_ms=np.array([700.0, 3000.0, 3000.0]),
        is_end=np.array([False, True, True]),
        turns=2,
    )


def test_a_turn_that_ends_in_a_pause_is_cut_off_and_has_no_latency() -> None:
    found = end_turns(two_turns(), np.array([[300.0, 300.0, 300.0], [800.0, 300.0, 300.0]]))
    assert found.cut_off.tolist() == [[True, False], [False, False]]
    assert np.isnan(found.latency_ms[0, 0])
    assert found.latency_ms[1].tolist() == [300.0, 310.0]


def test_chances_that_know_the_end_cut_off_nobody_and_silences_do() -> None:
    pauses = two_turns()
    knowing = best(outcomes_of(pauses, np.array([0.1, 0.9, 0.9])))
    assert knowing.cut_off_at[300.0].value == 0.0
    assert knowing.latency_ms.value == pytest.approx(205.0)
    assert best(silences(pauses)).cut_off_at[300.0].value == 0.5
    assert area(np.array([0.1, 0.9, 0.9]), pauses.is_end) == 1.0


def test_the_delays_that_are_tuned_are_the_engines() -> None:
    rule, chances = HoldRule(0.2, 700.0, 0.8), np.array([0.05, 0.3, 0.6, 0.95])
    engine = EndpointModel({}, rule.risk, rule.hesitation_ms, rule.spread)
    assert rule.delays_ms(chances) == pytest.approx([engine.delays_for(float(one), 200.0, 2100.0).endpoint_ms for one in chances])
    assert rule.silences_ms(chances, 0.5) == pytest.approx([engine_silence_ms(engine, float(one)) for one in chances])
    assert rule_score(two_turns(), np.array([800.0, 300.0, 300.0])).median_ms == 305.0


def engine_silence_ms(engine: EndpointModel, chance: float) -> float:
    return replace(engine, speculate_from=0.5).delays_for(chance, 1e6, 1e6).eager_ms


def test_answers_are_begun_at_the_chance_at_which_few_enough_are_thrown_away() -> None:
    rule = HoldRule(0.2, 700.0, 0.8)
    assert speculate_from(two_turns(), np.array([0.05, 0.9, 0.9]), rule) == 0.1
    pauses = replace(two_turns(), lasted_ms=np.array([700.0, 600.0, 3000.0]), is_end=np.array([False, False, True]))
    assert speculate_from(pauses, np.array([0.45, 0.45, 0.9]), rule) > 0.45


def evidence(number: int, *, is_end: bool) -> Evidence:
    rng = random.Random(number)
    words = "I lost my keys." if is_end else "I lost my"
    pause = HeardPause(
        words, words, 900.0, rng.gauss(2.0 * is_end, 1.0), 0.0, 1000.0, 100.0, 600.0 if not is_end else 3000.0, 5.0, is_end
    )
    return Evidence(
        "t", "k", f"p{number}", "joe", "usual", "wide", "", words, 900.0, (JudgedHearing(pause, 0.9 if is_end else 0.2),)
    )


def test_the_fit_learns_from_the_judges_and_does_without_one() -> None:
    known = {("", "I lost my keys"): 0.9, ("", "I lost my"): 0.01}
    heard = [evidence(number, is_end=number % 2 == 0) for number in range(80)]
    found = rows(heard, known)
    assert dict(found[0].evidence.judged) == {"ear": 0.9, "meaning": 0.9}
    assert only(found[0].evidence, ("ear",)).judged == {"ear": 0.9}
    model = fitted(found, ("ear", "ear_missing", "meaning", "meaning_missing"))
    ends = pauses_of(found, heard).is_end
    for kept in (JUDGES, ("ear",), ("meaning",)):
        chances = model.chances(found, kept=kept)
        assert chances[ends].min() > chances[~ends].max()


def test_where_people_say_little_the_weights_stay_what_they_are_drawn_towards() -> None:
    known = {("", "I lost my keys"): 0.9, ("", "I lost my"): 0.01}
    few = rows([evidence(number, is_end=number % 2 == 0) for number in range(4)], known)
    weights = fitted_to_people(few, Known({**PLAIN_SUM, "asks": 1.0}, few)).weights
    assert weights["ear"] == pytest.approx(PLAIN_SUM["ear"], abs=0.05)
    assert weights["asks"] == pytest.approx(1.0, abs=0.05)


def test_no_model_judges_a_recording_that_it_was_fitted_to() -> None:
    heard = [replace(evidence(number, is_end=number % 2 == 0), voice=f"speaker {number % 5}") for number in range(40)]
    odd = replace(evidence(1, is_end=True), voice="the odd one", kind="turns")
    found = rows([*heard, odd], {})
    known = Known(PLAIN_SUM, found[:-1])
    assert cross_validated(found, known)[-1] == fitted_to_people(found[:-1], known).chances(found[-1:])[0]


def test_a_callers_habit_is_known_before_each_pause_of_a_call_and_in_no_other() -> None:
    call = [replace(evidence(number, is_end=number == 2), kind="turns") for number in range(3)]
    request = replace(evidence(3, is_end=True), kind="utterances")
    found = with_habits(rows([*call, request, replace(evidence(4, is_end=True), kind="turns")], {}))
    assert [(row.evidence.habit.went_on, row.evidence.habit.ended) for row in found] == [(0, 0), (1, 0), (2, 0), (0, 0), (2, 1)]
