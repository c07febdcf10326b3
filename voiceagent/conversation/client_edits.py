"""The client's edits of the conversation: it adds messages, takes some out, and says how much of a reply it has played."""

from __future__ import annotations

from voiceagent.conversation import caller_words
from voiceagent.conversation import events as ev
from voiceagent.conversation.memory import insert, remember, remember_turn, remove
from voiceagent.conversation.reply_lifecycle import cancel_reply, truncate
from voiceagent.conversation.state import Step
from voiceagent.conversation.tools import ask_to_confirm


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
    caller_words.forget_words(step, event.key, event.text)
    remove(step, event.key, event.text)
    _prompt_changed(step)


def reply_truncated(step: Step, event: ev.ReplyTruncated) -> None:
    """The client has played this much of a reply."""
    truncate(step, event.reply_id, event.played_ms)
    _prompt_changed(step)


def _prompt_changed(step: Step) -> None:
    """A speculative reply to the old conversation is of no use."""
    if step.speculative() is not None:
        cancel_reply(step, "changed")
