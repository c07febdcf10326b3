"""Turns measured from the events of a call, in virtual time."""

from __future__ import annotations

from voiceagent.conversation import events as ev
from voiceagent.conversation import machine
from voiceagent.conversation.rules import EndpointingRules, Rules, StepRule, ToolRule, TransitionRule
from voiceagent.latency.spans import LegKind, Stage, TurnReport, WaitCause
from voiceagent.latency.turns import TurnMeter
from voiceagent.turn_taking.endpointing import EndpointModel, Prosody

WORDS = (ev.SpokenWord("It", 0, 200), ev.SpokenWord("is", 200, 400), ev.SpokenWord("noon.", 400, 600))


def measured(*events: ev.Event, leg: LegKind = LegKind.WEBRTC) -> list[TurnReport]:
    meter = TurnMeter("call", "embedded", leg)
    state = machine.start(Rules(language="en"))
    reports = []
    for event in (ev.CallStarted(0.0), *events):
        state, actions = machine.step(state, event)
        report = meter.observe(event, actions, 1000.0)
        if report is not None:
            reports.append(report)
    return reports


TURN = (
    ev.SpeechStarted(1100, 1, 1000),
    ev.Transcript(1600, 1, "what", "time", 12.0),
    ev.Endpoint(2500, 1, 2000, 7.0, 1.0),
    ev.FinalTranscript(2520, 1, "What time is it?"),
    ev.TextDelta(2550, 1, "It is"),
    ev.TextDelta(2560, 1, " noon."),
    ev.GenerationDone(2561, 1),
    ev.ClauseAudio(2580, 1, 0, 600.0, WORDS),
    ev.Played(2600, 1, 0, 20.0),
)


def test_a_turn_is_measured_stage_by_stage() -> None:
    (report,) = measured(*TURN, ev.Played(3180, 1, 0, 600.0))
    got = {stage: values[0] for stage, values in report.durations_ms().items()}
    assert got == {
        Stage.STT_PARTIAL: 12.0,
        Stage.UPLINK: 7.0,
        Stage.VAD: 1.0,
        Stage.ENDPOINT: 500.0,
        Stage.STT_FINAL: 20.0,
        Stage.STT_WAIT: 20.0,
        Stage.LLM_TTFT: 30.0,
        Stage.LLM_INTER_TOKEN: 10.0,
        Stage.TTS_FIRST_AUDIO: 19.0,
        Stage.PLAYOUT: 20.0,
        Stage.ANSWER: 80.0,
        Stage.VOICE_TO_VOICE: 600.0,
    }
    assert report.turn == 1


def test_the_first_audio_of_a_reply_is_its_first_sample_not_trimmed_silence() -> None:
    (report,) = measured(
        *TURN[:7],
        ev.ClauseAudio(2570, 1, 0, 0.0, (), complete=False),
        ev.ClauseAudio(2575, 1, 0, 0.0, WORDS, complete=False),
        *TURN[7:],
        ev.Played(3180, 1, 0, 600.0),
    )
    assert report.durations_ms()[Stage.TTS_FIRST_AUDIO] == [19.0]
    assert report.durations_ms()[Stage.PLAYOUT] == [20.0]


def test_an_interruption_is_measured_from_the_onset_to_the_last_frame() -> None:
    (report,) = measured(
        *TURN,
        ev.Played(2800, 1, 0, 220),
        ev.SpeechStarted(2830, 2, 2700),
        ev.Transcript(3000, 2, "stop", ""),
        ev.PlayoutStopped(2830, 1, 0, 220),
    )
    assert report.barge_in_stop_ms == 100.0


