"""What a client is told that takes its call up again."""

from __future__ import annotations

import pytest

from voiceagent.conversation import actions
from voiceagent.realtime.session import RealtimeSession
from voiceagent.realtime.settings import NoiseReduction

TOKEN = "rs_next"


@pytest.fixture
def session() -> RealtimeSession:
    """A session whose agent has begun to speak, with audio by events."""
    session = RealtimeSession("rtc_1")
    session.settings.offer(NoiseReduction(), takes_audio=True)
    session.start()
    session.resumable("rs_first", 60_000.0)
    return session


def say(session: RealtimeSession, end_ms: float) -> str:
    """More audio is sent; returns the event's id."""
    return str(session.on_audio((1, 0, end_ms), 0, "AAAA", 100.0)[-1]["event_id"])


def begin(session: RealtimeSession) -> None:
    session.on_notice(actions.ReplyStarted(1, 1), 0.0)
    session.on_notice(actions.ReplyText(1, 0, "One two three."), 0.0)


def types(events: list[dict[str, object]]) -> list[object]:
    return [event["type"] for event in events]


def test_it_gets_what_came_after_the_last_event_that_it_has(session: RealtimeSession) -> None:
    begin(session)
    last = say(session, 100.0)
    (heard,) = session.on_notice(actions.ReplyHeard(1, "One"), 100.0)
    session.lost()
    told = session.resumed(last, TOKEN, 60_000.0)
    assert types(told) == ["session.created", "voiceagent.resume", "voiceagent.heard"]
    assert told[1]["token"] == TOKEN
    assert told[2] == heard


def test_without_that_it_gets_what_came_since_the_loss(session: RealtimeSession) -> None:
    begin(session)
    session.on_notice(actions.ReplyHeard(1, "One"), 100.0)
    session.lost()
    (later,) = session.on_notice(actions.ReplyHeard(1, "One two"), 200.0)
    for after in ("", "event_unknown"):
        assert session.resumed(after, TOKEN, 60_000.0)[2:] == [later]


def test_audio_behind_its_last_event_was_not_heard(session: RealtimeSession) -> None:
    begin(session)
    first, last = say(session, 100.0), say(session, 200.0)
    assert session.audio_got(first) == (1, 0, 100.0)
    assert session.audio_got(last) is None, "it got all"
    assert session.audio_got("event_unknown") is None


def test_all_audio_was_missed_where_its_last_event_is_older(session: RealtimeSession) -> None:
    session.on_notice(actions.ReplyStarted(1, 1), 0.0)
    (*_, written) = session.on_notice(actions.ReplyText(1, 0, "One two three."), 0.0)
    say(session, 100.0)
    assert session.audio_got(str(written["event_id"])) == (1, 0, 0.0)


def test_nobody_else_gets_the_token(session: RealtimeSession) -> None:
    assert types(session.joined()) == ["session.created"]
    assert "rs_" not in str(session.joined())


def test_who_comes_back_and_who_joins_learn_that_the_call_is_recorded(session: RealtimeSession) -> None:
    def told() -> list[object]:
        return [events[0]["session"]["voiceagent"]["recording"] for events in (session.resumed("", TOKEN, 1.0), session.joined())]

    assert told() == [False, False]
    (event,) = session.recording_changed(is_recorded=True)
    assert (event["type"], event["recording"]) == ("voiceagent.recording", True)
    assert told() == [True, True]
    session.recording_changed(is_recorded=False)
    assert told() == [False, False]


def test_what_becomes_of_a_copy_changes_nothing_in_the_session(session: RealtimeSession) -> None:
    begin(session)
    session.on_notice(actions.ToolStarted(1, "c1", "book", "{}"), 50.0)
    session.on_notice(actions.ReplyHeard(1, "One"), 100.0)
    last = say(session, 150.0)
    copy = session.as_if_lost()
    ended = copy.on_notice(actions.ReplyEnded(1, "interrupted", "One", "two three."), 200.0)
    left = copy.left()
    assert types(ended)[-1] == "response.done"
    assert [event for _, event in left.recent][-len(ended) :] == ended
    assert left.missed == len(ended)
    went_on = RealtimeSession("rtc_2")
    went_on.go_on(left)
    for after in (last, "event_unknown"):
        assert went_on.resumed(after, TOKEN, 60_000.0)[2:] == ended
    later = session.on_notice(actions.ReplyHeard(1, "One two"), 300.0)
    assert types(later) == ["voiceagent.heard"]
    assert types(session.on_notice(actions.ToolEnded(1, "c1", "book", "{}", True), 300.0))[0] == "response.mcp_call.completed"
    done = session.on_notice(actions.ReplyEnded(1, "completed", "One two three.", ""), 400.0)[-1]
    assert done["type"] == "response.done"
    assert done["response"]["status"] == "completed"


def test_a_copy_has_what_the_client_has_missed_and_the_last_events(session: RealtimeSession) -> None:
    begin(session)
    first = say(session, 0.0)
    for number in range(300):
        say(session, 100.0 * number)
    assert first not in dict(session.as_if_lost().left().recent)
    session.lost()
    missed = [say(session, 100.0 * number) for number in range(400)]
    left = session.as_if_lost().left()
    assert [event_id for event_id, _ in left.recent] == missed
    assert left.missed == 400
    assert set(left.audio_ends) == set(missed)
