"""What the agent says in place of whatever goes on: an announcement, or that the caller is put through to a person."""

from __future__ import annotations

from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation import silence
from voiceagent.conversation.generation import begin
from voiceagent.conversation.reply_lifecycle import FINAL, cancel, end
from voiceagent.conversation.state import NextReply, Phase
from voiceagent.conversation.step import Step
from voiceagent.turn_taking.agreement import agrees
from voiceagent.turn_taking.person_request import person_requests


def announce(step: Step, event: ev.Announce) -> None:
    """Say the text."""
    _take_the_floor(step)
    begin(step, NextReply("say", event.text))


def person_requested(step: Step, event: ev.PersonRequested) -> None:
    """The caller pressed the key for a person."""
    if step.state.rules.puts_through:
        _take_the_floor(step)
        begin(step, NextReply("put_through"))


def put_through_failed(step: Step, event: ev.PutThroughFailed) -> None:
    """The caller is still here. Say so, and go on."""
    step.put_replies(putting_through=False)
    _take_the_floor(step)
    begin(step, NextReply("say", step.sayings.transfer_failed))


def silence_is_long(step: Step) -> None:
    """The silence timer has run out. Ask whether the caller is there, then take leave, then end the call. Something typed in the
    meantime lets the silence begin anew."""
    if silence.is_over(step):
        _nobody_is_there(step)
    else:
        silence.wait(step)


def noise_goes_on(step: Step) -> None:
    """The open utterance is only noise, and nobody has spoken for the silence time. It does not keep the call."""
    _take_the_floor(step)
    _nobody_is_there(step)


def _nobody_is_there(step: Step) -> None:
    sayings, state = step.sayings, step.state.silence
    if state.check_ins == 0 and sayings.check_in and not state.ending:
        silence.asked(step)
        begin(step, NextReply("say", sayings.check_in, resumes=False))
    elif sayings.farewell and not state.ending:
        step.put_silence(ending="silence", since_ms=step.at_ms)
        begin(step, NextReply("say", sayings.farewell, resumes=False))
    else:
        end(step, state.ending or "silence")


def person_is_asked_for(step: Step, words: str) -> bool:
    """Whether these words of the caller ask for a person who can be had, or accept the offer of one."""
    rules = step.state.rules
    if not rules.puts_through or step.state.caller_turn.refusal is not None:
        return False
    if step.state.replies.offers_person and agrees(words, step.language):
        return True
    return person_requests(tuple(language.phone.person for language in step.possible_languages)).made_in(words)


def _take_the_floor(step: Step) -> None:
    """End the live reply and the caller's open utterance. Words whose final transcript is missing count as they are known."""
    step.clear_timers([FINAL])
    utterance = step.state.utterance
    if step.state.phase is Phase.HEARING:
        step.do(act.DiscardUtterance(utterance.utterance_id), act.CallerStopped(utterance.utterance_id, step.at_ms))
        step.do(act.CallerFinal(utterance.utterance_id, utterance.partial))
    for utterance_id in sorted(step.state.caller_turn.awaiting_final):
        step.do(act.CallerFinal(utterance_id, utterance.partial if utterance_id == utterance.utterance_id else ""))
    step.put_caller_turn(awaiting_final=frozenset())
    step.put_utterance(pause=None)
    cancel(step, "cancelled")
