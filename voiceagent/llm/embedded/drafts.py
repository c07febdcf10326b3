"""Drafts of what a generation will probably write next, made without the model. The model then reads several tokens in one step
and checks each (speculative decoding; prompt lookup, Saxena 2023). Drafts hold the mark of a call, what its grammar nearly
forces, the caller's words as its arguments, and the values of a tool's result in the answer.

Guesses the rest of a tool call. A grammar without a choice makes it certain. Given a choice, the draft takes the shortest way
on, the caller's words, or the first argument that may come."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from tokenizers import Tokenizer

from voiceagent.conversation.history import Message
from voiceagent.llm.chat.prompt import ChatPrompt
from voiceagent.llm.chat.tool_constraint import Matcher, ToolConstraint
from voiceagent.untrusted_json import read_loose_json

LONGEST_OPENING = 16
"""Most tokens of a call that are drafted before it begins."""
FEW = 300
"""If more tokens than this may follow, a string is being written, and none of them is likelier than the others."""


class CallDraft:
    """The drafts of one generation's calls."""

    def __init__(self, words: Sequence[list[int]], arguments: Sequence[list[int]], stop: int, tokenizer: Tokenizer) -> None:
        """`words` and `arguments` are the tokens of the caller's words and of the arguments' names. `stop` ends an answer."""
        self._words = [word for word in words if word]
        self._arguments = [name for name in arguments if name]
        self._opens = [token for text in (' {"', ' "') if (token := _single(tokenizer, text)) is not None]
        self._quote, self._next, self._close, self._comma = (_single(tokenizer, text) for text in ('"', '",', "}}", ","))
        self._quoting = self._opens[-1] if self._opens else None
        self._begins = {token for text in (' "', '":', " ") if (token := _single(tokenizer, text)) is not None}
        self._stop = stop

    def opening(self, constraint: ToolConstraint) -> list[int]:
        """The beginning of a call, as far as it can be drafted. Empty if there can be none."""
        tokens, matcher = constraint.opening()
        return [] if matcher is None else tokens + self.next(matcher, tokens, LONGEST_OPENING - len(tokens))

    def next(self, matcher: Matcher, written: Sequence[int], longest: int) -> list[int]:
        """Tokens that may follow. `written` is all that was generated; `matcher` stands after it."""
        matcher = matcher.copy()
        value = self._value(written)
        tokens: list[int] = []
        while len(tokens) < longest and not matcher.is_over:
            more = matcher.forced() or self._chosen(matcher, value, tokens)
            if not more:
                break
            for token in more:
                if not matcher.take(token):
                    return tokens[:longest]
                tokens.append(token)
        return [*tokens, self._stop][:longest] if matcher.is_over else tokens[:longest]

    def _chosen(self, matcher: Matcher, value: list[int], drafted: list[int]) -> list[int]:
        allowed = matcher.allowed()
        if int(allowed.sum()) > FEW:
            return self._in_a_string(matcher, value, drafted)
        if rest := [] if drafted else self._rest(value):
            return rest
        likely = [
            *([token] for token in (*self._opens, self._close, self._comma) if token is not None),
            *self._words,
            *self._arguments,
        ]
        return next((tokens for tokens in likely if allowed[tokens[0]]), [])

    def _in_a_string(self, matcher: Matcher, value: list[int], drafted: list[int]) -> list[int]:
        """The rest of the caller's word that has begun, and the string's end. Empty while the string is empty."""
        if drafted:
            return [] if drafted[-1] == self._quoting else self._end(matcher)
        return (self._rest(value) or self._end(matcher)) if value else []

    def _rest(self, value: list[int]) -> list[int]:
        """The rest of the first of the caller's words that begins with these tokens."""
        longer = (word for word in self._words if value and len(word) > len(value))
        return next((word[len(value) :] for word in longer if word[: len(value)] == value), [])

    def _end(self, matcher: Matcher) -> list[int]:
        if self._quote is None or self._close is None:
            return []
        ended = matcher.copy()
        last = ended.take(self._quote) and bool(ended.allowed()[self._close])
        end = self._quote if last else self._next
        return [] if end is None else [end]

    def _value(self, written: Sequence[int]) -> list[int]:
        """The tokens of the string or the number that is being written."""
        begin = next((at for at in range(len(written) - 1, -1, -1) if written[at] in self._begins), len(written) - 1)
        return list(written[begin + 1 :])