def test_an_interruption_first_taken_for_a_backchannel_counts_from_its_first_word() -> None:
    (report,) = measured(
        *TURN[:7],
        ev.ClauseAudio(2580, 1, 0, 2000.0, tuple(ev.SpokenWord("word", at, at + 200) for at in range(0, 2000, 200))),
        ev.Played(2690, 1, 0, 220.0),
        ev.SpeechStarted(2730, 2, 2700),
        ev.SpeechPaused(3000, 2, 2, 2900, 200.0, Prosody()),
        ev.FinalTranscript(3040, 2, "Mm-hm.", 2),
        ev.Played(3100, 1, 0, 240.0),
        ev.SpeechStarted(3230, 3, 3200),
        ev.SpeechPaused(3500, 3, 3, 3400, 600.0, Prosody()),
        ev.FinalTranscript(3540, 3, "Stop.", 3),
        ev.PlayoutStopped(3540, 1, 0, 240),
    )
    assert report.barge_in_stop_ms == 400.0


def test_what_a_slow_decode_costs_is_booked_on_the_decode() -> None:
    meter = TurnMeter("call", "embedded")
    state = machine.start(Rules(endpointing=EndpointingRules(model=EndpointModel(risk=0.9)), language="en"))
    reports = []
    for event in (
        ev.CallStarted(0.0),
        ev.SpeechStarted(1100, 1, 1000),
        ev.SpeechPaused(2100, 1, 1, 2000, 900, Prosody()),
        ev.FinalTranscript(2900, 1, "What time is it?", 1),
        ev.Endpoint(2910, 1, 2000, 7.0, 1.0),
        ev.TextDelta(2950, 1, "It is noon."),
        ev.GenerationDone(2961, 1),
        ev.ClauseAudio(2980, 1, 0, 600.0, WORDS),
        ev.Played(3000, 1, 0, 600.0),
    ):
        state, actions = machine.step(state, event)
        reports += [report for report in [meter.observe(event, actions, 0.0)] if report is not None]
    got = {stage: values[0] for stage, values in reports[0].durations_ms().items()}
    assert got[Stage.STT_FINAL] == 800.0
    assert got[Stage.ENDPOINT] + got[Stage.STT_WAIT] == 900.0
    assert got[Stage.ENDPOINT] < 500.0


def test_a_tool_is_a_stage_of_its_turn() -> None:
    (report,) = measured(
        *TURN[:4],
        ev.ToolCallRequested(2550, 1, "c", "get_time", "{}"),
        ev.GenerationDone(2551, 1),
        ev.ToolFinished(2651, 1, "c", "{}", True),
        ev.TextDelta(2700, 1, "It is noon."),
        ev.GenerationDone(2701, 1),
        ev.ClauseAudio(2720, 1, 0, 600.0, WORDS),
        ev.Played(2740, 1, 0, 600.0),
    )
    durations = report.durations_ms()
    assert durations[Stage.TOOL] == [101.0]
    assert durations[Stage.LLM_TTFT] == [30.0, 49.0]


def test_a_speculative_reply_counts_from_its_beginning_and_its_answer_from_the_commit() -> None:
    (report,) = measured(
        ev.SpeechStarted(1100, 1, 1000),
        ev.SpeechPaused(2100, 1, 1, 2000, 900, Prosody()),
        ev.FinalTranscript(2120, 1, "What time is it?", 1),
        ev.SilenceReached(2130, 1, 1),
        ev.TextDelta(2160, 1, "It is noon."),
        ev.GenerationDone(2161, 1),
        ev.ClauseAudio(2180, 1, 0, 600.0, WORDS),
        ev.Endpoint(2200, 1, 2000, 7.0, 1.0),
        ev.Played(2210, 1, 0, 600.0),
    )
    got = {stage: values[0] for stage, values in report.durations_ms().items()}
    assert (got[Stage.LLM_TTFT], got[Stage.PLAYOUT], got[Stage.ANSWER]) == (30.0, 10.0, 10.0)
    assert (got[Stage.STT_FINAL], got[Stage.STT_WAIT], got[Stage.ENDPOINT]) == (20.0, 0.0, 200.0)
    assert got[Stage.VOICE_TO_VOICE] == 210.0


def test_a_greeting_is_no_turn() -> None:
    assert measured(ev.HangUp(10, "hangup")) == []


