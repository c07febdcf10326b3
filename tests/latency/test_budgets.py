from __future__ import annotations

import re
from dataclasses import astuple, replace
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from voiceagent.errors import ConfigError
from voiceagent.latency.budgets import StageLimits, check_turn, compare, distribution, load_budgets, parse_budgets, percentile
from voiceagent.latency.burn import OnMiss
from voiceagent.latency.spans import LegKind, Span, Stage, TurnReport
from voiceagent.models.registry import registry
from voiceagent.resources import default_budgets_file

durations_ms = st.lists(st.floats(0, 1e6, allow_nan=False), min_size=1, max_size=200)


def test_a_percentile_is_the_nearest_rank() -> None:
    values = [float(v) for v in range(1, 101)]
    assert [percentile(values, p) for p in (0, 50, 95, 99, 100)] == [1, 50, 95, 99, 100]
    assert percentile([7.0], 99) == 7.0


def test_the_p99_of_few_turns_is_the_worst_of_them() -> None:
    assert percentile([1.0, 900.0, 2.0], 99) == 900.0


def test_no_values_have_no_percentile() -> None:
    with pytest.raises(ValueError, match="no values"):
        percentile([], 50)


@given(durations_ms, st.floats(0, 100))
def test_at_least_the_asked_share_does_not_exceed_a_percentile(values: list[float], percent: float) -> None:
    found = percentile(values, percent)
    assert found in values
    assert sum(v <= found for v in values) * 100 >= percent * len(values)


@given(durations_ms)
def test_percentiles_do_not_decrease(values: list[float]) -> None:
    found = distribution(values)
    assert found.p50_ms <= found.p95_ms <= found.p99_ms <= max(values)


LIMITS = load_budgets(default_budgets_file()).of("embedded")


def turns(*vad_ms: float) -> list[TurnReport]:
    return [TurnReport("c", i, 0.0, "embedded", (Span(Stage.VAD, 0.0, ms),), None, None) for i, ms in enumerate(vad_ms, 1)]


def test_every_stage_is_compared_in_order_and_only_the_measured_ones_have_figures() -> None:
    stages = compare(turns(4, 8), LIMITS)
    assert [stage.stage for stage in stages] == list(Stage)
    assert [stage.stage for stage in stages if stage.measured] == [Stage.VAD]
    assert not any(stage.over for stage in stages)


def test_only_the_percentiles_over_their_limit_are_named() -> None:
    slow_tail = turns(*[5.0] * 90, *[45.0] * 10)
    (vad,) = [stage for stage in compare(slow_tail, LIMITS) if stage.stage is Stage.VAD]
    assert vad.measured is not None
    assert (vad.measured.count, vad.measured.p50_ms, vad.measured.p95_ms) == (100, 5.0, 45.0)
    assert vad.over == ("p95",)


def test_a_value_at_its_limit_is_within_it() -> None:
    (vad,) = [stage for stage in compare(turns(LIMITS[Stage.VAD].p50_ms), LIMITS) if stage.stage is Stage.VAD]
    assert vad.over == ()


def test_a_stage_that_occurs_twice_in_a_turn_counts_twice() -> None:
    turn = TurnReport("c", 1, 0.0, "embedded", (Span(Stage.TOOL, 0, 10), Span(Stage.TOOL, 20, 30)), 600.0, 100.0)
    measured = {stage.stage: stage.measured for stage in compare([turn], LIMITS) if stage.measured}
    assert measured[Stage.TOOL].count == 2
    assert measured[Stage.VOICE_TO_VOICE].p50_ms == 600.0
    assert measured[Stage.BARGE_IN_STOP].p50_ms == 100.0


GOOD = default_budgets_file().read_text(encoding="utf-8")
LINE_OF = {line.split(":")[0].strip(): number for number, line in reversed(list(enumerate(GOOD.splitlines(), 1)))}


