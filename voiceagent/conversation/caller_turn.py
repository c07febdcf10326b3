"""The caller's side of the turn: speech, pauses and endpoints, and their effect while the agent speaks. It decides how
long a pause may last before the turn is over, and what follows a turn of which no word is known. `caller_words` keeps what the
caller says.

Speech may be heard and not understood: it sounds like a turn, and no word of it is known. The caller is asked to say it again. A
cough, a laugh, a click and other short or doubtful sounds get no answer."""

from __future__ import annotations

from collections.abc import Iterator

from voiceagent.conversation import actions as act
from voiceagent.conversation import caller_words, collecting, floor, silence, tool_runs
from voiceagent.conversation import events as ev
from voiceagent.conversation.generation import begin_reply
from voiceagent.conversation.reply_lifecycle import FINAL, cancel_reply, plan_next
from voiceagent.conversation.rules import ReplyWish
from voiceagent.conversation.speculation import next_prompt, prefill, settle_speculation, speculate
from voiceagent.conversation.state import NextReply, Pause, Phase, Step
from voiceagent.conversation.tools import run_predicted
from voiceagent.turn_taking.endpointing import EndpointingDelays, PauseEvidence
from voiceagent.turn_taking.overlap import UNLIKE_WORDS, Verdict, classify
from voiceagent.turn_taking.patience import ExpectedValue, ValueShape, expected_value, pending, progress
from voiceagent.turn_taking.request import is_farewell
from voiceagent.turn_taking.spoken_language import AUTO

NO_WORDS_MS = 1000.0
"""The shortest endpointing delay of an utterance without words."""
VOICED_MS = 1000.0
"""Less speech is no turn: it may be a cough or a laugh."""
LONG_MS = 3000.0
"""Length of speech that is a turn whatever a judge makes of its end, and where there is no judge."""
TURN_CHANCE = 0.5
"""The chance of a finished turn from which `VOICED_MS` of sound is one. The longer the sound, the lower it may be: coughs are
short, and a voice that is hard to understand is hard to judge."""
ASKS_AGAIN = 2
"""Most times in a row that the caller is asked to say it again."""
NO_ANSWER = NextReply("resume")
"""Go on with what the sound interrupted, or wait."""


def speech_started(step: Step, event: ev.SpeechStarted) -> None:
    """An utterance began. The agent's voice reacts by its manners. The decision to yield comes later."""
    if event.utterance_id <= step.state.utterance.utterance_id:
        return
    step.clear_timers([silence.SILENCE])
    if step.spoken() is None:
        cancel_reply(step, "resumed")
    else:
        floor.react_to_onset(step, event.utterance_id)
    step.put(phase=Phase.HEARING)
    caller_words.open_utterance(step, event.utterance_id, event.onset_ms)
    plan_next(step, None)
    step.do(act.CallerStarted(event.utterance_id, event.onset_ms))
    if expected := value_asked_for(step):
        step.do(act.ExpectValue(event.utterance_id, expected))


def transcript(step: Step, event: ev.Transcript) -> None:
    """The open utterance has more words."""
    if event.utterance_id != step.state.utterance.utterance_id:
        return
    before, words = step.state.utterance.partial, " ".join(f"{event.stable} {event.unstable}".split())
    caller_words.note_partial(step, words, event.stable)
    step.do(act.CallerPartial(event.utterance_id, event.stable, event.unstable))
    if step.spoken() is not None:
        if not step.may_be_interrupted:
            return
        voiced_ms = step.state.utterance.voiced_ms
        _judge(step, words, event.at_ms - step.state.utterance.onset_ms if voiced_ms is None else voiced_ms, silent=False)
    elif step.state.phase is Phase.HEARING and words != before:
        prefill(step, event.stable, words)


def context_found(step: Step, event: ev.ContextFound) -> None:
    """Documents hold something about the caller's words. The language model reads it while the caller still speaks."""
    if event.utterance_id != step.state.utterance.utterance_id or not caller_words.take_in(step, event.chunks):
        return
    if step.state.phase is Phase.HEARING and step.state.utterance.pause is None:
        prefill(step, step.state.utterance.stable, step.state.utterance.partial)


