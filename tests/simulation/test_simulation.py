from collections import Counter
from functools import partial

from msgspec.structs import replace

from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.machine import replay
from voiceagent.conversation.rules import EndpointingRules, Phrases, Rules, SpeculationRules
from voiceagent.simulation.call import COMMITTED, EFFECTS
from voiceagent.simulation.run import simulate, simulate_one, with_tools
from voiceagent.simulation.tally import Tally
from voiceagent.simulation.virtual_call import SimulatedPlayout
from voiceagent.turn_taking.endpointing import EndpointModel

RULES = Rules(
    language="en",
    instructions="Be brief.",
    phrases=Phrases(greeting="Hello, how can I help you?"),
    endpointing=EndpointingRules(model=EndpointModel()),
)


def test_every_rule_holds_in_two_thousand_calls_and_every_decision_occurs() -> None:
    tally = simulate(RULES, 2000, jobs=1)
    assert tally.broken == []
    assert tally.calls == 2000
    assert tally.decisions["the call ended"].total() == 2000
    assert set(tally.decisions["the reply was"]) == {"completed", "interrupted", "failed"}
    assert set(tally.decisions["the speculative reply was"]) == {"kept", "resumed", "failed"}
    assert set(tally.decisions["a guard hit"]) == {"input", "output"}
    assert set(tally.decisions[EFFECTS]) == {COMMITTED}
    for kind in ("command", "sentence"):
        assert tally.share(f"over its speech: {kind}", "yields") > 0.98
    assert tally.share("over its speech: noise", "yields") < 0.03


def test_a_number_names_a_call() -> None:
    steps: list[tuple[ev.Event, tuple[act.Action, ...]]] = []
    first = simulate_one(RULES, 17, lambda event, actions: steps.append((event, actions)))
    assert first == simulate_one(RULES, 17)
    assert first.events == len(steps)
    assert all(step.same for step in replay(with_tools(RULES), steps))
    assert simulate_one(RULES, 18) != first


def test_nothing_of_a_filler_is_played_beyond_the_word_at_which_it_gives_way() -> None:
    rules = replace(RULES, phrases=replace(RULES.phrases, fillers=("One moment, I am looking for it.",)))
    ends: dict[tuple[int, int, int], float] = {}

    def note(number: int, event: ev.Event, actions: tuple[act.AnyAction, ...]) -> None:
        if isinstance(event, ev.Played) and (number, event.reply_id, event.clause) in ends:
            assert event.played_ms <= ends[number, event.reply_id, event.clause]
        for action in actions:
            if isinstance(action, act.EndClauseAt):
                ends[number, action.reply_id, action.clause] = action.end_ms

    for number in range(100):
        assert simulate_one(rules, number, partial(note, number)).broken == []
    assert ends


def test_processes_share_the_work_and_the_sum_is_the_same() -> None:
    done: list[int] = []
    assert simulate(RULES, 1000, first=50, jobs=2, progress=done.append) == simulate(RULES, 1000, first=50, jobs=1)
    assert done == [500, 1000]


def test_without_speculative_replies_none_is_made() -> None:
    tally = simulate(Rules(language="en", speculation=SpeculationRules(max_replies=0)), 100, jobs=1)
    assert tally.broken == []
    assert "the speculative reply was" not in tally.decisions


def test_percentiles_are_of_the_nearest_rank() -> None:
    tally = Tally()
    for ms in (100, 200, 300, 400):
        tally.took("x", ms)
    assert tally.percentiles_ms("x", (25, 50, 99)) == (100.0, 200.0, 400.0)
    assert tally.percentiles_ms("y") == ()
    other = Tally(decisions={"q": Counter(a=1)}, broken=["call 1: x"])
    tally.add(other)
    assert tally.share("q", "a") == 1.0
    assert tally.broken == ["call 1: x"]


def test_the_simulated_leg_goes_on_from_the_frame_at_which_it_was_held() -> None:
    playout = SimulatedPlayout()
    playout.add(1, 0, 520.0, 1000.0)
    assert playout.next_ms() == 1020.0
    playout.pause(1, 1110.0)
    assert playout.next_ms() is None
    playout.resume(1, 2000.0)
    assert playout.next_ms() == 2000.0 + 160.0
    playout.due(2160.0)
    assert playout.cancel(1, 2200.0) == (0, 300.0)
    assert playout.next_ms() is None
