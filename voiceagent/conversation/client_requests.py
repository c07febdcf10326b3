"""The client's requests: it types, asks for replies and stops them, ends turns by hand, changes rules and instructions, adds
messages to the conversation, takes some out, and says how much of a reply it has played."""

from __future__ import annotations

from msgspec.structs import replace

from voiceagent.conversation import actions as act
from voiceagent.conversation import caller_words, silence
from voiceagent.conversation import events as ev
from voiceagent.conversation.caller_turn import NO_ANSWER, carry_on
from voiceagent.conversation.generation import begin_reply
from voiceagent.conversation.memory import insert, remember, remember_turn, remove, remove_tool_call
from voiceagent.conversation.reply_lifecycle import FINAL, cancel_reply, go_idle, plan_next, revise, truncate
from voiceagent.conversation.rules import ReplyWish
from voiceagent.conversation.state import NextReply, Phase, Step
from voiceagent.conversation.tools import ask_to_confirm

_HEARD = (Phase.HEARING, Phase.FINALISING)


def text_received(step: Step, event: ev.TextReceived) -> None:
    """The caller typed a message. It is answered with the next utterance, or when the client asks for a reply."""
    caller_words.words_came(step)
    caller_words.add_words(step, event.text, event.refusal, event.key)
    caller_words.note_end(step, event.at_ms)
    caller_words.take_in(step, event.context)


def reply_requested(step: Step, event: ev.ReplyRequested) -> None:
    """The client asks for a reply now. It begins once the words are known that were said before."""
    waits = step.state.phase in _HEARD or bool(step.state.caller_turn.awaiting_final)
    known = step.state.caller_turn.unanswered or step.state.memory.history or step.state.rules.instructions
    if not waits and not known and event.wish.input is None and not event.wish.instructions:
        step.do(act.Failure("nothing_to_answer", "response.create came before the caller said or typed anything"))
        return
    silence.words_heard(step)
    if waits:
        caller_words.note_wish(step, event.wish)
        if step.state.phase is Phase.IDLE:
            step.clear_timers([silence.SILENCE])
            step.put(phase=Phase.FINALISING)
            step.set_timer(FINAL, step.state.rules.limits.final_timeout_ms)
        return
    reply = step.state.reply
    if reply is not None and reply.tells and not step.state.caller_turn.unanswered:
        return
    if reply is not None and reply.protected:
        caller_words.note_wish(step, event.wish)
        return
    cancel_reply(step, "interrupted")
    begin_reply(step, NextReply("answer", wish=None if event.wish == ReplyWish() else event.wish))


def wish_is_due(step: Step) -> bool:
    """Returns whether a reply begins now that the client wished for earlier."""
    return step.state.phase is Phase.IDLE and step.state.caller_turn.wish is not None


def grant_wish(step: Step) -> None:
    """Begin the reply that the client wished for."""
    wish = step.state.caller_turn.wish
    caller_words.note_wish(step, None)
    begin_reply(step, NextReply("answer", wish=wish))


def reply_cancelled(step: Step, event: ev.ReplyCancelled) -> None:
    """The client stops the reply."""
    if step.speculative() is not None or (step.state.reply is not None and step.state.reply.protected):
        return
    if step.state.reply is not None:
        revise(step, replace(step.state.reply, tells=False))
    caller_words.note_wish(step, None)
    cancel_reply(step, "cancelled")
    plan_next(step, None)
    silence.end_after_reply(step, "")
    if step.state.phase not in _HEARD:
        go_idle(step)


def utterance_committed(step: Step, event: ev.UtteranceCommitted) -> None:
    """The client ended the caller's turn by hand. It is answered when the client asks for a reply."""
    if event.utterance_id <= step.state.utterance.utterance_id:
        return
    if step.state.phase is Phase.HEARING:
        _forget_utterance(step)
    caller_words.open_utterance(step, event.utterance_id, event.onset_ms)
    caller_words.await_final(step, event.utterance_id, by_hand=True)
    caller_words.note_end(step, event.at_ms)
    step.do(act.CallerCommitted(event.utterance_id, event.onset_ms), act.Transcribe(event.utterance_id))


def utterance_cleared(step: Step, event: ev.UtteranceCleared) -> None:
    """The client wants the open utterance to be forgotten, as if it had not been said."""
    if step.state.phase is Phase.HEARING:
        _forget_utterance(step)


def _forget_utterance(step: Step) -> None:
    step.do(act.DiscardUtterance(step.state.utterance.utterance_id))
    if step.spoken() is not None:
        carry_on(step, "", step.at_ms)
        return
    caller_words.end_pause(step)
    cancel_reply(step, "resumed")
    if step.state.caller_turn.awaiting_final:  # an earlier utterance is still to be answered
        step.put(phase=Phase.FINALISING)
        step.set_timer(FINAL, step.state.rules.limits.final_timeout_ms)
    else:
        begin_reply(step, NO_ANSWER)


def settings_changed(step: Step, event: ev.SettingsChanged) -> None:
    """The client changed rules of the call. A speculative reply that followed the old ones is cancelled."""
    rules = step.state.rules
    step.follow(
        replace(
            rules,
            endpointing=event.endpointing or rules.endpointing,
            turns=event.turns or rules.turns,
            replies=event.replies or rules.replies,
            memory=event.memory or rules.memory,
        )
    )
    _prompt_changed(step)
    if step.state.phase is Phase.IDLE and silence.SILENCE in step.state.timers:
        silence.await_caller(step)


def instructions_changed(step: Step, event: ev.InstructionsChanged) -> None:
    """The next generation follows the new instructions. A speculative reply that followed the old ones is cancelled."""
    step.follow(replace(step.state.rules, instructions=event.instructions))
    _prompt_changed(step)


# --- edits of the conversation ---------------------------------------------------------------------------------------


def history_added(step: Step, event: ev.HistoryAdded) -> None:
    """Add a message. Words that wait for an answer come before one that is added at the end."""
    turn = step.state.caller_turn
    if event.behind is None or event.behind in turn.keys:
        if turn.unanswered:
            remember_turn(step, step.asked(turn.unanswered, turn.context), turn.keys)
            caller_words.words_answered(step)
        remember(step, (event.message,), (event.key,))
    else:
        insert(step, event.message, event.key, event.behind)
    if event.confirming is not None:
        ask_to_confirm(step, event.confirming)
    _prompt_changed(step)


def history_removed(step: Step, event: ev.HistoryRemoved) -> None:
    """Take something out."""
    if event.tool_call_id:
        remove_tool_call(step, event.key, event.tool_call_id)
        _prompt_changed(step)
        return
    caller_words.forget_words(step, event.key, event.text)
    remove(step, event.key, event.text)
    _prompt_changed(step)


def reply_truncated(step: Step, event: ev.ReplyTruncated) -> None:
    """The client has played this much of a reply."""
    truncate(step, event.reply_id, event.played_ms)
    _prompt_changed(step)


def _prompt_changed(step: Step) -> None:
    """A speculative reply to the conversation and the rules before is of no use."""
    if step.speculative() is not None:
        cancel_reply(step, "changed")
