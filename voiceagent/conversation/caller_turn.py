"""The caller's side of the turn: speech, pauses and endpoints, and their effect while the agent speaks."""

from __future__ import annotations

from msgspec.structs import replace

from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation import floor, habit, interjection, silence, tool_runs
from voiceagent.conversation.context import take_in
from voiceagent.conversation.endpointing_delay import delays_of, set_delays, value_asked_for
from voiceagent.conversation.generation import begin
from voiceagent.conversation.not_understood import reply_to_no_words, words_came
from voiceagent.conversation.reply_lifecycle import FINAL, cancel, go_idle
from voiceagent.conversation.speculation import next_prompt, prefill, settle_speculation, speculate
from voiceagent.conversation.speculative_tools import run_predicted
from voiceagent.conversation.state import NextReply, Pause, Phase, Utterance
from voiceagent.conversation.step import Step
from voiceagent.turn_taking.endpointing import EndpointingDelays
from voiceagent.turn_taking.overlap import Verdict, classify
from voiceagent.turn_taking.spoken_language import AUTO

_HEARD = (Phase.HEARING, Phase.FINALISING)


def speech_started(step: Step, event: ev.SpeechStarted) -> None:
    """An utterance began. The agent's voice reacts by its manners. Whether the agent yields is decided later."""
    if event.utterance_id <= step.state.utterance.utterance_id:
        return
    step.clear_timers([silence.SILENCE])
    if step.spoken() is None:
        cancel(step, "resumed")
    else:
        floor.meet(step, event.utterance_id)
    step.put(phase=Phase.HEARING, utterance=Utterance(event.utterance_id, event.onset_ms))
    if not step.state.caller_turn.unanswered:
        step.put_caller_turn(context=())
    step.put_replies(next_reply=None)
    step.do(act.CallerStarted(event.utterance_id, event.onset_ms))
    if expected := value_asked_for(step):
        step.do(act.ExpectValue(event.utterance_id, expected))


def transcript(step: Step, event: ev.Transcript) -> None:
    """The open utterance has more words."""
    if event.utterance_id != step.state.utterance.utterance_id:
        return
    before, words = step.state.utterance.partial, " ".join(f"{event.stable} {event.unstable}".split())
    step.put_utterance(partial=words, stable=event.stable)
    step.do(act.CallerPartial(event.utterance_id, event.stable, event.unstable))
    if step.spoken() is not None:
        voiced_ms = step.state.utterance.voiced_ms
        _judge(step, words, event.at_ms - step.state.utterance.onset_ms if voiced_ms is None else voiced_ms, silent=False)
    elif step.state.phase is Phase.HEARING and words != before:
        prefill(step, event.stable, words)


def context_found(step: Step, event: ev.ContextFound) -> None:
    """Documents hold something about the caller's words. The language model reads it while the caller still speaks."""
    if event.utterance_id != step.state.utterance.utterance_id or not take_in(step, event.chunks):
        return
    if step.state.phase is Phase.HEARING and step.state.utterance.pause is None:
        prefill(step, step.state.utterance.stable, step.state.utterance.partial)


def tool_predicted(step: Step, event: ev.ToolPredicted) -> None:
    """The words so far make a tool call likely."""
    if event.utterance_id == step.state.utterance.utterance_id and step.spoken() is None:
        run_predicted(step, event.name, event.arguments)


def speech_paused(step: Step, event: ev.SpeechPaused) -> None:
    """The utterance fell silent. Until its words are known, only the longest endpointing delay ends it. Busy engines decode the
    pause only if a reply waits for the words. Otherwise they decode after the endpoint."""
    if event.utterance_id != step.state.utterance.utterance_id:
        return
    silence.speech_heard(step, event.voiced_ms)
    if silence.only_noise(step):
        interjection.noise_goes_on(step)
        return
    decoding = event.load < step.state.rules.speculation.busy_load or step.spoken() is not None
    pause = Pause(event.pause_id, event.speech_end_ms, event.voiced_ms, event.prosody, event.load, decoding, event.words_chance)
    step.put_utterance(pause=pause)
    if decoding:
        longest_ms = step.state.rules.endpointing.max_delay_ms
        set_delays(step, EndpointingDelays(longest_ms, longest_ms))
        step.do(act.Transcribe(event.utterance_id))
    else:
        set_delays(step, delays_of(step, pause, step.state.utterance.partial))


def speech_resumed(step: Step, event: ev.SpeechResumed) -> None:
    """The silence was only a pause. A reply that began in it is cancelled."""
    if event.utterance_id != step.state.utterance.utterance_id:
        return
    habit.pause_over(step, event.at_ms)
    step.put_utterance(pause=None)
    if step.speculative() is not None:
        cancel(step, "resumed")


