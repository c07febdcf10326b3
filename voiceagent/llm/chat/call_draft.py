"""How a tool call probably goes on. Where its grammar leaves no choice, that is certain. Where it leaves one, the draft takes the
shortest way on, the caller's words, or the first argument that may come."""

from __future__ import annotations

from collections.abc import Sequence

from tokenizers import Tokenizer

from voiceagent.llm.chat.tool_constraint import Matcher, ToolConstraint

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
        """How a call begins, as far as it can be drafted. Empty if there can be none."""
        tokens, matcher = constraint.opening()
        return [] if matcher is None else tokens + self.next(matcher, tokens, LONGEST_OPENING - len(tokens))

    def next(self, matcher: Matcher, written: Sequence[int], longest: int) -> list[int]:
        """What may follow. `written` is all that was generated; `matcher` stands after it."""
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
