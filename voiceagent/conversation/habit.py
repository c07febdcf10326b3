"""What the turn engine learns of the caller's pauses as the call goes on (`turn_taking.habit`)."""

from __future__ import annotations

from voiceagent.conversation.step import Step
from voiceagent.turn_taking.habit import Habit

COUNTED_MS = 200.0
"""Shorter silences lie inside words and phrases."""
CUT_OFF_MS = 1500.0
"""A caller who speaks again so soon after what was taken for the end of the turn, and is listened to, had not finished."""


def pause_over(step: Step, resumed_ms: float) -> None:
    """The caller went on after a pause of the open utterance."""
    pause = step.state.utterance.pause
    if step.spoken() is None and pause is not None and resumed_ms - pause.speech_end_ms >= COUNTED_MS:
        utterance_over(step, ends_turn=False)


def utterance_over(step: Step, *, ends_turn: bool) -> None:
    """A pause ended the caller's turn, or the caller went on after it."""
    step.put(habit=step.state.habit.after_pause(ends_turn=ends_turn))


def takes_the_floor(step: Step) -> None:
    """The agent yields to the open utterance. If the caller's last turn ended just before it, they had been cut off."""
    before, since_ms = step.state.habit, step.state.utterance.onset_ms - step.state.caller_turn.ended_ms
    if before.ended and since_ms < CUT_OFF_MS:
        step.put(habit=Habit(before.went_on + 1, before.ended - 1))
