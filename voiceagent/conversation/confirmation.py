"""Tools that the caller must agree to. The question is asked by the turn engine, not by the model, and only a plain yes to just
that question runs the tool, with just those arguments."""

from __future__ import annotations

from collections import defaultdict
from string import Formatter

from voiceagent.conversation.history import ToolCall, read_arguments
from voiceagent.conversation.reply import Reply
from voiceagent.conversation.speculative_tools import rule_of
from voiceagent.conversation.step import Step

GIST_SHARE = 0.7
"""Of the question's words, so many must have been heard that a yes can be meant for it."""


def confirmation(step: Step, call: ToolCall) -> str:
    """What the caller must agree to before it runs; empty when there is nothing to ask. What the model left out, or wrote
    so that it cannot be read, is left out of the question: nothing runs unasked for that."""
    arguments = defaultdict(str, read_arguments(call.arguments) or {})
    return " ".join(Formatter().vformat(rule_of(step, call.name).confirm, (), arguments).split())


def gist_heard(reply: Reply) -> bool:
    """Whether the caller heard enough of the question, the reply's last clauses, to answer it."""
    question = [clause for clause in reply.clauses if clause.round == len(reply.rounds) - 1]
    heard = sum(len(clause.heard.split()) for clause in question)
    return heard >= GIST_SHARE * sum(len(clause.text.split()) for clause in question) > 0
