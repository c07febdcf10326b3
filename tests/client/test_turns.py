"""Turns read from events. The events are what a real session makes of the turn engine's notices."""

from __future__ import annotations

import pytest

from voiceagent.client.turns import HeardTurn, TurnReader
from voiceagent.conversation import actions as act
from voiceagent.latency.spans import TurnReport
from voiceagent.realtime.session import RealtimeSession

TIMER = {"type": "function", "name": "set_timer", "parameters": {"type": "object", "properties": {}}}


class Told:
    """A session, and what a client reads of it."""

    def __init__(self) -> None:
        self.session = RealtimeSession("rtc_1", tools=[TIMER])
        self.reader = TurnReader()
        self.now_ms = 0.0

    def tell(self, *notices: act.Notice) -> None:
        for notice in notices:
            self.now_ms += 100.0
            self._take(self.session.on_notice(notice, self.now_ms))

    def measured(self, turn: int) -> None:
        self._take(self.session.on_turn(TurnReport("rtc_1", turn, 0.0, "embedded", (), 250.0, None), {}))

    def end(self) -> None:
        self._take(self.session.on_end("hangup", self.now_ms))

    def _take(self, events: list[dict[str, object]]) -> None:
        for event in events:
            self.reader.take(event)

    def say(self, utterance_id: int, text: str) -> None:
        self.tell(act.CallerStarted(utterance_id, self.now_ms), act.CallerFinal(utterance_id, text))

    def reply(self, reply_id: int, turn: int, text: str) -> None:
        self.tell(act.ReplyStarted(reply_id, turn), act.ReplyText(reply_id, 0, text))

    def over(self, reply_id: int, turn: int, status: str, heard: str, unheard: str = "") -> None:
        self.tell(act.ReplyHeard(reply_id, heard), act.ReplyEnded(reply_id, status, heard, unheard))
        if turn:
            self.measured(turn)


@pytest.fixture
def told() -> Told:
    return Told()


def seen(turn: HeardTurn) -> tuple[str, str, str]:
    return turn.caption, turn.heard, turn.unheard


def test_a_turn_that_was_cut_off_is_a_turn_of_its_own(told: Told) -> None:
    told.say(1, "Book a table")
    told.reply(1, 1, "For how many people?")
    told.over(1, 1, "interrupted", "For how", "many people?")
    told.say(2, "for four.")
    told.reply(2, 2, "Your table is booked.")
    told.over(2, 2, "completed", "Your table is booked.")
    assert [seen(turn) for turn in told.reader.turns] == [
        ("Book a table", "For how", "many people?"),
        ("for four.", "Your table is booked.", ""),
    ]
    assert [turn.is_interrupted for turn in told.reader.turns] == [True, False]
    assert not told.reader.is_replying


def test_the_greeting_has_no_turn_and_the_next_words_are_not_its(told: Told) -> None:
    told.reply(1, 0, "Hello.")
    told.over(1, 0, "completed", "Hello.")
    told.say(1, "Hi.")
    told.reply(2, 1, "How can I help?")
    told.over(2, 1, "completed", "How can I help?")
    greeting, turn = told.reader.turns
    assert (greeting.caption, greeting.measured) == ("", None)
    assert seen(turn) == ("Hi.", "How can I help?", "")


def test_what_the_agent_goes_on_over_is_not_put_before_the_next_words(told: Told) -> None:
    told.say(1, "Tell me more.")
    told.reply(1, 1, "There is a lot to tell.")
    told.say(2, "mm-hm")
    told.over(1, 1, "completed", "There is a lot to tell.")
    told.say(3, "Stop.")
    told.reply(2, 2, "All right.")
    told.over(2, 2, "completed", "All right.")
    first, second = told.reader.turns
    assert (first.passed_over, second.caption) == ("mm-hm", "Stop.")


def test_the_end_of_the_call_takes_nothing_back_that_was_heard(told: Told) -> None:
    told.say(1, "Tell me more.")
    told.reply(1, 1, "There is a lot to tell.")
    told.tell(act.ReplyHeard(1, "There is"))
    told.end()
    assert seen(told.reader.turns[0]) == ("Tell me more.", "There is", "a lot to tell.")


def test_words_that_were_never_played_are_unheard_while_the_reply_goes_on(told: Told) -> None:
    told.say(1, "Tell me more.")
    told.reply(1, 1, "There is a lot.")
    assert seen(told.reader.turns[0]) == ("Tell me more.", "", "There is a lot.")
    assert told.reader.is_replying


def test_a_reply_that_fails_says_why_also_without_an_error(told: Told) -> None:
    told.say(1, "Tell me more.")
    told.tell(act.ReplyStarted(1, 1), act.Failure("llm_failed", "the server answers 401"))
    told.over(1, 1, "failed", "Sorry.")
    told.say(2, "And now?")
    told.tell(act.ReplyStarted(2, 2))
    told.over(2, 2, "failed", "Sorry.")
    assert [turn.failure for turn in told.reader.turns] == ["the server answers 401", "the reply failed"]


def test_a_tool_of_the_client_does_not_make_two_turns(told: Told) -> None:
    told.say(1, "Set a timer.")
    told.tell(act.ReplyStarted(1, 1), act.ToolStarted(1, "c1", "set_timer", "{}"))
    assert told.reader.is_replying
    told.tell(act.ToolEnded(1, "c1", "set_timer", "{}", True), act.ReplyText(1, 0, "It is set."))
    told.over(1, 1, "completed", "It is set.")
    (turn,) = told.reader.turns
    assert [tool["name"] for tool in turn.tools] == ["set_timer"]
    assert seen(turn) == ("Set a timer.", "It is set.", "")


def test_the_result_of_a_tool_belongs_to_the_turn_that_called_it(told: Told) -> None:
    told.say(1, "Where is my order?")
    told.tell(act.ReplyStarted(1, 1), act.ToolStarted(1, "c1", "find", "{}"))
    told.over(1, 1, "interrupted", "One moment.")
    told.say(2, "Are you there?")
    told.tell(act.ReplyStarted(2, 2), act.ToolEnded(1, "c1", "find", '"here"', True))
    assert [[tool["output"] for tool in turn.tools] for turn in told.reader.turns] == [['"here"'], []]


@pytest.mark.parametrize("event", [{}, {"type": 7}, {"type": "response.done"}, {"type": "error"}, {"type": "voiceagent.heard"}])
def test_odd_events_of_other_servers_break_nothing(told: Told, event: dict[str, object]) -> None:
    told.reader.take(event)
    told.tell(act.ReplyStarted(1, 1))
    told.reader.take(event)
