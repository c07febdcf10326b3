"""The caller's connection. While it is lost, nobody hears the agent: the leg sends nothing, and the timers of the conversation
stand still. The language model and the tools go on. An utterance that the caller had begun stays open. Once the caller is back,
the live reply goes on at its first unheard word, after a cue. This file writes `State.connection`."""

from __future__ import annotations

from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation import silence
from voiceagent.conversation.floor import SILENT
from voiceagent.conversation.generation import begin_reply
from voiceagent.conversation.reply_lifecycle import (
    BRIDGE,
    FILLER,
    FLOOR_IS_THE_AGENTS,
    GO_ON,
    OVERLAP,
    REST,
    end_call,
    set_voice,
    take_back_heard,
)
from voiceagent.conversation.silence import SILENCE
from voiceagent.conversation.state import Connection, NextReply, Phase, Step

AWAY = "away"
"""The timer after which a lost connection ends the call."""
RETURN_MS = 6000.0
"""The time within which the connection of a caller must be up who came back just in time."""
STAND_STILL = (SILENCE, REST, GO_ON, OVERLAP, FILLER, BRIDGE)
AGAIN_MS = 1000.0
"""The time after which such a timer runs out that has stood still."""


def connection_lost(step: Step, event: ev.ConnectionLost) -> None:
    """Nobody hears the agent any more. Wait for the caller, or end the call if the rules want no waiting."""
    wait_ms = step.state.rules.limits.resume_timeout_ms
    if not wait_ms:
        end_call(step, "lost")
    elif step.state.connection.lost_ms is None:
        step.change("connection", lost_ms=step.at_ms)
        since_ms = step.at_ms if event.alive_ms is None else event.alive_ms
        step.set_timer(AWAY, max(1.0, since_ms + wait_ms - step.at_ms))
        if event.heard is not None:
            take_back_heard(step, event.heard)
        _pause_reply(step)


def await_caller(step: Step) -> None:
    """Another server has left the call. Wait for the caller, who is about to be connected."""
    step.put(phase=Phase.IDLE)
    step.change("connection", lost_ms=step.at_ms)
    step.set_timer(AWAY, RETURN_MS)


def caller_returns(step: Step, event: ev.CallerReturns) -> None:
    """The caller came in time. Do not end the call while its connection is made."""
    if AWAY in step.state.timers:
        step.set_timer(AWAY, RETURN_MS)


def stands_still(step: Step, name: str) -> bool:
    """Returns whether a timer that has run out waits until the caller is back."""
    if step.state.connection.lost_ms is None or name not in STAND_STILL:
        return False
    step.change("connection", due=step.state.connection.due | {name})
    return True


def connection_resumed(step: Step, event: ev.ConnectionResumed) -> None:
    """The caller is back."""
    lost_ms, due = step.state.connection.lost_ms, step.state.connection.due
    if lost_ms is None:
        return
    step.put(connection=Connection())
    step.clear_timers([AWAY])
    silence.stood_still(step, step.at_ms - lost_ms)
    for name in sorted(due - {SILENCE}):
        step.set_timer(name, AGAIN_MS)
    if event.heard is not None:
        take_back_heard(step, event.heard)
    if step.state.phase is Phase.IDLE and step.state.replies.unheard_text:
        begin_reply(step, NextReply("resume"))
        _go_on(step)
    elif step.state.phase is Phase.IDLE and (SILENCE in due or SILENCE in step.state.timers):
        silence.await_caller(step)
    elif step.state.phase in FLOOR_IS_THE_AGENTS:
        _go_on(step)


def _pause_reply(step: Step) -> None:
    reply = step.spoken()
    if reply is not None and not reply.text_only and reply.voice not in SILENT:
        set_voice(step, "paused")
        step.do(act.PauseReply(reply.reply_id))


def _go_on(step: Step) -> None:
    """Say the rest of the live reply. Nothing is to be explained if it is the first words of the call, or all but over."""
    _pause_reply(step)
    reply = step.spoken()
    if reply is None or reply.text_only:
        return
    step.clear_timers([GO_ON])
    set_voice(step, "full")
    is_left = reply.unheard or reply.generating or reply.tools_pending
    cue = step.sayings.resumed if is_left and (reply.started or step.state.memory.history) else ""
    step.do(act.ResumeReply(reply.reply_id, *reply.cut_word, cue))
