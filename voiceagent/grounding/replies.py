"""Checks the text of a model. It may say its own sentences, what was said before, and the content of a tool's result between the
words that it puts around results. Text is passed on clause by clause; it ends at the first clause that may not be said. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import islice

from voiceagent.conversation.history import Message, read_arguments
from voiceagent.grounding.choices import choices, listed
from voiceagent.grounding.language import GroundingWords
from voiceagent.grounding.limits import ModelLimits
from voiceagent.grounding.words import words_of
from voiceagent.json_types import JsonObject

_CLAUSE_END = re.compile(r"[.!?…,;:][\"')\]]*(?=\s)")
_SENTENCE_ENDED = re.compile(r"[^\W\d][.!?…][\"')\]]*\s*\Z")
MOST_PARTS = 6
"""The most parts of a result that are read out."""
MOST_PART_CHARACTERS = 120
MOST_CHOICES = 8
"""The most choices that a question names."""
REPEATED_MESSAGES = 12
"""Number of messages back from which the caller's words may be repeated."""
MOST_RESULT_CHARACTERS = 3000
"""The most characters of each result that may be said: reading it runs on the event loop."""


class ReplyCheck:
    """The check of one generation."""

    def __init__(
        self, limits: ModelLimits, messages: Sequence[Message], language: GroundingWords, *, has_all_tools: bool
    ) -> None:
        self._limits = limits
        self._language = language
        self._claims_hold = has_all_tools
        self._results = _since_caller(messages)
        self._outputs = [output for _, output in self._results]
        recent = () if self._outputs else messages[-REPEATED_MESSAGES:]
        earlier = (message.content for message in recent if message.role == "assistant")
        self._sentences = [_plain(text) for text in (*limits.sentences, *limits.claims, *earlier) if text]
        self._claims = [_plain(text) for text in limits.claims]
        self._of_result = _vocabulary(limits, messages, self._outputs, language) if limits.answer_words else None
        self._said = ""
        """The clauses that were passed on since the last sentence's end."""
        self._held = self._told = ""
        self._has_spoken = False
        """True once a complete sentence was passed on."""
        self.instead: str | None = None
        """Set once something may not be said: what to say instead."""

    def add(self, text: str) -> str:
        """Take a piece of the model's text; returns what may be passed on."""
        self._held += text
        return self._pass_on(last=False)

    def pause(self) -> str:
        """No text follows for now: returns what may be passed on of a sentence that has ended."""
        return self._pass_on(last=True) if _SENTENCE_ENDED.search(self._held) else ""

    def flush(self) -> str:
        """The model asks for a tool next: returns what may be passed on of the rest."""
        return self._pass_on(last=True)

    def finish(self) -> str:
        """No text follows: returns what may be passed on of the rest."""
        passed = self._pass_on(last=True)
        if self.instead is None and self._told.strip() and (left_out := self._left_out()):
            self.instead = left_out
        return passed

    def _left_out(self) -> str:
        """Parts of the results that should have been told and were not."""
        told = _texts(self._told, self._language)
        missing: dict[str, object] = {}
        for name, output in self._results:
            parts = read_arguments(output) or {}
            wanted = {part: parts[part] for part in self._limits.tells.get(name, ()) if part in parts}
            missing |= {
                part: value for part, value in wanted.items() if not told.issuperset(_texts(_spoken(value), self._language))
            }
        return read_out(json.dumps(missing), self._language) if missing else ""

    def _pass_on(self, *, last: bool) -> str:
        passed = ""
        while self.instead is None:
            end = _CLAUSE_END.search(self._held)
            if end is None and not (last and self._held.strip()):
                break
            at = end.end() if end else len(self._held)
            clause, self._held = self._held[:at], self._held[at:]
            refusal = self._refusal(clause)
            if refusal is not None:
                self.instead = self._rest_of(refusal)
                break
            passed += clause
            is_end = clause.rstrip("\"')]")[-1:] in ".!?…"
            self._has_spoken |= is_end
            self._said = "" if is_end else self._said + clause
        self._told += passed
        return passed

    def _rest_of(self, line: str) -> str:
        """The part of `line` that must still be said. After a complete sentence that is nothing, unless tools answered."""
        if self._has_spoken and not self._outputs:
            return ""
        return line.removeprefix(_plain(self._said)).strip()

    def _refusal(self, clause: str) -> str | None:
        """Returns the text to say instead of a clause; None if the clause may be said."""
        sentence = _plain(self._said + clause)
        if not self._claims_hold and any(claim.startswith(sentence) for claim in self._claims):
            return self._language.cannot
        if any(known.startswith(sentence) or f" {sentence}" in known for known in self._sentences):
            return None
        if self._outputs:
            if self._of_result is None:
                return None
            if _CLAUSE_END.search(f"{clause} ") and self._of_result.issuperset(_texts(clause, self._language)):
                return None
            return read_out(self._outputs[-1], self._language)
        return self._language.not_understood if self._limits.sentences else None