def _single(tokenizer: Tokenizer, text: str) -> int | None:
    """The text as a single token. None if it takes several."""
    ids: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
    return ids[0] if len(ids) == 1 else None


LOOKED_UP_TOKENS = 4
"""The number of tokens copied from the place in the prompt that matches the text. More are seldom right."""
LONGEST_MATCH, SHORTEST_MATCH = 4, 2
"""Most and fewest tokens that must be the same for a place in the prompt to match."""
BEGINNING_TOKENS = 3
"""The number of tokens copied from the beginning of an earlier answer to a message of the same role."""
MAX_VALUES = 12
"""Most values in a tool's result. With more, none is likelier than another."""
WORD = re.compile(r"\w+")


class Drafts:
    """The drafts of one generation."""

    def __init__(
        self,
        prompt: ChatPrompt,
        ids: list[int],
        messages: Sequence[Message],
        constraint: ToolConstraint | None,
        ending: list[int],
    ) -> None:
        """`ids` is the prompt of `messages`. `ending` is the last two tokens of an answer."""
        self._ids = ids
        self._constraint = constraint
        self._ending = ending
        role, content = (messages[-1].role, messages[-1].content) if messages else ("", "")
        words = _cased(WORD.findall(content)) if role == "user" else []
        self._call = self._calls(prompt, words)
        self._opening = self._call.opening(constraint) if self._call and constraint and words else []
        self._values = [_encoded(prompt, f" {value}") for value in (_values(content) if role == "tool" else [])]
        self._beginning = _encoded(prompt, _answered(messages, role))[:BEGINNING_TOKENS]

    def _calls(self, prompt: ChatPrompt, words: list[str]) -> CallDraft | None:
        if self._constraint is None:
            return None
        said, names = ([_encoded(prompt, text) for text in texts] for texts in (words, self._constraint.arguments))
        return CallDraft(said, names, self._ending[-1], prompt.tokenizer)

    def next(self, written: Sequence[int], longest: int) -> list[int]:
        """Tokens that may follow those generated so far, at most `longest`."""
        if self._constraint is not None and self._call is not None and self._constraint.called:
            matcher = self._constraint.matcher
            return [self._ending[-1]] if matcher is None else self._call.next(matcher, written, longest)
        if self._opening[: len(written)] == list(written) and len(written) < len(self._opening):
            return self._opening[len(written) :][:longest]
        return self._of_text(list(written))[:longest]

    def _of_text(self, written: list[int]) -> list[int]:
        if not written:
            return self._beginning
        if written[-1] == self._ending[0]:
            return self._ending[1:]
        both = self._ids + written
        for length in range(LONGEST_MATCH, SHORTEST_MATCH - 1, -1):
            for value in self._values:
                if len(written) >= length and (found := _after(value, written[-length:], len(value))):
                    return found + self._ending
            if found := _after(both, both[-length:], LOOKED_UP_TOKENS):
                return found
        return next((value for value in self._values if not _holds(written, value)), []) + self._ending


def _after(text: Sequence[int], sought: Sequence[int], count: int) -> list[int]:
    """The tokens after the last place of `sought` in `text`, except its end: at most `count`."""
    length, first = len(sought), sought[0]
    for at in range(len(text) - length - 1, -1, -1):
        if text[at] == first and list(text[at : at + length]) == list(sought):
            return list(text[at + length : at + length + count])
    return []


def _answered(messages: Sequence[Message], role: str) -> str:
    """The last answer in words to a message of this role."""
    pairs = itertools.pairwise(messages)
    said = [answer.content for asked, answer in pairs if asked.role == role and answer.role == "assistant"]
    return next((content for content in reversed(said) if content), "")


def _holds(text: Sequence[int], part: Sequence[int]) -> bool:
    return any(list(text[at : at + len(part)]) == list(part) for at in range(len(text) - len(part) + 1))


def _encoded(prompt: ChatPrompt, text: str) -> list[int]:
    ids: list[int] = prompt.tokenizer.encode(text, add_special_tokens=False).ids
    return ids


def _cased(words: Sequence[str]) -> list[str]:
    """Each word as it was said, and in lower case."""
    return list(dict.fromkeys(form for word in words for form in (word, word.lower())))


def _values(result: str) -> list[str]:
    """The values in a tool's result, as text. Empty if the result is no JSON or has too many values."""
    try:
        values = list(_leaves(read_loose_json(result)))
    except ValueError:
        return []
    return values if len(values) <= MAX_VALUES else []


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _leaves(inner)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)
