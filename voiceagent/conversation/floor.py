"""The agent's voice while the caller speaks over it. The rules' manners make it softer, silence it or leave it as it is.
`caller_turn` decides whether the caller takes the floor."""

from __future__ import annotations

from typing import Literal

from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.reply_lifecycle import GO_ON, OVERLAP, cancel
from voiceagent.conversation.state import Phase
from voiceagent.conversation.step import Step
from voiceagent.turn_taking.manners import Overheard
from voiceagent.turn_taking.overlap import Overlap, leaning

SILENT = ("hushed", "paused")


def meet(step: Step, utterance_id: int) -> None:
    """The caller begins to speak over the reply. A reply that was not heard yet is held."""
    reply, manners = step.spoken(), step.state.rules.manners
    if reply is None:
        return
    step.clear_timers([GO_ON])
    step.do(act.Attend(utterance_id))
    step.set_timer(OVERLAP, step.state.rules.limits.overlap_ms)
    if manners.onset == "pause" or not reply.started:
        pause(step)
    elif manners.onset == "duck" and step.state.replies.voice == "full":
        step.put_replies(voice="ducked")
        step.do(act.Attenuate(reply.reply_id, manners.duck_db))


def overlap_heard(step: Step, event: ev.OverlapHeard) -> None:
    """More of the caller's speech over the agent was heard."""
    if event.utterance_id == step.state.utterance.utterance_id and step.spoken() is not None:
        if event.words_chance is not None:
            step.put_utterance(words_chance=event.words_chance, voiced_ms=event.voiced_ms)
        more_heard(step, step.state.utterance.partial, event.voiced_ms, event.silence_ms)


def more_heard(step: Step, words: str, voiced_ms: float, silence_ms: float) -> None:
    """The caller speaks on, or more of the words is known."""
    overlap = overlap_of(step, words, voiced_ms)
    _react(step, Overheard(voiced_ms, silence_ms, leaning(words, overlap, step.language), overlap.words_chance))


def _react(step: Step, heard: Overheard) -> None:
    """The caller speaks on. The agent falls silent once it is enough for the manners, or is hushed for a moment first."""
    manners, voice, hushed_ms = step.state.rules.manners, step.state.replies.voice, step.state.utterance.hushed_ms
    if voice == "paused":
        if hushed_ms is not None and manners.waits_no_longer(heard):
            soften(step)
    elif manners.pauses(heard):
        pause(step)
    elif voice == "hushed":
        if hushed_ms is not None and step.at_ms - hushed_ms >= manners.hush_ms and not manners.stays_hushed(heard):
            soften(step)
    elif hushed_ms is None and manners.hushes(heard):
        step.put_utterance(hushed_ms=step.at_ms)
        _silence(step, "hushed")


def overlap_lasts(step: Step) -> None:
    """The caller has spoken over the agent for long, and nobody understood a word. The caller takes the floor, unless it sounds
    like laughter or coughs."""
    if step.state.phase is not Phase.HEARING or step.state.utterance.pause is not None:
        return
    if overlap_of(step, "", 0.0).unlike_words:
        step.set_timer(OVERLAP, step.state.rules.limits.overlap_ms)
    else:
        step.put_utterance(interrupts=True)
        cancel(step, "interrupted")


def pause(step: Step) -> None:
    """Pause the reply's audio."""
    if step.state.replies.voice != "paused":
        _silence(step, "paused")


def soften(step: Step) -> None:
    """The sound that hushed the reply is probably no interruption. The reply goes on, softly where the manners say so."""
    go_on(step)
    reply, manners = step.spoken(), step.state.rules.manners
    if reply is not None and manners.onset == "duck":
        step.put_replies(voice="ducked")
        step.do(act.Attenuate(reply.reply_id, manners.duck_db))


def _silence(step: Step, voice: Literal["hushed", "paused"]) -> None:
    reply, before = step.spoken(), step.state.replies.voice
    if reply is not None:
        step.put_replies(voice=voice)
        if before not in SILENT:
            step.do(act.PauseReply(reply.reply_id))


def keep(step: Step, words: str, end_ms: float) -> None:
    """The caller did not take the floor. The reply goes on a little after `end_ms`, the end of the caller's speech, because more
    may follow. The wait depends on whether there were words."""
    reply = step.spoken()
    step.clear_timers([OVERLAP])
    if reply is None:
        return
    step.put(phase=Phase.SPEAKING if reply.started else Phase.THINKING)
    manners = step.state.rules.manners
    left_ms = end_ms + (manners.quiet_ms if words else manners.nothing_ms) - step.at_ms
    if reply.started and step.state.replies.voice == "paused" and left_ms > 0:
        step.set_timer(GO_ON, left_ms)
    else:
        go_on(step)


def go_on(step: Step) -> None:
    """Say the rest at full level. A word that was cut is said again from its beginning."""
    reply, before = step.spoken(), step.state.replies.voice
    step.put_replies(voice="full")
    if reply is None:
        return
    if before in SILENT:
        step.do(act.ResumeReply(reply.reply_id, *reply.cut_word))
    elif before == "ducked":
        step.do(act.Attenuate(reply.reply_id, 0.0))


def overlap_of(step: Step, words: str, voiced_ms: float, *, silent: bool = False) -> Overlap:
    """What is known of the open utterance, which has these words so far."""
    reply = step.spoken()
    heard, unheard = (reply.heard, reply.unheard) if reply is not None else ("", "")
    return Overlap(words, voiced_ms, silent, heard, unheard, step.state.utterance.words_chance)