def read_out(output: str, language: GroundingWords) -> str:
    """A tool's result, unchanged, for the ear. For an error, whose text is meant for the model, it says only that there was
    one."""
    told = read_arguments(output)
    if told is None or "error" in told:
        return language.failed
    parts = [f"{name.replace('_', ' ')} {_spoken(value)}" for name, value in told.items() if value not in (None, "", [], {})]
    text = ", ".join(part[:MOST_PART_CHARACTERS] for part in parts[:MOST_PARTS])
    return f"{text[:1].upper()}{text[1:]}." if text else language.failed


def _spoken(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name.replace('_', ' ')} {_spoken(item)}" for name, item in islice(value.items(), MOST_PARTS))
    if isinstance(value, list):
        return ", ".join(_spoken(item) for item in value[:MOST_PARTS])
    return json.dumps(value) if isinstance(value, bool) else str(value)


def _since_caller(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """The results of tools since the caller spoke, with the tools' names."""
    last = max((index for index, message in enumerate(messages) if message.role == "user"), default=-1)
    names = {call.call_id: call.name for message in messages[last + 1 :] for call in message.tool_calls}
    return [(names.get(m.tool_call_id, ""), m.content) for m in messages[last + 1 :] if m.role == "tool"]


def _vocabulary(
    limits: ModelLimits, messages: Sequence[Message], outputs: Sequence[str], language: GroundingWords
) -> frozenset[str]:
    """The words that may be said about the results."""
    last = max((index for index, message in enumerate(messages) if message.role == "user"), default=-1)
    asked = (call.arguments for message in messages[last + 1 :] for call in message.tool_calls)
    told = (output[:MOST_RESULT_CHARACTERS] for output in outputs)
    return frozenset(word for text in (limits.answer_words, *told, *asked) for word in _texts(text, language))


def _texts(text: str, language: GroundingWords) -> set[str]:
    return {word.text for word in words_of(text, language)}


def _plain(text: str) -> str:
    return " ".join(text.split())


def question(names: Sequence[str], parameters: JsonObject, limits: ModelLimits, language: GroundingWords) -> str:
    """Asks for arguments that nobody said."""
    return " ".join(_question(name, (parameters.get("properties") or {}).get(name), limits, language) for name in names)


def _question(name: str, schema: object, limits: ModelLimits, language: GroundingWords) -> str:
    if name in limits.asks:
        return limits.asks[name]
    names = [texts[0] for texts in choices(schema).values()]
    if 1 < len(names) <= MOST_CHOICES:
        return language.ask_choice.format(name=name.replace("_", " "), choices=listed(names, language.either))
    is_number = isinstance(schema, Mapping) and schema.get("type") in ("integer", "number")
    return (language.ask_number if is_number else language.ask).format(name=name.replace("_", " "))