def tool_predicted(step: Step, event: ev.ToolPredicted) -> None:
    """The words so far make a tool call likely."""
    if event.utterance_id == step.state.utterance.utterance_id and step.spoken() is None:
        run_predicted(step, event.name, event.arguments)


def speech_paused(step: Step, event: ev.SpeechPaused) -> None:
    """The utterance fell silent. Until its words are known, only the longest endpointing delay ends it. So they are decoded
    however busy the engines are: a decode that turns out to be wasted costs less than that delay."""
    if event.utterance_id != step.state.utterance.utterance_id:
        return
    silence.speech_heard(step, event.voiced_ms)
    if silence.only_noise(step):
        floor.noise_goes_on(step)
        return
    pause = Pause(event.pause_id, event.speech_end_ms, event.voiced_ms, event.prosody, event.load, event.words_chance)
    caller_words.begin_pause(step, pause)
    longest_ms = step.state.rules.endpointing.max_delay_ms
    set_delays(step, EndpointingDelays(longest_ms, longest_ms))
    step.do(act.Transcribe(event.utterance_id))


def speech_resumed(step: Step, event: ev.SpeechResumed) -> None:
    """The silence was only a pause. A reply that began in it is cancelled."""
    if event.utterance_id != step.state.utterance.utterance_id:
        return
    caller_words.count_resumed_pause(step, event.at_ms)
    caller_words.end_pause(step)
    if step.speculative() is not None:
        cancel_reply(step, "resumed")


def turn_judged(step: Step, event: ev.TurnJudged) -> None:
    """A judge has answered. The pause's endpointing delays are computed again."""
    pause = step.state.utterance.pause
    if event.utterance_id != step.state.utterance.utterance_id or pause is None or pause.pause_id != event.pause_id:
        return
    caller_words.note_judgement(step, pause, event.judge, event.chance)
    if step.spoken() is None and pause.text is not None:
        _decide(step, pause.text)


def tool_call(step: Step, event: ev.ToolCallRequested) -> None:
    """The language model asks for a tool. If its reply is speculative, the pause's endpointing delays are computed again."""
    tool_runs.tool_call(step, event)
    pause = step.state.utterance.pause
    if step.speculative() is not None and pause is not None and pause.text is not None:
        _decide(step, pause.text)


def silence_reached(step: Step, event: ev.SilenceReached) -> None:
    """The pause is long enough for a speculative reply."""
    pause = step.state.utterance.pause
    if event.utterance_id == step.state.utterance.utterance_id and pause is not None and pause.pause_id == event.pause_id:
        speculate(step)


def endpoint(step: Step, event: ev.Endpoint) -> None:
    """The caller has finished. Commit the words, or wait for them."""
    if event.utterance_id != step.state.utterance.utterance_id:
        return
    pause = step.state.utterance.pause
    step.put(phase=Phase.FINALISING)
    caller_words.await_final(step, event.utterance_id)
    caller_words.note_end(step, event.speech_end_ms)
    step.do(act.CallerStopped(event.utterance_id, event.speech_end_ms))
    if pause is not None and pause.text is not None:
        _commit(step, event.utterance_id, pause.text, pause.refusal, pause.language, failed=pause.failed)
        _limit_wait(step)
        return
    if pause is None:
        step.do(act.Transcribe(event.utterance_id))
    step.set_timer(FINAL, step.state.rules.limits.final_timeout_ms)


def _limit_wait(step: Step) -> None:
    """Start the timer again if earlier transcripts are missing. It may have run out while the caller spoke."""
    if step.state.phase is Phase.FINALISING and FINAL not in step.state.timers:
        step.set_timer(FINAL, step.state.rules.limits.final_timeout_ms)


def final(step: Step, event: ev.FinalTranscript) -> None:
    """The words up to the pause are known."""
    pause = step.state.utterance.pause
    if event.utterance_id == step.state.utterance.utterance_id and pause is not None and pause.pause_id != event.pause_id:
        return
    if event.utterance_id in step.state.caller_turn.awaiting_final:
        _commit(step, event.utterance_id, event.text, event.refusal, event.language, failed=event.failed)
    elif event.utterance_id == step.state.utterance.utterance_id and step.state.phase is Phase.HEARING:
        _words_in_pause(step, event)


