"""Tools that the caller must agree to. The turn engine asks the question, not the model. Only a plain yes to this question runs
the tool, with exactly these arguments."""

from __future__ import annotations

from collections import defaultdict
from string import Formatter

from voiceagent.conversation.history import ToolCall, read_arguments
from voiceagent.conversation.reply import Reply
from voiceagent.conversation.speculative_tools import rule_of
from voiceagent.conversation.step import Step

GIST_SHARE = 0.7
"""The share of the question's words that the caller must have heard before a yes counts."""


def confirmation(step: Step, call: ToolCall) -> str:
    """The question that the caller must agree to. Empty if the tool needs none. Arguments that are missing or unreadable are left
    out of the question; it is asked all the same."""
    arguments = defaultdict(str, read_arguments(call.arguments) or {})
    return " ".join(Formatter().vformat(rule_of(step, call.name).confirm, (), arguments).split())


def gist_heard(reply: Reply) -> bool:
    """Whether the caller heard enough of the question, the reply's last round, to answer it."""
    question = [clause for clause in reply.clauses if clause.round == len(reply.rounds) - 1]
    heard = sum(len(clause.heard.split()) for clause in question)
    return heard >= GIST_SHARE * sum(len(clause.text.split()) for clause in question) > 0
