"""Judges whether a reply is right: the calls that it made, or the fact that it held."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.starter.cases import Call
from bench.starter.normal import heard_as, place, words

MOST_WORDS = 60
"""Most words of an answer: one that recites its instructions holds everything."""
NOT_KNOWN = re.compile(
    r"\b(dont|do not|doesnt|does not|didnt|cannot|cant|can not|not sure|unsure|no information|not able|unable|unfortunately|"
    r"couldnt|havent|isnt|not listed|not given|not mentioned|not available|wasnt|no details|not something)\b"
)
"""An answer that does not know, in the form of `words`."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on one turn."""

    named: bool
    """The right tools and no other; none where none fits."""
    exact: bool
    """And every argument as it was said."""
    as_heard: bool
    """Or as the recogniser heard it."""


def judge_calls(made: Sequence[tuple[str, Mapping[str, Any] | None]], right: Sequence[Call], said: str, heard: str) -> Verdict:
    """`made`: each call's tool and its checked arguments, None where the tool refuses them. `said` and `heard`: all that the
    caller said up to here."""
    if sorted(name for name, _ in made) != sorted(call.name for call in right):
        return Verdict(False, False, False)
    said_words, heard_words = words(said), words(heard)
    left = list(made)
    exact = as_heard = True
    for call in right:
        candidates = [given for given in left if given[0] == call.name]
        exact_ones = [given for given in candidates if _fits(given[1], call, None, None)]
        heard_ones = [given for given in candidates if _fits(given[1], call, said_words, heard_words)]
        exact, as_heard = exact and bool(exact_ones), as_heard and bool(heard_ones)
        left.remove((exact_ones or heard_ones or candidates)[0])
    return Verdict(True, exact, as_heard)


def _fits(given: Mapping[str, Any] | None, call: Call, said: Sequence[str] | None, heard: Sequence[str] | None) -> bool:
    if given is None:
        return False
    for name in given.keys() | call.arguments.keys():
        wanted = call.arguments.get(name, (None,))
        value = given.get(name)
        if not any(same(value, one) for one in wanted) and not any(_misheard(value, one, said, heard) for one in wanted):
            return False
    return True


def same(value: Any, wanted: Any) -> bool:
    """True if an argument is what was said, in whatever spelling."""
    if wanted is None:
        return value is None or value == ""
    if isinstance(wanted, bool) or isinstance(value, bool):
        return value is wanted
    if isinstance(wanted, int | float):
        return isinstance(value, int | float) and abs(value - wanted) < 1e-9
    if re.fullmatch(r"[\d\s.()]+[-+*/][-\d\s.+*/()]+", wanted):
        return _sum(str(value)) == _sum(wanted)
    return _joined(words(str(value))) == _joined(words(wanted))


def _joined(spelled: Sequence[str]) -> str:
    """A compound is the same in one word and in two."""
    return "".join(spelled)


def _sum(text: str) -> str:
    return re.sub(r"[\s()]|(?<=\d),(?=\d{3})", "", text)


def _misheard(value: Any, wanted: Any, said: Sequence[str] | None, heard: Sequence[str] | None) -> bool:
    """True if the value is what was heard where the wanted one was said."""
    if said is None or heard is None or wanted is None or isinstance(wanted, bool) or value is None:
        return False
    instead = heard_as(words(str(wanted)), said, heard)
    return bool(instead) and _joined(words(str(value))) == _joined(instead)


def values_heard(right: Sequence[Call], said: str, heard: str) -> bool:
    """True if the recogniser heard every value that was said in these words as it was said."""
    said_words, heard_words = words(said), words(heard)
    for wanted in (wanted for call in right for wanted in call.arguments.values()):
        ways = [words(str(value)) for value in wanted if value is not None]
        spoken = [way for way in ways if place(way, said_words) is not None]
        if spoken and not any(_joined(heard_as(way, said_words, heard_words)) == _joined(way) for way in spoken):
            return False
    return True


def judge_fact(answer: str, keys: Sequence[str]) -> bool:
    """True if the answer holds one of the keys."""
    told = words(answer)
    return len(told) <= MOST_WORDS and any(all(_holds(told, part.strip()) for part in key.split(" & ")) for key in keys)


def _holds(told: Sequence[str], key: str) -> bool:
    if key.startswith("re:"):
        return re.search(key[3:], " ".join(told)) is not None
    return place(words(key), told) is not None


def judge_absent(answer: str, known: str) -> bool:
    """True if the answer says that it does not know, and makes up no number that stands nowhere in `known`."""
    told = words(answer)
    numbers = {word for word in told if word[0].isdigit()} - set(words(known))
    return NOT_KNOWN.search(" ".join(told)) is not None and not numbers and len(told) <= MOST_WORDS
