"""The agent's voice while the caller speaks over it. The rules' manners make it softer, silence it or leave it as it is.
`caller_turn` decides whether the caller takes the floor."""

from __future__ import annotations

from voiceagent.conversation import actions as act
from voiceagent.conversation.reply_lifecycle import GO_ON, OVERLAP
from voiceagent.conversation.state import Phase
from voiceagent.conversation.step import Step
from voiceagent.turn_taking.overlap import Leaning


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


def more_heard(step: Step, voiced_ms: float, silence_ms: float, words: Leaning) -> None:
    """The caller speaks on. The agent falls silent once it is enough for the manners."""
    if step.state.replies.voice != "paused" and step.state.rules.manners.pauses(voiced_ms, silence_ms, words):
        pause(step)


def pause(step: Step) -> None:
    """Pause the reply's audio."""
    reply = step.spoken()
    if reply is not None and step.state.replies.voice != "paused":
        step.put_replies(voice="paused")
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
    if before == "paused":
        step.do(act.ResumeReply(reply.reply_id, *reply.cut_word))
    elif before == "ducked":
        step.do(act.Attenuate(reply.reply_id, 0.0))
