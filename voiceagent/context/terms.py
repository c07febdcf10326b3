"""The words of an utterance that say what it is about: the query that is put to every source."""

from __future__ import annotations

import re

MAX_TERMS = 24
"""Of a long utterance the last words count."""

_COMMON = """
a about above actually after again all also am an and any anyone anything are as ask at be because been before being but
by bye call can cannot could did do does doing down each else er even ever every for from get give go going good got had
has have having he hear hello help her here hey hi him his hm hmm how i if in into is it its just kindly know let like
ll look m maybe me mean might mm more most much must my need no not now of off oh ok okay on once one only or other our
out over please put re really right s said same say see shall she should so some something sorry still such sure t take
tell than thank thanks that the their them then there these they thing think this those to too uh um until up us ve very
want was we well were what when where which while who whom whose why will with without would yeah yes yet you your yours
"""
_STOP_WORDS = frozenset(_COMMON.split())
_WORD = re.compile(r"\w+")


def terms(text: str) -> tuple[str, ...]:
    """The words of `text` in order, in lower case, without repetitions and without words that every sentence has."""
    words = dict.fromkeys(word.casefold() for word in _WORD.findall(text))
    telling = [word for word in words if word not in _STOP_WORDS and (len(word) > 1 or word.isdigit())]
    return tuple(telling[-MAX_TERMS:])