def test_judgements_of_the_pause_are_measured() -> None:
    judged = (ev.TurnJudged(2130, 1, 1, "ear", 0.9, 40.0), ev.TurnJudged(2160, 1, 1, "meaning", 0.8, 15.0))
    (report,) = measured(*TURN[:2], *judged, *TURN[2:], ev.Played(3180, 1, 0, 600.0))
    assert report.durations_ms()[Stage.TURN_JUDGE] == [40.0, 15.0]


def test_a_report_tells_what_the_call_came_by() -> None:
    (report,) = measured(*TURN, ev.Played(3180, 1, 0, 600.0), leg=LegKind.TELEPHONE)
    assert report.leg == "telephone"


def test_a_stop_is_not_counted_from_speech_that_began_before_the_reply_was_heard() -> None:
    (report,) = measured(
        *TURN[:8],
        ev.SpeechStarted(2590, 2, 2500),
        ev.Played(2600, 1, 0, 20.0),
        ev.Played(2700, 1, 0, 120.0),
        ev.SpeechPaused(2710, 2, 2, 2610, 200.0, Prosody()),
        ev.FinalTranscript(2720, 2, "Stop talking now.", 2),
        ev.PlayoutStopped(2720, 1, 0, 120),
    )
    assert report.barge_in_stop_ms == 100.0


def test_backchannels_one_after_the_other_do_not_lengthen_a_stop() -> None:
    words = tuple(ev.SpokenWord("word", at, at + 200) for at in range(0, 20_000, 200))
    hums = [
        event
        for number in range(2, 8)
        for event in (
            ev.SpeechStarted(2000 + 900 * number, number, 1900 + 900 * number),
            ev.SpeechPaused(2300 + 900 * number, number, number, 2200 + 900 * number, 200.0, Prosody()),
            ev.FinalTranscript(2340 + 900 * number, number, "Mm-hm.", number),
            ev.Played(2360 + 900 * number, 1, 0, 100.0 * number),
        )
    ]
    (report,) = measured(
        *TURN[:7],
        ev.ClauseAudio(2580, 1, 0, 20_000.0, words),
        ev.Played(2690, 1, 0, 20.0),
        *hums,
        ev.SpeechStarted(9300, 8, 9200),
        ev.Transcript(9400, 8, "stop", ""),
        ev.PlayoutStopped(9400, 1, 0, 700),
    )
    assert report.barge_in_stop_ms is not None
    assert report.barge_in_stop_ms <= 1000.0


def test_a_typed_message_after_a_cough_waits_from_its_own_request() -> None:
    (report,) = measured(
        ev.SpeechStarted(1100, 1, 1000),
        ev.Endpoint(2500, 1, 2000, 7.0, 1.0),
        ev.FinalTranscript(2520, 1, ""),
        ev.TextReceived(9000, "What time is it?"),
        ev.ReplyRequested(9001),
        ev.TextDelta(9031, 1, "It is noon."),
        ev.GenerationDone(9041, 1),
        ev.ClauseAudio(9061, 1, 0, 600.0, WORDS),
        ev.Played(9071, 1, 0, 600.0),
    )
    assert report.voice_to_voice_ms is None
    assert report.wait is not None
    assert report.wait.typed
    assert report.wait.totals_ms() == {
        WaitCause.LLM_TTFT: 30.0,
        WaitCause.LLM_WRITING: 10.0,
        WaitCause.TTS_FIRST_AUDIO: 20.0,
        WaitCause.PLAYOUT: 10.0,
    }
    assert Stage.ENDPOINT not in report.durations_ms()


def test_a_reply_that_the_callers_cough_held_back_says_so() -> None:
    (report,) = measured(
        *TURN[:8],
        ev.SpeechStarted(2590, 2, 2500),
        ev.SpeechPaused(2900, 2, 2, 2800, 200.0, Prosody()),
        ev.FinalTranscript(2990, 2, "", 2),
        ev.Played(3000, 1, 0, 600.0),
    )
    assert report.wait is not None
    assert report.wait.totals_ms()[WaitCause.HELD] == 400.0
    assert report.wait.duration_ms == report.voice_to_voice_ms == 1000.0


