"""Tools that the caller must agree to. The question is asked by the turn engine, not by the model, and only a plain yes to just
that question runs the tool, with just those arguments."""

from __future__ import annotations

from collections import defaultdict
from string import Formatter

from voiceagent.conversation.history import ToolCall, read_arguments
from voiceagent.conversation.lookups import rule_of
from voiceagent.conversation.step import Step
from voiceagent.turn_taking.overlap import bare_words


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NOT_CONFIRMED = '{"status": "not done yet: the caller is asked to confirm it"}'
ONE_AT_A_TIME = '{"error": "not done: another request waits for the caller to confirm it"}'
_YES = _words("yes yeah yep yup sure ok okay right correct exactly fine please absolutely definitely")
_WITH_YES = _words("do it that go ahead of course is book i would like thanks thank you sounds good great perfect")
MAX_YES_WORDS = 8


def confirmation(step: Step, call: ToolCall) -> str:
    """What the caller must agree to before it runs; empty when there is nothing to ask. What the model left out, or wrote
    so that it cannot be read, is left out of the question: nothing runs unasked for that."""
    arguments = defaultdict(str, read_arguments(call.arguments) or {})
    return " ".join(Formatter().vformat(rule_of(step, call.name).confirm, (), arguments).split())


def agrees(said: str) -> bool:
    """Whether that is a plain yes: nothing but words of agreement, so that "yes, but for five" is none."""
    words = bare_words(said)
    plain = len(words) <= MAX_YES_WORDS and (_YES | _WITH_YES).issuperset(words)
    return plain and not _YES.isdisjoint(words)
