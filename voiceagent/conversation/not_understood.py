"""Speech that was heard and not understood. It sounds like a turn, and no word of it is known. The caller is asked to say it
again. A cough, a laugh, a click and other short or doubtful sounds get no answer."""

from __future__ import annotations

from voiceagent.conversation import actions as act
from voiceagent.conversation import silence
from voiceagent.conversation.state import NextReply, Pause
from voiceagent.conversation.step import Step
from voiceagent.turn_taking.overlap import UNLIKE_WORDS

VOICED_MS = 1000.0
"""Less speech is no turn: it may be a cough or a laugh."""
LONG_MS = 3000.0
"""So much speech is a turn whatever a judge makes of its end, and where there is no judge."""
TURN_CHANCE = 0.5
"""The chance of a finished turn from which `VOICED_MS` of sound is one. The longer the sound, the lower it may be: coughs are
short, and a voice that is hard to understand is hard to judge."""
ASKS_AGAIN = 2
"""How often in a row the caller is asked to say it again."""
NO_ANSWER = NextReply("resume")
"""Go on with what the sound interrupted, or wait."""


def words_came(step: Step) -> None:
    """The caller said something that was understood, or typed something."""
    silence.words_heard(step)
    step.put_caller_turn(not_understood=0)


def reply_to_no_words(step: Step, pause: Pause | None, *, failed: bool) -> NextReply:
    """What follows an utterance without words. `pause` is the one in which it ended. `failed`: the recogniser failed, or was too
    slow."""
    if pause is None or not sounds_like_a_turn(pause):
        return NO_ANSWER
    times = step.state.caller_turn.not_understood + 1
    step.put_caller_turn(not_understood=times)
    answer, text = _answer(step, times, somebody_is_there=silence.turn_heard(step, judged=bool(pause.judged)), failed=failed)
    step.do(act.NotUnderstood(step.state.utterance.utterance_id, times, answer))
    return NextReply("ask_again", text, offers_person=answer == "offer") if text else NO_ANSWER


def sounds_like_a_turn(pause: Pause) -> bool:
    """Whether the sound before the pause is likely to be what somebody wanted to say."""
    if pause.voiced_ms < VOICED_MS or (pause.words_chance is not None and pause.words_chance < UNLIKE_WORDS):
        return False
    if pause.voiced_ms >= LONG_MS:
        return True
    needed = TURN_CHANCE * (LONG_MS - pause.voiced_ms) / (LONG_MS - VOICED_MS)
    return any(chance >= needed for chance in pause.judged.values())


def _answer(step: Step, times: int, *, somebody_is_there: bool, failed: bool) -> tuple[act.AnswerToNoWords, str]:
    """What is said, and its kind."""
    sayings = step.sayings
    if not sayings.not_understood:
        return "nothing", ""
    if times <= ASKS_AGAIN:
        return ("apology", sayings.apology) if failed else ("phrase", sayings.not_understood)
    if somebody_is_there and step.state.rules.puts_through and sayings.offer_person:
        return "offer", sayings.offer_person
    if somebody_is_there and sayings.check_in:
        silence.asked(step)
        return "check_in", sayings.check_in
    return "nothing", ""
