"""The right to speak: who has the floor. While the caller speaks over the agent, the rules' manners make the agent's voice
softer, silence it or leave it as it is. `caller_turn` decides whether the caller takes the floor. The agent takes it for an
announcement, to transfer the caller to a person, and where nobody has spoken for long."""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace

from voiceagent.conversation import actions as act
from voiceagent.conversation import caller_words, collecting, silence
from voiceagent.conversation import events as ev
from voiceagent.conversation.generation import begin_reply
from voiceagent.conversation.reply import Reply
from voiceagent.conversation.reply_lifecycle import (
    FINAL,
    GO_ON,
    OVERLAP,
    caller_is_back,
    cancel_reply,
    end_call,
    revise,
    set_voice,
)
from voiceagent.conversation.state import NextReply, Phase, Step
from voiceagent.turn_taking.overlap import Overheard, Overlap, leaning
from voiceagent.turn_taking.person_request import person_requests
from voiceagent.turn_taking.request import agrees

SILENT = ("hushed", "paused")


def react_to_onset(step: Step, utterance_id: int) -> None:
    """The caller begins to speak over the reply. A reply that was not heard yet is held."""
    reply, manners = step.spoken(), step.state.rules.manners
    if reply is None or not step.may_be_interrupted:
        return
    step.clear_timers([GO_ON])
    step.do(act.Attend(utterance_id))
    step.set_timer(OVERLAP, step.state.rules.limits.overlap_ms)
    if manners.onset == "pause" or not reply.started:
        pause_voice(step)
    elif manners.onset == "duck" and reply.voice == "full":
        set_voice(step, "ducked")
        step.do(act.Attenuate(reply.reply_id, manners.duck_db))


def overlap_heard(step: Step, event: ev.OverlapHeard) -> None:
    """More of the caller's speech over the agent was heard."""
    is_over_agent = step.spoken() is not None and step.may_be_interrupted
    if event.utterance_id == step.state.utterance.utterance_id and is_over_agent:
        if event.words_chance is not None:
            caller_words.note_sound(step, event.words_chance, event.voiced_ms)
        react_to_speech(step, step.state.utterance.partial, event.voiced_ms, event.silence_ms)


def react_to_speech(step: Step, words: str, voiced_ms: float, silence_ms: float) -> None:
    """The caller speaks on, or more of the words is known."""
    overlap = overlap_of(step, words, voiced_ms)
    _react(step, Overheard(voiced_ms, silence_ms, leaning(words, overlap, step.language), overlap.words_chance))


def _react(step: Step, heard: Overheard) -> None:
    """The caller speaks on. The agent falls silent once it is enough for the manners, or is hushed for a moment first."""
    reply, manners, hushed_ms = step.spoken(), step.state.rules.manners, step.state.utterance.hushed_ms
    if reply is None:
        return
    if reply.voice == "paused":
        if hushed_ms is not None and manners.waits_no_longer(heard):
            _soften_voice(step)
    elif manners.pauses(heard):
        pause_voice(step)
    elif reply.voice == "hushed":
        if hushed_ms is not None and step.at_ms - hushed_ms >= manners.hush_ms and not manners.stays_hushed(heard):
            _soften_voice(step)
    elif hushed_ms is None and manners.hushes(heard):
        caller_words.note_hush(step)
        _silence_voice(step, reply, "hushed")


def overlap_lasts(step: Step) -> None:
    """The caller has spoken over the agent for long, and nobody understood a word. The caller takes the floor, unless it sounds
    like laughter or coughs."""
    if step.state.phase is not Phase.HEARING or step.state.utterance.pause is not None:
        return
    if overlap_of(step, "", 0.0).unlike_words:
        step.set_timer(OVERLAP, step.state.rules.limits.overlap_ms)
    else:
        caller_words.yield_floor(step, asked=False)
        cancel_reply(step, "interrupted")


def pause_voice(step: Step) -> None:
    """Pause the reply's audio."""
    reply = step.spoken()
    if reply is not None and reply.voice != "paused":
        _silence_voice(step, reply, "paused")


def _soften_voice(step: Step) -> None:
    """The sound that hushed the reply is probably no interruption. The reply goes on, softly where the manners say so."""
    go_on_speaking(step)
    reply, manners = step.spoken(), step.state.rules.manners
    if reply is not None and manners.onset == "duck":
        set_voice(step, "ducked")
        step.do(act.Attenuate(reply.reply_id, manners.duck_db))


def _silence_voice(step: Step, reply: Reply, voice: Literal["hushed", "paused"]) -> None:
    set_voice(step, voice)
    if reply.voice not in SILENT:
        step.do(act.PauseReply(reply.reply_id))


def keep_floor(step: Step, words: str, end_ms: float) -> None:
    """The caller did not take the floor. The reply goes on a little after `end_ms`, the end of the caller's speech, because more
    may follow. The wait depends on whether there were words."""
    reply = step.spoken()
    step.clear_timers([OVERLAP])
    if reply is None:
        return
    step.put(phase=Phase.SPEAKING if reply.started else Phase.THINKING)
    manners = step.state.rules.manners
    left_ms = end_ms + (manners.quiet_ms if words else manners.nothing_ms) - step.at_ms
    if reply.started and reply.voice == "paused" and left_ms > 0:
        step.set_timer(GO_ON, left_ms)
    else:
        go_on_speaking(step)


