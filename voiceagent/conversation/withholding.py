"""Tools that do not run although the language model calls them. A turn that is nothing but "stop", "okay" or the like asks for
nothing, so it runs no tool with an effect, whatever the model calls. The same holds until the caller's next turn."""

from __future__ import annotations

from voiceagent.conversation.history import ToolCall
from voiceagent.conversation.speculative_tools import rule_of
from voiceagent.conversation.step import Step
from voiceagent.turn_taking.agreement import agrees
from voiceagent.turn_taking.language import bare_words, has_phrase
from voiceagent.turn_taking.overlap import Overlap
from voiceagent.turn_taking.request import asks_nothing


def judge_turn(step: Step, said: str) -> None:
    """The caller's turn is committed, and is not in the history yet. Note whether it asks for anything."""
    asked, last = step.state.replies.confirming, step.state.caller_turn.last_words
    turn = Overlap(said, 0.0, True, step.last_said, step.state.replies.unheard_text)
    nothing = any(asks_nothing(turn, last, language) for language in step.possible_languages)
    confirms = asked is not None and agrees(said, step.language)
    step.put_replies(asked_nothing=nothing and not confirms)


def is_dismissal(step: Step, said: str) -> bool:
    """Whether a turn that asks for nothing tells the agent to let the matter be. "Okay" and "wait" do not."""
    words = bare_words(said)
    return any(has_phrase(words, language.dismissals) for language in step.possible_languages)


def is_withheld(step: Step, call: ToolCall) -> bool:
    """Whether the tool must not run because the caller's last turn asked for nothing."""
    return step.state.replies.asked_nothing and rule_of(step, call.name).effect != "none"