def error_of(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_budgets(text, "b.yaml")
    return str(caught.value)


def changed(stage: str, old: str, new: str) -> str:
    lines = GOOD.splitlines()
    line = lines[LINE_OF[stage] - 1]
    assert old in line
    lines[LINE_OF[stage] - 1] = line.replace(old, new)
    return "\n".join(lines)


def test_the_shipped_budgets_limit_every_stage_of_every_profile() -> None:
    budgets = load_budgets(default_budgets_file())
    assert {name.partition("/")[0] for name in budgets.profiles} == set(registry().profiles)
    assert all(set(limits) == set(Stage) for limits in budgets.profiles.values())
    embedded = budgets.of("embedded")
    assert embedded[Stage.VOICE_TO_VOICE] == StageLimits(350, 950, 1700)
    assert embedded[Stage.BARGE_IN_STOP].p95_ms == 350
    assert budgets.of("gpu")[Stage.TOOL].p99_ms == 2000


def test_every_shipped_profile_has_limits_of_its_own_for_the_telephone() -> None:
    shipped = load_budgets(default_budgets_file())
    profiles = [name for name in shipped.profiles if "/" not in name]
    for name in profiles:
        here, there = shipped.of(name), shipped.of(name, LegKind.TELEPHONE)
        more_ms = [
            after - before
            for before, after in zip(
                astuple(here[Stage.VOICE_TO_VOICE])[:3], astuple(there[Stage.VOICE_TO_VOICE])[:3], strict=True
            )
        ]
        assert more_ms == pytest.approx([120.0] * 3)
        assert there[Stage.BARGE_IN_STOP].p95_ms == 410


def test_a_profile_takes_the_limits_of_the_one_it_extends_where_it_names_none(tmp_path: Path) -> None:
    shipped = load_budgets(default_budgets_file())
    mine = tmp_path / "mine.yaml"
    mine.write_text("mine:\n  vad: {p50: 1 ms, p95: 2 ms, p99: 3 ms}\n  extends: cpu\nsame: {extends: mine}\n")
    budgets = load_budgets(mine)
    assert budgets.of("mine") == {**shipped.of("cpu"), Stage.VAD: StageLimits(1, 2, 3)}
    assert budgets.of("same") == budgets.of("mine")
    assert budgets.of("embedded") == shipped.of("embedded")


def test_a_leg_takes_its_profiles_limits_where_it_names_none_and_none_is_the_profiles(tmp_path: Path) -> None:
    shipped = load_budgets(default_budgets_file())
    telephone = shipped.of("embedded", LegKind.TELEPHONE)
    assert telephone[Stage.BARGE_IN_STOP].p95_ms == 410
    assert telephone[Stage.ENDPOINT] == shipped.of("embedded")[Stage.ENDPOINT]
    assert shipped.of("embedded", LegKind.WEBRTC) == shipped.of("embedded")
    mine = tmp_path / "mine.yaml"
    mine.write_text("embedded: {extends: cpu}\nmine: {extends: cpu}\nmine/telephone: {vad: {p50: 1 ms, p95: 2 ms, p99: 3 ms}}\n")
    budgets = load_budgets(mine)
    assert budgets.of("embedded", LegKind.TELEPHONE) == shipped.of("cpu"), "what replaces a shipped profile replaces its legs"
    assert budgets.of("mine", LegKind.TELEPHONE) == {**shipped.of("cpu"), Stage.VAD: StageLimits(1, 2, 3)}
    assert budgets.of("mine", LegKind.WEBRTC) == shipped.of("cpu")
    assert shipped.extended("other", "embedded").of("other", LegKind.TELEPHONE) == telephone


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("embedded/pigeon: {}", "'embedded/pigeon': unknown leg 'pigeon', expected one of webrtc, websocket, telephone, text"),
        ("tpu/telephone: {}", "'tpu/telephone': profile 'tpu' does not stand above; write its limits first"),
        ("/telephone: {}", "profile '/telephone' is not a name; expected small letters, digits, - and _"),
    ],
)
def test_a_wrong_leg_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text(text)
    with pytest.raises(ConfigError) as refused:
        load_budgets(mine)
    assert str(refused.value) == f"{mine}:1: {said}"


def test_a_turn_is_judged_by_the_limits_of_its_leg() -> None:
    budgets = load_budgets(default_budgets_file())
    late = turn((Stage.VAD, 1), whole_ms=1000)
    assert [miss.stage for miss in check_turn(late, budgets)] == [Stage.VOICE_TO_VOICE]
    assert check_turn(replace(late, leg=LegKind.TELEPHONE), budgets) == ()


@pytest.mark.parametrize("wanted", ["tpu", "below", "[cpu]", ""])
def test_only_a_profile_that_stands_above_can_be_extended(tmp_path: Path, wanted: str) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text(f"mine:\n  extends: {wanted}\nbelow: {{extends: cpu}}\n")
    with pytest.raises(
        ConfigError, match=r"mine\.yaml:2: mine: cannot extend .*; expected a profile that stands above: embedded"
    ):
        load_budgets(mine)


def test_what_is_extended_must_fit_what_differs() -> None:
    error = error_of(GOOD + "mine:\n  extends: cpu\n  answer: {p50: 1.4 s, p95: 2 s, p99: 3 s}\n")
    assert "mine: the parts do not fit the whole" in error


