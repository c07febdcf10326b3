"""Conversations as the recogniser hears them: each sentence of the caller is exchanged for what was heard, and where a value was
heard as other words, these stand in the call and in what follows. A conversation ends where a value was lost."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from bench.starter.normal import place, words
from models.train.tools.talk import Message

LEAST_ALIKE = 0.5
"""Of the letters of a value, so many must have been heard."""
MOST_LOST = 0.4
"""Of a sentence's words: more were not understood at all."""
LONGEST_MISHEARD, MORE_MISHEARD, MOST_MISHEARD = 3, 4, 0.4
"""Words that are exchanged for others at a time; how much more often than it was heard so, and the most."""
SOUND_ALIKE = {"for": "4", "four": "4", "to": "2", "too": "2", "ate": "8", "won": "1"}


def heard(messages: Sequence[Message], hear: Callable[[str], str], fixed: Collection[str] = ()) -> list[Message]:
    """The conversation up to where it can be learned from. `fixed`: values of enums, which stay whatever was heard."""
    found: list[Message] = []
    exchanged: list[tuple[str, str]] = []
    said = listened = ""
    for message in messages:
        if message["role"] == "user":
            text = hear(message["content"])
            if not understood(message["content"], text):
                return _whole(found)
            said, listened = f"{said} {message['content']}", f"{listened} {text}"
            found.append({**message, "content": text})
        elif calls := message.get("tool_calls"):
            for call in calls:
                free = {key: value for key, value in call["function"]["arguments"].items() if value not in fixed}
                new = _arguments(free, said, listened)
                if new is None:
                    return _whole(found)
                exchanged += new
            found.append(_put(message, exchanged))
        else:
            found.append(_put(message, exchanged))
    return found


def enum_values(schemas: Sequence[dict[str, Any]]) -> set[str]:
    """Of all tools."""
    properties = [one for schema in schemas for one in schema["function"]["parameters"]["properties"].values()]
    return {value for one in properties for value in one.get("enum", ())}


def understood(said: str, listened: str) -> bool:
    """Whether most of a sentence was heard as it was said."""
    one, other = words(said), words(listened)
    if not other:
        return False
    same = sum(block.size for block in SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks())
    return len(one) < 3 or same >= (1 - MOST_LOST) * len(one)


def _whole(messages: list[Message]) -> list[Message]:
    """Without a caller's turn that nothing follows."""
    while messages and messages[-1]["role"] == "user":
        messages.pop()
    return messages


def _arguments(arguments: Mapping[str, Any], said: str, listened: str) -> list[tuple[str, str]] | None:
    """Which values are to be exchanged for what; None where one was not heard."""
    found = []
    for value in arguments.values():
        if isinstance(value, bool) or value in ("", None):
            continue
        if isinstance(value, int | float):
            if not _number_heard(str(value), said, listened):
                return None
        elif isinstance(value, str) and place(words(value), words(said)) is not None:
            new = _span(value, said, listened)
            if new is None or not _alike(value, new):
                return None
            if new != value and not re.fullmatch(r"[\d\s-]+", value):
                found.append((value, new))
            elif re.fullmatch(r"[\d\s-]+", value) and words(new) != words(value):
                return None
    return found


def _number_heard(number: str, said: str, listened: str) -> bool:
    """It is heard, or was not said as it stands in the call ("half an hour")."""
    there = [SOUND_ALIKE.get(word, word) for word in words(listened)]
    return number in there or number not in words(said)


def _alike(one: str, other: str) -> bool:
    return SequenceMatcher(None, " ".join(words(one)), " ".join(words(other)), autojunk=False).ratio() >= LEAST_ALIKE