def _words_in_pause(step: Step, event: ev.FinalTranscript) -> None:
    pause = step.state.utterance.pause
    if pause is None:
        return
    pause = caller_words.note_pause_words(step, pause, event)
    if step.spoken() is not None and step.may_be_interrupted:
        _judge(step, event.text, pause.voiced_ms, silent=True)
        return
    _ask_judges(step)
    _decide(step, event.text)


def _ask_judges(step: Step) -> None:
    """Start the judges that go by words."""
    pause = step.state.utterance.pause
    if not step.state.rules.endpointing.judges_by_words or pause is None or not pause.text or pause.refusal is not None:
        return
    step.do(act.JudgeTurn(step.state.utterance.utterance_id, pause.pause_id, next_prompt(step, pause.text)))


def _decide(step: Step, words: str) -> None:
    """The pause's words are known. Set the endpointing delays, and begin a reply if the pause is already long enough."""
    pause = step.state.utterance.pause
    if pause is None:
        return
    delays = delays_of(step, pause, words)
    set_delays(step, delays)
    if step.at_ms - pause.speech_end_ms >= delays.eager_ms:
        speculate(step)


def _commit(
    step: Step, utterance_id: int, text: str, refusal: ev.Refusal | None = None, language: str = "", *, failed: bool = False
) -> None:
    """Commit the words of an endpointed utterance. `failed`: the recogniser failed, or was too slow."""
    by_hand = utterance_id in step.state.caller_turn.by_hand
    caller_words.final_came(step, utterance_id)
    pause = None
    if utterance_id == step.state.utterance.utterance_id:
        pause = step.state.utterance.pause
        caller_words.end_pause(step)
    step.do(act.CallerFinal(utterance_id, text))
    key = key_of_utterance(utterance_id)
    reply = step.spoken()
    if reply is not None and (by_hand or not step.may_be_interrupted):
        if reply.protected and not by_hand and _verdict(step, text, 0.0, silent=True) == "continue":
            text = ""
        _keep_for_later(step, text, refusal, key, is_answered=step.state.rules.turns.answers and not by_hand)
        return
    if reply is not None:
        if _verdict(step, text, 0.0, silent=True) == "continue":
            if step.state.phase is Phase.FINALISING and not step.state.caller_turn.awaiting_final:
                carry_on(step, text, step.state.caller_turn.ended_ms)
            return
        caller_words.count_cut_off(step)
        cancel_reply(step, "interrupted")
    if _takes_leave_too(step, text):
        if step.state.phase is Phase.FINALISING and not step.state.caller_turn.awaiting_final:
            step.clear_timers([FINAL])
            cancel_reply(step, "changed")
            begin_reply(step, NO_ANSWER)
        return
    if text:
        caller_words.words_came(step)
    caller_words.add_words(step, text, refusal, key)
    _note_language(step, language, text)
    is_over = step.state.phase is Phase.FINALISING and not step.state.caller_turn.awaiting_final
    if text:
        caller_words.count_pause(step, ends_turn=is_over)
    if not is_over:
        return
    step.clear_timers([FINAL])
    if floor.person_is_asked_for(step, step.state.caller_turn.unanswered):
        cancel_reply(step, "changed")
        begin_reply(step, NextReply("transfer"))
        return
    wish, wordless = step.state.caller_turn.wish, not step.state.caller_turn.unanswered
    if wish is None and not step.state.rules.turns.answers:
        cancel_reply(step, "changed")
        begin_reply(step, NO_ANSWER)
    elif wish is not None:
        cancel_reply(step, "changed")
        caller_words.note_wish(step, None)
        begin_reply(step, NextReply("answer", wish=wish))
    elif not settle_speculation(step, step.state.caller_turn.unanswered):
        begin_reply(step, reply_to_no_words(step, pause, failed=failed) if wordless else NextReply("answer"))


