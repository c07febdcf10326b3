"""The time for which nobody has spoken. The silence is counted from the last words of either side, and a cough, a click or any
other sound without words does not begin it anew. Speech of about a second does, also where no word was understood, because
somebody may be there; but not for ever, because it may be a television. So a call with nobody in it ends in bounded time. While
somebody speaks, no silence runs out. Somebody who is never understood is not hung up on so soon: a sound that a judge by ear
takes for a turn counts for longer. This file writes `State.silence`."""

from __future__ import annotations

from voiceagent.conversation.state import Silence, Step

SILENCE = "silence"
"""The timer."""
SPEECH_MS = 800.0
"""This much sound is speech, whatever the recogniser makes of it."""
MOST_TIMES = 3
"""Speech without words begins the silence anew only within this many silence times since the last words."""
MOST_TURN_TIMES = 10
"""`MOST_TIMES` for speech that sounds like a turn to a judge by ear."""
AGENT_ENDED = "agent_ended"
"""The reason with which a call ends because the agent took leave."""
NOISE_MS = 10_000.0
"""An utterance in which no word was understood for so long may be noise that never ends."""


def words_heard(step: Step) -> None:
    """The caller said or typed something, so they are there. They object to an end of which they heard."""
    before = step.state.silence
    detail = before.detail if before.wanted else ""
    step.put(silence=Silence(since_ms=step.at_ms, words_ms=step.at_ms, detail=detail, wanted=before.wanted))


def speech_heard(step: Step, voiced_ms: float) -> None:
    """The caller's utterance pauses after this much speech. Its words are not known yet."""
    if voiced_ms >= SPEECH_MS and _words_were_within(step, MOST_TIMES):
        _somebody_is_there(step)


def turn_heard(step: Step, *, judged: bool) -> bool:
    """The caller's utterance sounds like a turn, and no word in it was understood. `judged`: by a judge by ear. Returns whether
    somebody is taken to be there."""
    if not _words_were_within(step, MOST_TURN_TIMES if judged else MOST_TIMES):
        return False
    _somebody_is_there(step)
    return True


def _somebody_is_there(step: Step) -> None:
    """The silence begins anew. What the agent ends goes on to its end: only words object to that."""
    ending = AGENT_ENDED if is_ended_by_agent(step) else ""
    step.change("silence", check_ins=0, ending=ending, since_ms=step.at_ms)


def asked(step: Step) -> None:
    """The agent asks whether the caller is still there."""
    step.change("silence", check_ins=1, since_ms=step.at_ms)


def agent_spoke(step: Step) -> None:
    """A reply was said to its end."""
    step.change("silence", words_ms=step.at_ms)


def begins(step: Step) -> None:
    """Nobody speaks from now on."""
    step.change("silence", since_ms=step.at_ms)


def stood_still(step: Step, away_ms: float) -> None:
    """The caller was away for this time, which does not count."""
    state = step.state.silence
    step.change("silence", since_ms=state.since_ms + away_ms, words_ms=state.words_ms + away_ms)


def farewell(step: Step) -> None:
    """The agent takes leave of a caller who is silent. The call ends after it."""
    step.change("silence", ending="silence", since_ms=step.at_ms)


def end_after_reply(step: Step, reason: str) -> None:
    """The call ends for this reason once the next reply was said. Empty: it goes on."""
    step.change("silence", ending=reason)


def end_by_agent(step: Step, detail: str) -> None:
    """The agent takes leave with its reply. The first reason counts."""
    if not is_ended_by_agent(step):
        step.change("silence", ending=AGENT_ENDED, detail=detail, wanted=False)


def want_end(step: Step, detail: str) -> None:
    """The agent is to take leave when it can. The first reason counts."""
    if not step.state.silence.wanted:
        step.change("silence", wanted=True, detail=detail)


def end_with_answer(step: Step) -> None:
    """An answer begins. If the agent is to take leave, it does so with it."""
    if step.state.silence.wanted:
        end_by_agent(step, step.state.silence.detail)


def is_ended_by_agent(step: Step) -> bool:
    """Returns whether the agent takes leave."""
    return step.state.silence.ending == AGENT_ENDED


def await_caller(step: Step) -> None:
    """Wait for what is left of the silence time."""
    timeout_ms = _timeout_ms(step)
    if timeout_ms:
        step.set_timer(SILENCE, max(1.0, step.state.silence.since_ms + timeout_ms - step.at_ms))


def is_over(step: Step) -> bool:
    """Returns whether nobody has spoken for the silence time."""
    timeout_ms = _timeout_ms(step)
    return timeout_ms > 0 and step.at_ms >= step.state.silence.since_ms + timeout_ms


def _timeout_ms(step: Step) -> float:
    """The silence time. The client may want the agent to speak again sooner; then it does so once."""
    rules = step.state.rules
    if rules.turns.listens_only:
        return 0.0
    asks_sooner = rules.turns.idle_ms and step.state.silence.check_ins == 0
    return rules.turns.idle_ms if asks_sooner else rules.limits.silence_timeout_ms


def _words_were_within(step: Step, silence_times: int) -> bool:
    timeout_ms = step.state.rules.limits.silence_timeout_ms
    return not timeout_ms or step.at_ms < step.state.silence.words_ms + silence_times * timeout_ms


def only_noise(step: Step) -> bool:
    """Returns whether the open utterance, which pauses, is taken for noise: no word was understood in it for long, and the
    silence time is over in spite of it."""
    state = step.state
    waits = state.reply is not None or state.replies.cancelling is not None or state.caller_turn.awaiting_final
    if waits or state.utterance.partial or state.caller_turn.unanswered or state.late.running:
        return False
    return step.at_ms - state.utterance.onset_ms >= NOISE_MS and is_over(step)