def go_on_speaking(step: Step) -> None:
    """Say the rest at full level. A word that was cut is said again from its beginning."""
    reply = step.spoken()
    if reply is None:
        return
    set_voice(step, "full")
    if reply.voice in SILENT:
        step.do(act.ResumeReply(reply.reply_id, *reply.cut_word))
    elif reply.voice == "ducked":
        step.do(act.Attenuate(reply.reply_id, 0.0))


def overlap_of(step: Step, words: str, voiced_ms: float, *, silent: bool = False) -> Overlap:
    """Collects what is known of the open utterance, which has these words so far."""
    reply = step.spoken()
    heard, unheard = (reply.heard, reply.unheard) if reply is not None else ("", "")
    return Overlap(words, voiced_ms, silent, heard, unheard, step.state.utterance.words_chance)


# --- the agent takes the floor ----------------------------------------------------------------------------------------


def say_announcement(step: Step, event: ev.Announce) -> None:
    """Say the text."""
    take_floor(step)
    text = collecting.greeting(step, event.text) if event.greets else event.text
    begin_reply(step, NextReply("say", text, protected=event.protected))


def say_last_words(step: Step, event: ev.LastWords) -> None:
    """Say the text, and end the call after it."""
    cancel_reply(step, "cancelled")
    silence.end_after_reply(step, event.reason)
    caller_words.end_pause(step)
    begin_reply(step, NextReply("say", event.text))


def person_requested(step: Step, event: ev.PersonRequested) -> None:
    """The caller pressed the key for a person."""
    if step.state.rules.transfers:
        take_floor(step)
        begin_reply(step, NextReply("transfer"))


def transfer_requested(step: Step, event: ev.TransferRequested) -> None:
    """A tool has the caller transferred. The live reply is said before, else the language's phrase."""
    reply = step.spoken()
    if reply is not None:
        revise(step, replace(reply, transfers=True, transfers_to=event.to))
    elif not step.state.replies.transferring:
        take_floor(step)
        begin_reply(step, NextReply("transfer", event.to))


def end_requested(step: Step, event: ev.EndRequested) -> None:
    """The call is to end with the live answer, with the next one, or with a goodbye once nobody speaks."""
    reply = step.spoken()
    if step.state.silence.ending or (reply is not None and reply.is_answer and not reply.transfers):
        silence.end_by_agent(step, event.detail)
    else:
        silence.want_end(step, event.detail)


def goodbye_is_due(step: Step) -> bool:
    """Returns whether the call is to end, and nothing is left to be said, heard or waited for."""
    state = step.state
    return state.silence.wanted and state.phase is Phase.IDLE and not state.replies.transferring and not state.late.running


def say_goodbye(step: Step) -> None:
    """Say it, and end the call after it."""
    silence.end_by_agent(step, step.state.silence.detail)
    begin_reply(step, NextReply("say", step.sayings.farewell, resumes=False, protected=step.is_protected("farewell")))


def transfer_failed(step: Step, event: ev.TransferFailed) -> None:
    """The caller is still here. Say so, and go on."""
    caller_is_back(step)
    take_floor(step)
    begin_reply(step, NextReply("say", step.sayings.transfer_failed, protected=step.is_protected("transfer_failed")))


def silence_is_long(step: Step) -> None:
    """The silence timer has run out. Ask whether the caller is there, then take leave, then end the call. Something typed in the
    meantime lets the silence begin anew."""
    if silence.is_over(step):
        _nobody_is_there(step)
    else:
        silence.await_caller(step)


def noise_goes_on(step: Step) -> None:
    """The open utterance is only noise, and nobody has spoken for the silence time. It does not keep the call."""
    take_floor(step)
    _nobody_is_there(step)


def _nobody_is_there(step: Step) -> None:
    sayings, state = step.sayings, step.state.silence
    if state.check_ins == 0 and sayings.check_in and not state.ending:
        if step.state.rules.turns.idle_ms:
            step.do(act.CallerIdle(state.since_ms))
        silence.asked(step)
        begin_reply(step, NextReply("say", sayings.check_in, resumes=False, protected=step.is_protected("check_in")))
    elif sayings.farewell and not state.ending:
        silence.farewell(step)
        begin_reply(step, NextReply("say", sayings.farewell, resumes=False, protected=step.is_protected("farewell")))
    else:
        end_call(step, state.ending or "silence")


def person_is_asked_for(step: Step, words: str) -> bool:
    """Returns whether these words of the caller ask for a person who can be had, or accept the offer of one."""
    rules = step.state.rules
    if not rules.transfers or step.state.caller_turn.refusal is not None:
        return False
    if step.state.replies.offers_person and agrees(words, step.language):
        return True
    return person_requests(tuple(language.phone.person for language in step.possible_languages)).made_in(words)


def take_floor(step: Step, status: str = "cancelled") -> None:
    """End the live reply, with this status, and the caller's open utterance. Words whose final transcript is missing count as
    they are known."""
    step.clear_timers([FINAL])
    utterance = step.state.utterance
    if step.state.phase is Phase.HEARING:
        step.do(act.DiscardUtterance(utterance.utterance_id), act.CallerStopped(utterance.utterance_id, step.at_ms))
        step.do(act.CallerFinal(utterance.utterance_id, utterance.partial))
    for utterance_id in sorted(step.state.caller_turn.awaiting_final):
        step.do(act.CallerFinal(utterance_id, utterance.partial if utterance_id == utterance.utterance_id else ""))
    caller_words.await_no_finals(step)
    caller_words.end_pause(step)
    cancel_reply(step, status)