def turn_judged(step: Step, event: ev.TurnJudged) -> None:
    """A judge has answered. The pause's endpointing delays are computed again."""
    pause = step.state.utterance.pause
    if event.utterance_id != step.state.utterance.utterance_id or pause is None or pause.pause_id != event.pause_id:
        return
    step.put_utterance(pause=replace(pause, answers={**pause.answers, event.judge: event.chance}))
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
    awaiting_final = step.state.caller_turn.awaiting_final | {event.utterance_id}
    step.put_caller_turn(awaiting_final=awaiting_final, ended_ms=event.speech_end_ms)
    step.do(act.CallerStopped(event.utterance_id, event.speech_end_ms))
    if pause is not None and pause.text is not None:
        _commit(step, event.utterance_id, pause.text, pause.refusal, pause.language, failed=pause.failed)
        _limit_wait(step)
        return
    if pause is None or not pause.decoding:
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
    before = step.state.utterance
    if before.pause is None:
        return
    pause = replace(before.pause, text=event.text, refusal=event.refusal, language=event.language, failed=event.failed)
    step.put_utterance(pause=pause, partial=event.text or before.partial)
    if step.spoken() is not None:
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
    step.put_caller_turn(awaiting_final=step.state.caller_turn.awaiting_final - {utterance_id})
    pause = None
    if utterance_id == step.state.utterance.utterance_id:
        pause = step.state.utterance.pause
        step.put_utterance(pause=None)
    step.do(act.CallerFinal(utterance_id, text))
    if step.spoken() is not None:
        if _verdict(step, text, 0.0, silent=True) == "continue":
            if step.state.phase is Phase.FINALISING and not step.state.caller_turn.awaiting_final:
                _carry_on(step, text, step.state.caller_turn.ended_ms)
            return
        habit.takes_the_floor(step)
        cancel(step, "interrupted")
    before = step.state.caller_turn
    if text:
        words_came(step)
    unanswered = " ".join(f"{before.unanswered} {text}".split())
    step.put_caller_turn(unanswered=unanswered, refusal=refusal or before.refusal, last_words=text or before.last_words)
    _note_language(step, language, text)
    is_over = step.state.phase is Phase.FINALISING and not step.state.caller_turn.awaiting_final
    if text:
        habit.utterance_over(step, ends_turn=is_over)
    if not is_over:
        return
    step.clear_timers([FINAL])
    if interjection.person_is_asked_for(step, step.state.caller_turn.unanswered):
        cancel(step, "changed")
        begin(step, NextReply("put_through"))
        return
    if not settle_speculation(step, step.state.caller_turn.unanswered):
        wordless = not step.state.caller_turn.unanswered
        begin(step, reply_to_no_words(step, pause, failed=failed) if wordless else NextReply("answer"))


def _note_language(step: Step, heard: str, words: str) -> None:
    """Follow the caller into another language, if the rules leave the language open."""
    before = step.state.spoken
    if step.state.rules.language == AUTO:
        step.put(spoken=before.after(heard, words))
    if step.state.spoken.code != before.code:
        step.do(act.LanguageChanged(step.state.spoken.code))


# --- speech over the agent's --------------------------------------------------------------------------------------------


def _verdict(step: Step, words: str, voiced_ms: float, *, silent: bool) -> Verdict:
    if step.spoken() is None:
        return "yield"
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
        _carry_on(step, words, end_ms)
    else:
        floor.more_heard(step, words, voiced_ms, 0.0)


def _yield_to_caller(step: Step) -> None:
    """The agent yields to the open utterance, which answers its question or interrupts it."""
    step.put_utterance(interrupts=not floor.overlap_of(step, "", 0.0).asked)
    habit.takes_the_floor(step)
    cancel(step, "interrupted")


def _carry_on(step: Step, words: str, end_ms: float) -> None:
    """The agent keeps the floor."""
    step.clear_timers([FINAL])
    step.put_utterance(pause=None)
    floor.keep(step, words, end_ms)


def final_is_late(step: Step) -> None:
    """The final transcript is late. Commit the words that are known."""
    for utterance_id in sorted(step.state.caller_turn.awaiting_final):
        latest = step.state.utterance
        _commit(step, utterance_id, latest.partial if utterance_id == latest.utterance_id else "", failed=True)


# --- what the client types and asks for ---------------------------------------------------------------------------------


def text_received(step: Step, event: ev.TextReceived) -> None:
    """The caller typed a message. It is answered with the next utterance, or when the client asks for a reply."""
    words_came(step)
    before = step.state.caller_turn
    unanswered = " ".join(f"{before.unanswered} {event.text}".split())
    refusal, last_words = event.refusal or before.refusal, event.text or before.last_words
    step.put_caller_turn(unanswered=unanswered, refusal=refusal, ended_ms=event.at_ms, last_words=last_words)
    take_in(step, event.context)


def reply_requested(step: Step, event: ev.ReplyRequested) -> None:
    """The client asks for a reply now."""
    if not step.state.caller_turn.unanswered and not step.state.memory.history:
        step.do(act.Failure("nothing_to_answer", "response.create came before the caller said or typed anything"))
        return
    silence.words_heard(step)
    reply = step.state.reply
    if reply is not None and reply.tells and not step.state.caller_turn.unanswered:
        return
    cancel(step, "interrupted")
    begin(step, NextReply("answer"))


def reply_cancelled(step: Step, event: ev.ReplyCancelled) -> None:
    """The client stops the reply."""
    if step.speculative() is not None:
        return
    if step.state.reply is not None:
        step.put(reply=replace(step.state.reply, tells=False))
    cancel(step, "cancelled")
    step.put_replies(next_reply=None)
    step.put_silence(ending="")
    if step.state.phase not in _HEARD:
        go_idle(step)


def instructions_changed(step: Step, event: ev.InstructionsChanged) -> None:
    """The next generation follows the new instructions. A speculative reply that followed the old ones is cancelled."""
    step.put(rules=replace(step.state.rules, instructions=event.instructions))
    if step.speculative() is not None:
        cancel(step, "changed")