def _span(value: str, said: str, listened: str) -> str | None:
    """The text that was heard in the place of a value: the last place where it was said."""
    pieces, ears = list(re.finditer(r"\S+", said)), list(re.finditer(r"\S+", listened))
    first = _places(value, [piece[0] for piece in pieces])
    if first is None:
        return None
    one, other = ([" ".join(words(piece[0])) or piece[0].lower() for piece in some] for some in (pieces, ears))
    start = stop = None
    for tag, a, b, c, d in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        begins, ends = max(a, first.start), min(b, first.stop)
        if begins >= ends:
            continue
        if tag == "equal":
            c, d = c + begins - a, c + ends - a
        if c < d:
            start, stop = (c if start is None else start), d
    if start is None or stop is None:
        return None
    return _bare(listened[ears[start].start() : ears[stop - 1].end()], value)


def _places(value: str, pieces: Sequence[str]) -> range | None:
    """Of the pieces, those that are the value."""
    wanted = words(value)
    for start in reversed(range(len(pieces))):
        for stop in range(start + 1, min(len(pieces), start + 12) + 1):
            if words(" ".join(pieces[start:stop])) == wanted and words(pieces[start]):
                return range(start, stop)
    return None


def _bare(text: str, value: str) -> str:
    """Without the marks and articles around it."""
    text = text.strip(" ,;:!?\"'")
    text = text if re.search(r"\b[ap]\.m\.$", text) else text.rstrip(".")
    if not re.match(r"(the|a|an|my)\b", value, re.IGNORECASE):
        text = re.sub(r"^(the|a|an|my)\s+", "", text, flags=re.IGNORECASE)
    return text


def _put(message: Message, exchanged: Sequence[tuple[str, str]]) -> Message:
    """With the words that were heard, in arguments, results and answers."""
    found = dict(message)
    if "tool_calls" in message:
        found["tool_calls"] = [
            {**call, "function": {**call["function"], "arguments": dict(_values(call["function"]["arguments"], exchanged))}}
            for call in message["tool_calls"]
        ]
        return found
    text = message["content"]
    if message["role"] == "tool":
        for old, new in exchanged:
            text = text.replace(json.dumps(old, ensure_ascii=False), json.dumps(new, ensure_ascii=False))
    else:
        for old, new in exchanged:
            text = re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", lambda _, new=new: new, text)  # type: ignore[misc]
    found["content"] = text
    return found


def _values(arguments: dict[str, Any], exchanged: Sequence[tuple[str, str]]) -> Iterator[tuple[str, Any]]:
    for name, value in arguments.items():
        yield name, next((new for old, new in reversed(exchanged) if value == old), value)


class Mishearing:
    """What a recogniser made of words, taken from sentences that it heard, and done to others."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Sentences as they were said, and as they were heard."""
        self._others: dict[str, list[str]] = {}
        self._said = Counter[str]()
        for said, listened in pairs:
            one, other = said.split(), listened.split()
            plain, plain_heard = ([_word(word) for word in some] for some in (one, other))
            self._said.update(plain)
            for tag, a, b, c, d in SequenceMatcher(None, plain, plain_heard, autojunk=False).get_opcodes():
                if tag == "replace" and max(b - a, d - c) <= LONGEST_MISHEARD:
                    self._others.setdefault(" ".join(plain[a:b]), []).append(" ".join(other[c:d]).rstrip(".?!,"))

    def hear(self, text: str, rng: random.Random) -> str:
        """The sentence, some of its words as they were heard elsewhere."""
        left, found = text.split(), list[str]()
        while left:
            for count in range(min(LONGEST_MISHEARD, len(left)), 0, -1):
                words = [_word(word) for word in left[:count]]
                others = self._others.get(" ".join(words), ())
                likely = MORE_MISHEARD * len(others) / (1 + min(self._said[word] for word in words))
                if rng.random() < min(MOST_MISHEARD, likely):
                    mark = re.search(r"[.?!,]*$", left[count - 1])
                    found.append(rng.choice(others) + (mark[0] if mark else ""))
                    break
            else:
                count = 1
                found.append(left[0])
            del left[:count]
        return " ".join(found)


def _word(text: str) -> str:
    return text.lower().strip(".?!,")