def _takes_leave_too(step: Step, words: str) -> bool:
    """Returns whether the caller only returns the agent's goodbye."""
    return silence.is_ended_by_agent(step) and is_farewell(words, step.language)


def _keep_for_later(step: Step, text: str, refusal: ev.Refusal | None, key: str, *, is_answered: bool) -> None:
    """The caller spoke over the agent, which must not be interrupted. `is_answered`: the words are answered after the reply."""
    if text:
        caller_words.words_came(step)
        caller_words.add_words(step, text, refusal, key)
        if is_answered:
            caller_words.note_wish(step, step.state.caller_turn.wish or ReplyWish())
    if step.state.phase is Phase.FINALISING and not step.state.caller_turn.awaiting_final:
        carry_on(step, text, step.state.caller_turn.ended_ms)


def key_of_utterance(utterance_id: int) -> str:
    """The name of an utterance's words in the history."""
    return f"utterance {utterance_id}"


def _note_language(step: Step, heard: str, words: str) -> None:
    """Follow the caller into another language, if the rules leave the language open."""
    before = step.state.spoken
    if step.state.rules.language == AUTO:
        caller_words.speak(step, before.after(heard, words))


# --- how long a pause may last ----------------------------------------------------------------------------------------


def delays_of(step: Step, pause: Pause, words: str) -> EndpointingDelays:
    """The delays for a pause after these words of the open utterance. Without words, a sound that is no turn waits longest."""
    rules = step.state.rules.endpointing
    if rules.model is None or not (words or (pause.judged and sounds_like_a_turn(pause))):
        return EndpointingDelays(rules.min_delay_ms, rules.max_delay_ms)
    asked, said = step.last_said, caller_words.said_so_far(step, words)
    value = collecting.progress_of(step, said)
    if value is None:
        value = progress(said, pending(_shapes(step), asked), step.language)
    evidence = PauseEvidence(
        said, asked, pause.voiced_ms, pause.prosody, value, _calls_tool(step, said), pause.judged, step.state.habit
    )
    shortest_ms = _shortest_ms(step, pause, words)
    return rules.model.delays(evidence, step.language, shortest_ms=shortest_ms, longest_ms=rules.max_delay_ms)


def value_asked_for(step: Step) -> ExpectedValue:
    """Returns the kind of value that the caller was asked for, as far as it is known."""
    return collecting.expected(step) or expected_value(_shapes(step), step.last_said, step.language)


def _shapes(step: Step) -> Iterator[ValueShape]:
    return (shape for rule in step.state.rules.tools.values() for shape in rule.values)


def _shortest_ms(step: Step, pause: Pause, words: str) -> float:
    """The shortest endpointing delay. The turn judges get time to answer. A caller who has just taken the floor is not talked
    over in the first pause between two sentences. Words may still follow where none were recognised."""
    rules = step.state.rules.endpointing
    shortest = [rules.min_delay_ms]
    if rules.model is not None and any(judge not in pause.answers and rules.model.weighs(judge) for judge in _asked(step, pause)):
        shortest.append(rules.judges_wait_ms)
    if step.state.utterance.interrupts:
        shortest.append(rules.interruption_delay_ms)
    if not words:
        shortest.append(NO_WORDS_MS)
    return min(max(shortest), max(rules.min_delay_ms, rules.max_delay_ms))


def _asked(step: Step, pause: Pause) -> tuple[str, ...]:
    """The turn judges that are asked about a pause."""
    rules = step.state.rules.endpointing
    return rules.judges if pause.text and pause.refusal is None else rules.judges_by_sound


def _calls_tool(step: Step, said: str) -> bool:
    """Returns whether the speculative reply to just these words calls a tool."""
    reply = step.speculative()
    return reply is not None and reply.assumed_text == said and reply.used_tools


def set_delays(step: Step, delays: EndpointingDelays) -> None:
    """Set how long the open utterance may be silent."""
    step.do(act.SetEndpointing(step.state.utterance.utterance_id, delays.eager_ms, delays.endpoint_ms))


# --- turns without words ----------------------------------------------------------------------------------------------