def test_an_unknown_profile_is_told_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="no budgets for profile 'tpu', only for embedded, real-speech, starter"):
        load_budgets(default_budgets_file()).of("tpu")


@pytest.mark.parametrize(
    ("stage", "old", "new", "message"),
    [
        ("vad", "vad", "vat", "unknown stage 'vat', expected one of uplink, vad"),
        ("vad", "p95", "p96", "embedded.vad: unknown percentile 'p96', expected p50, p95 and p99"),
        ("vad", "p95: 30 ms", "p95: 30", "embedded.vad.p95: 30 has no unit; write 30 ms or 30 s"),
        ("vad", "p95: 30 ms", "p95: 30 min", "unknown unit 'min', expected ms or s"),
        ("vad", "p95: 30 ms", "p95: fast", "'fast' is not a time; expected a number with its unit such as 120 ms"),
        ("vad", "p95: 30 ms", "p95: -30 ms", "'-30 ms' is not a time"),
        ("vad", "p95: 30 ms", "p95: 0 ms", "0 ms is out of range"),
        ("vad", "p95: 30 ms", "p95: [30 ms]", "expected a time with its unit such as 120 ms, found a list"),
        ("vad", "p95: 30 ms", "p95: 5 ms", "embedded.vad: the percentiles decrease; expected p50 ≤ p95 ≤ p99"),
        ("vad", "p95: 30 ms, ", "", "embedded.vad: has no p95"),
        ("vad", "p95: 30 ms, ", "p50: 30 ms, ", "'p50' stands here twice"),
        ("vad", "{p50: 10 ms,  p95: 30 ms,  p99: 60 ms}", "10 ms", "a mapping of percentiles of embedded.vad, found '10 ms'"),
        ("voice_to_voice", "350 ms", "300 ms", "the parts do not fit the whole: the p50 of endpoint + stt_wait"),
    ],
)
def test_a_mistake_is_told_with_its_line(stage: str, old: str, new: str, message: str) -> None:
    error = error_of(changed(stage, old, new))
    assert error.startswith(f"b.yaml:{LINE_OF[stage]}: ")
    assert message in error


def test_a_missing_stage_is_told_at_its_profile() -> None:
    lines = [line for line in GOOD.splitlines() if "llm_ttft:" not in line]
    error = error_of("\n".join(lines))
    assert error.startswith(f"b.yaml:{lines.index('embedded:') + 1}: embedded: has no limits for llm_ttft")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "b.yaml:1: is empty"),
        ("{}", "b.yaml:1: names no profile"),
        ("- a", "b.yaml:1: expected a mapping of profiles, found a list"),
        ("a: b: c", "b.yaml:1: mapping values are not allowed"),
        ("ok: {}\nNo Name: {}", "b.yaml:1: ok: has no limits"),
        ("No Name: {}", "b.yaml:1: profile 'No Name' is not a name"),
        ("[a]: {}", "b.yaml:1: expected the name of one of the profiles, found a list"),
        ("\n\x07", "b.yaml:2: holds a character that YAML does not allow"),
        ('"\\U00110000": 1', "b.yaml:1: cannot be parsed"),
        ("[" * 5000, "b.yaml:1: cannot be parsed"),
        ("a: 1\n---\nb: 1", "b.yaml:2: but found another document"),
    ],
)
def test_what_is_no_budgets_file_is_told_in_one_line(text: str, message: str) -> None:
    error = error_of(text)
    assert message in error
    assert "\n" not in error


def test_an_unreadable_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_budgets(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_budgets(tmp_path)
    (tmp_path / "latin.yaml").write_bytes(b"embedded:\n  \xff: 1")
    with pytest.raises(ConfigError, match=r"latin\.yaml:2: is not UTF-8"):
        load_budgets(tmp_path / "latin.yaml")
    (tmp_path / "huge.yaml").write_bytes(b"#" * 300_000)
    with pytest.raises(ConfigError, match="is larger than 256 kB"):
        load_budgets(tmp_path / "huge.yaml")


STAGES = [stage.value for stage in Stage]
words = st.sampled_from(
    ["embedded", "extends", *STAGES, "p50", "p95", "p99", "120 ms", "1.5 s", "7", "<<", "nan ms", "1e999 s", None, True]
)
anything = st.recursive(
    words | st.text(max_size=8), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=5)
)


def refusal_of(text: str) -> str:
    """The error for `text`, empty when it holds budgets. Anything but a ConfigError escapes."""
    try:
        budgets = parse_budgets(text, "b.yaml")
    except ConfigError as error:
        return str(error)
    return "" if all(set(limits) == set(Stage) for limits in budgets.profiles.values()) else "incomplete budgets"


