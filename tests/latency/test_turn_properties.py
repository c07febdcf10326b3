"""Turns measured in any order of events: no time may be negative, or reach back beyond its own cause."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conversation.test_properties import MOVES, TEXTS, TOOLS, hung_up
from tests.conversation.world import World
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.rules import Limits, Phrases, Rules
from voiceagent.latency.spans import TurnReport
from voiceagent.latency.turns import TurnMeter

RULES = Rules(
    language="en",
    phrases=Phrases(greeting="Hello, how can I help you?", apology="Sorry.", fillers=("Let me see.",)),
    limits=Limits(silence_timeout_ms=1000, max_tool_rounds=2),
    tools=TOOLS,
)
scripts = st.lists(
    st.tuples(st.sampled_from(sorted(MOVES)), st.sampled_from(TEXTS), st.sampled_from([0.0, 20.0, 300.0, 1500.0])), max_size=60
)


class Measured:
    """The meter of a call, and when each thing that a time may be counted from happened last."""

    def __init__(self) -> None:
        self.meter = TurnMeter("call", "embedded")
        self.speech_end_ms: float | None = None
        """Of the last endpoint since a reply began."""
        self.requested_ms: float | None = None
        self.speech_over_reply_ms: float | None = None
        """The onset of the first speech since the last reply was first heard."""
        self.onset_ms = 0.0
        self.heard: set[int] = set()
        self.began: dict[int, tuple[float | None, float | None]] = {}
        self.cancelled_by: dict[int, tuple[ev.Event, float]] = {}

    def note(self, event: ev.Event, actions: tuple[act.AnyAction, ...]) -> None:
        match event:
            case ev.SpeechStarted():
                self.onset_ms = event.onset_ms
                if self.speech_over_reply_ms is None:
                    self.speech_over_reply_ms = event.onset_ms
            case ev.Endpoint():
                self.speech_end_ms = event.speech_end_ms
            case ev.ReplyRequested():
                self.requested_ms = event.at_ms
            case ev.Played() if event.reply_id not in self.heard:
                self.heard.add(event.reply_id)
                self.speech_over_reply_ms = None
        for action in actions:
            if isinstance(action, act.ReplyStarted):
                self.began[action.turn] = (self.speech_end_ms, self.requested_ms)
                self.speech_end_ms = None
            elif isinstance(action, act.CancelReply):
                since_ms = self.onset_ms if self.speech_over_reply_ms is None else self.speech_over_reply_ms
                self.cancelled_by[action.reply_id] = (event, since_ms)
        report = self.meter.observe(event, actions, 0.0)
        if report is not None:
            ended = next(action.reply_id for action in actions if isinstance(action, act.ReplyEnded))
            self.check(report, ended, event.at_ms)

    def check(self, report: TurnReport, reply_id: int, now_ms: float) -> None:
        for times_ms in report.durations_ms().values():
            assert all(0 <= ms <= now_ms + 500 for ms in times_ms)  # speech ends 500 ms before its endpoint
        if report.barge_in_stop_ms is not None:
            cause, since_ms = self.cancelled_by[reply_id]
            assert not isinstance(cause, ev.ReplyRequested | ev.ReplyCancelled | ev.Announce)
            assert report.barge_in_stop_ms <= cause.at_ms - since_ms
        if report.wait is None:
            return
        spoken_ms, requested_ms = self.began[report.turn]
        assert report.wait.began_ms == (requested_ms if report.wait.typed else spoken_ms)
        assert (report.voice_to_voice_ms is None) == report.wait.typed
        end_ms = 0.0
        for piece in report.wait.contributions:
            assert abs(piece.start_ms - end_ms) < 0.001
            end_ms = piece.start_ms + piece.duration_ms
        assert abs(end_ms - report.wait.duration_ms) < 0.001


@given(scripts)
@settings(max_examples=600, deadline=None)
def test_no_time_of_a_turn_is_negative_or_counted_from_anything_but_its_own_cause(script: list[tuple[str, str, float]]) -> None:
    world = World(RULES, Measured().note)
    world.begin()
    for move, text, later_ms in script:
        world.now_ms += later_ms
        world.leg_ms = world.now_ms
        MOVES[move](world, text)
    hung_up(world)


def test_a_turn_that_is_typed_over_a_reply_does_not_count_from_the_speech_before() -> None:
    reports: list[TurnReport] = []
    meter = TurnMeter("call", "embedded")

    def note(event: ev.Event, actions: tuple[act.AnyAction, ...]) -> None:
        report = meter.observe(event, actions, 0.0)
        if report is not None:
            reports.append(report)

    world = World(RULES, note)
    world.begin()
    world.play_all()
    world.say("What can you do?")
    world.answer("I can tell you a very long story about everything that I can do.")
    world.synthesise_all()
    world.frames(100)
    world.now_ms += 3000
    world.feed(ev.TextReceived(world.now_ms, "Make it short."))
    world.feed(ev.ReplyRequested(world.now_ms))
    world.settle()
    world.now_ms += 400
    world.answer("As you like.")
    world.play_all()
    assert [report.barge_in_stop_ms for report in reports] == [None, None]
    typed = reports[1].wait
    assert typed is not None
    assert typed.typed
    assert reports[1].voice_to_voice_ms is None
    assert 400 <= typed.duration_ms < 500