def test_the_first_audio_is_counted_from_its_own_clause_where_the_one_before_it_failed() -> None:
    (report,) = measured(
        *TURN[:4],
        ev.TextDelta(2550, 1, "It is noon, and the sun stands high above the town. "),
        ev.ClauseFailed(2900, 1, 0, "broken"),
        ev.TextDelta(2950, 1, "Anything else? "),
        ev.GenerationDone(2951, 1),
        ev.ClauseAudio(2990, 1, 1, 600.0, WORDS),
        ev.Played(3000, 1, 1, 600.0),
    )
    (first_audio_ms,) = report.durations_ms()[Stage.TTS_FIRST_AUDIO]
    assert first_audio_ms <= 60.0


def test_a_caller_who_speaks_for_minutes_loses_no_stage() -> None:
    partials = (ev.Transcript(1600 + number, 1, "what", "time", 12.0) for number in range(500))
    (report,) = measured(*TURN[:1], *partials, *TURN[2:], ev.Played(3180, 1, 0, 600.0))
    assert {Stage.ENDPOINT, Stage.STT_FINAL, Stage.ANSWER} <= set(report.durations_ms())


def test_a_caller_who_spoke_on_right_after_the_reply_began_was_cut_off() -> None:
    def interrupted(onset_ms: float) -> TurnReport:
        (report,) = measured(
            *TURN[:7],
            ev.ClauseAudio(2580, 1, 0, 3000.0, tuple(ev.SpokenWord("word", at, at + 200) for at in range(0, 3000, 200))),
            ev.Played(2600, 1, 0, 20.0),
            ev.SpeechStarted(onset_ms + 100, 2, onset_ms),
            ev.Transcript(onset_ms + 300, 2, "in Venice please", ""),
            ev.PlayoutStopped(onset_ms + 310, 1, 0, onset_ms - 2590),
        )
        return report

    assert interrupted(3000).facts.cut_off
    late = interrupted(3700).facts
    assert late.status == "interrupted"
    assert not late.cut_off


def test_the_counts_of_a_turn_are_its_own() -> None:
    (first,) = measured(*TURN, ev.Played(3180, 1, 0, 600.0))
    assert first.facts.status == "completed"
    assert first.facts.version
    (report,) = measured(
        *TURN[:4],
        ev.ToolCallRequested(2550, 1, "t1", "clock", "{}"),
        ev.GenerationDone(2551, 1, prompt_tokens=100, tokens=8),
        ev.ToolFinished(2560, 1, "t1", "noon", ok=False),
        ev.TextDelta(2570, 1, "It is noon."),
        ev.GenerationDone(2571, 1, prompt_tokens=120, tokens=5),
        ev.ClauseAudio(2580, 1, 0, 600.0, WORDS),
        ev.Played(3180, 1, 0, 600.0),
    )
    facts = report.facts
    assert (facts.prompt_tokens, facts.tokens, facts.tools, facts.tools_failed) == (220, 13, 1, 1)


def test_a_turn_has_the_step_in_which_its_reply_began() -> None:
    ways = (TransitionRule("slot", after="clock"),)
    rules = Rules(language="en", steps={"reason": StepRule(next=ways), "slot": StepRule()}, tools={"clock": ToolRule("none")})
    meter, state = TurnMeter("call", "embedded"), machine.start(rules)
    reports = []
    for event in (
        ev.CallStarted(0.0),
        *TURN[:4],
        ev.ToolCallRequested(2550, 1, "t1", "clock", "{}"),
        ev.GenerationDone(2551, 1),
        ev.ToolFinished(2560, 1, "t1", "{}", ok=True),
        ev.TextDelta(2570, 1, "It is noon."),
        ev.GenerationDone(2571, 1),
        ev.ClauseAudio(2580, 1, 0, 600.0, WORDS),
        ev.Played(3180, 1, 0, 600.0),
    ):
        state, actions = machine.step(state, event)
        reports.append(meter.observe(event, actions, 1000.0))
    assert state.flow.step == "slot"
    assert [report.facts.step for report in reports if report is not None] == ["reason"]