def reply_to_no_words(step: Step, pause: Pause | None, *, failed: bool) -> NextReply:
    """Returns what follows an utterance without words. `pause` is the one in which it ended. `failed`: the recogniser failed, or
    was too slow."""
    if pause is None or not sounds_like_a_turn(pause):
        return NO_ANSWER
    times = caller_words.count_not_understood(step)
    somebody_is_there = silence.turn_heard(step, judged=bool(pause.judged))
    answer, text = _answer_to_no_words(step, times, somebody_is_there=somebody_is_there, failed=failed)
    step.do(act.NotUnderstood(step.state.utterance.utterance_id, times, answer))
    return NextReply("ask_again", text, offers_person=answer == "offer") if text else NO_ANSWER


def sounds_like_a_turn(pause: Pause) -> bool:
    """Returns whether the sound before the pause is likely to be what somebody wanted to say."""
    if pause.voiced_ms < VOICED_MS or (pause.words_chance is not None and pause.words_chance < UNLIKE_WORDS):
        return False
    if pause.voiced_ms >= LONG_MS:
        return True
    needed = TURN_CHANCE * (LONG_MS - pause.voiced_ms) / (LONG_MS - VOICED_MS)
    return any(chance >= needed for chance in pause.judged.values())


def _answer_to_no_words(step: Step, times: int, *, somebody_is_there: bool, failed: bool) -> tuple[act.AnswerToNoWords, str]:
    """Returns the kind of the answer, and its text."""
    sayings = step.sayings
    if not sayings.not_understood:
        return "nothing", ""
    if times <= ASKS_AGAIN:
        return ("apology", sayings.apology) if failed else ("phrase", sayings.not_understood)
    if somebody_is_there and step.state.rules.transfers and sayings.offer_person:
        return "offer", sayings.offer_person
    if somebody_is_there and sayings.check_in:
        silence.asked(step)
        return "check_in", sayings.check_in
    return "nothing", ""


# --- speech over the agent's ------------------------------------------------------------------------------------------


def _verdict(step: Step, words: str, voiced_ms: float, *, silent: bool) -> Verdict:
    if step.spoken() is None:
        return "yield"
    if _takes_leave_too(step, words):
        return "continue" if silent else "wait"
    return classify(floor.overlap_of(step, words, voiced_ms, silent=silent), step.language)


def _judge(step: Step, words: str, voiced_ms: float, *, silent: bool) -> None:
    """More is known about the caller's speech over the agent. Yield, go on, or wait for more."""
    verdict = _verdict(step, words, voiced_ms, silent=silent)
    if verdict == "yield":
        _yield_to_caller(step)
        pause = step.state.utterance.pause
        if pause is not None and pause.text is not None:
            _ask_judges(step)
            _decide(step, pause.text)
    elif verdict == "continue":
        utterance_id, pause = step.state.utterance.utterance_id, step.state.utterance.pause
        end_ms = pause.speech_end_ms if pause is not None else step.at_ms
        step.do(act.DiscardUtterance(utterance_id), act.CallerStopped(utterance_id, end_ms), act.CallerFinal(utterance_id, words))
        carry_on(step, words, end_ms)
    else:
        floor.react_to_speech(step, words, voiced_ms, 0.0)


def _yield_to_caller(step: Step) -> None:
    """The agent yields to the open utterance, which answers its question or interrupts it."""
    caller_words.yield_floor(step, asked=floor.overlap_of(step, "", 0.0).asked)
    caller_words.count_cut_off(step)
    cancel_reply(step, "interrupted")


def carry_on(step: Step, words: str, end_ms: float) -> None:
    """The agent keeps the floor."""
    step.clear_timers([FINAL])
    caller_words.end_pause(step)
    floor.keep_floor(step, words, end_ms)


def final_is_late(step: Step) -> None:
    """The final transcript is late. Commit the words that are known."""
    for utterance_id in sorted(step.state.caller_turn.awaiting_final):
        latest = step.state.utterance
        _commit(step, utterance_id, latest.partial if utterance_id == latest.utterance_id else "", failed=True)