@settings(max_examples=300, deadline=None)
@given(anything.map(lambda data: yaml.safe_dump(data, allow_unicode=True)) | st.text(max_size=60))
def test_any_text_is_budgets_or_one_clear_line(text: str) -> None:
    assert re.match(r"$|b\.yaml:\d+: ", refusal_of(text))


@settings(max_examples=200, deadline=None)
@given(st.integers(0, len(GOOD)), st.integers(0, 30), st.text(max_size=4))
def test_any_damage_to_a_good_file_is_budgets_or_one_clear_line(start: int, cut: int, put: str) -> None:
    assert re.match(r"$|b\.yaml:\d+: ", refusal_of(GOOD[:start] + put + GOOD[start + cut :]))


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=80))
def test_any_bytes_are_budgets_or_one_clear_line(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    file = tmp_path_factory.mktemp("budgets") / "b.yaml"
    file.write_bytes(data)
    with pytest.raises(ConfigError):
        load_budgets(file)


def turn(*spans: tuple[Stage, float], whole_ms: float | None = None, stop_ms: float | None = None) -> TurnReport:
    return TurnReport("c", 1, 0.0, "embedded", tuple(Span(stage, 0.0, ms) for stage, ms in spans), whole_ms, stop_ms)


def test_a_turn_within_budget_misses_nothing() -> None:
    budgets = load_budgets(default_budgets_file())
    assert check_turn(turn((Stage.VAD, 30), (Stage.TOOL, 400), whole_ms=950), budgets) == ()
    assert check_turn(turn(), budgets) == ()


def test_a_miss_names_the_stage_its_worst_time_and_the_p95_limit() -> None:
    budgets = load_budgets(default_budgets_file())
    found = check_turn(turn((Stage.TOOL, 600), (Stage.TOOL, 800), (Stage.VAD, 1), whole_ms=951, stop_ms=400), budgets)
    assert [(m.stage, m.measured_ms, m.limit_ms) for m in found] == [
        (Stage.TOOL, 800, 500),
        (Stage.VOICE_TO_VOICE, 951, 950),
        (Stage.BARGE_IN_STOP, 400, 350),
    ]
    assert str(found[0]) == "tool took 800 ms, over its p95 budget of 500 ms"


def test_a_stage_says_what_follows_from_its_misses_beside_its_limits_or_alone() -> None:
    text = """
mine:
  extends: cpu
  vad: {p50: 1 ms, p95: 2 ms, p99: 3 ms, on_miss: shed}
  voice_to_voice: {on_miss: degrade}
"""
    limits = parse_budgets(text, "b.yaml", load_budgets(default_budgets_file()).profiles)
    found = limits.of("mine", LegKind.TELEPHONE)
    assert found[Stage.VAD] == StageLimits(1, 2, 3, OnMiss.SHED)
    assert found[Stage.VOICE_TO_VOICE] == replace(limits.of("cpu")[Stage.VOICE_TO_VOICE], on_miss=OnMiss.DEGRADE)
    assert found[Stage.ANSWER].on_miss is OnMiss.WARN


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("mine: {extends: cpu, vad: {on_miss: panic}}", "b.yaml:1: mine.vad: on_miss is 'panic', expected warn, degrade, shed"),
        ("mine: {extends: cpu, vad: {on_miss: [shed]}}", "b.yaml:1: mine.vad: on_miss is a list, expected warn, degrade, shed"),
        (
            "mine: {extends: cpu, vad: {on_miss: shed, p50: 1 ms}}",
            "b.yaml:1: mine.vad: has no p95, p99; expected p50, p95 and p99",
        ),
        ("cpu/text: {vad: {on_miss: shed}}", "b.yaml:1: cpu/text.vad: on_miss holds for all legs; write it at the profile"),
    ],
)
def test_an_action_that_cannot_be_is_named(line: str, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse_budgets(line, "b.yaml", load_budgets(default_budgets_file()).profiles)
    assert str(error.value) == said


def test_the_actions_of_the_documents_can_be_read_and_the_shipped_file_only_warns() -> None:
    page = Path("docs/latency.md").read_text(encoding="utf-8")
    (block,) = (block for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if "on_miss" in block)
    shipped = load_budgets(default_budgets_file()).profiles
    found = parse_budgets(block, "page", shipped).of("desk")
    assert {limit.on_miss for limit in found.values()} == set(OnMiss)
    assert {limit.on_miss for limits in shipped.values() for limit in limits.values()} == {OnMiss.WARN}
