"""What a pause looks like in numbers, in any language: what the judges say, how the words end, and how the voice did. Classes of
words come as data. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

from voiceagent.turn_taking.language import Language, bare_words
from voiceagent.turn_taking.pause import PauseEvidence

JUDGES = ("ear", "meaning")
SURE = {"ear": 0.01, "meaning": 1e-4}
"""A judge is never surer than this: beyond it, chances say no more."""
SENTENCE_MARKS, QUESTION_MARKS, OPEN_MARKS = ".!。！।…", "?？؟", ",，、-–—:;"
MOST_VALUE = 12
"""Digits and letters of a value beyond which more say no more."""
LONG_MS = 4000.0
_MARKED = re.compile(r"[.!?。！？؟।]+[\"'”’)\]]*$")


def features(evidence: PauseEvidence, language: Language) -> dict[str, float]:
    """The evidence as numbers; a judge that is missing is marked, and weighs nothing else."""
    text = evidence.words.strip()
    words = bare_words(text)
    found = {"bias": 1.0, **judged(evidence.judged), **_voice(evidence)}
    if not words:
        return found | {"no_words": 1.0}
    return (
        found
        | _mark(text)
        | _ending(words, language)
        | _length(words)
        | _value(words, language)
        | _whole(words, text, evidence.asked, language)
    )


def judged(said: Mapping[str, float]) -> dict[str, float]:
    """The log-odds of each judge."""
    found: dict[str, float] = {}
    for name in JUDGES:
        chance = said.get(name)
        found[f"{name}_missing"] = float(chance is None)
        found[name] = 0.0 if chance is None else log_odds(chance, SURE[name])
    return found


def log_odds(chance: float, surest: float) -> float:
    """Of a chance, which is taken for no surer than that."""
    held = min(1 - surest, max(surest, chance))
    return math.log(held / (1 - held))


def _voice(evidence: PauseEvidence) -> dict[str, float]:
    fall = evidence.prosody.pitch_fall_st
    clipped = max(-8.0, min(8.0, fall)) if fall is not None else 0.0
    return {
        "pitch_fall": clipped,
        "pitch_moved": abs(clipped),
        "pitch_unknown": float(fall is None),
        "energy_fall": max(-10.0, min(15.0, evidence.prosody.energy_fall_db)),
        "long": min(1.0, evidence.voiced_ms / LONG_MS),
    }


def _mark(text: str) -> dict[str, float]:
    """The closing mark that the recogniser wrote."""
    ellipsis = text.endswith(("...", "…"))
    return {
        "mark_sentence": float(not ellipsis and text[-1] in SENTENCE_MARKS),
        "mark_question": float(text[-1] in QUESTION_MARKS),
        "mark_open": float(ellipsis or text[-1] in OPEN_MARKS),
    }


def _ending(words: list[str], language: Language) -> dict[str, float]:
    """The class of the last word."""
    name = next((name for name, members in language.unfinished.items() if words[-1] in members), "")
    return {"unfinished": 1.0, f"last_{name}": 1.0} if name else {}


def _length(words: list[str]) -> dict[str, float]:
    return {"one_word": float(len(words) == 1), "two_words": float(len(words) == 2), "words": math.log(len(words))}


def _value(words: list[str], language: Language) -> dict[str, float]:
    """Whether a value stands at the end that may go on: digits, number words, single letters, words of spelling."""
    size = 0
    for word in reversed(words):
        if not _is_of_value(word, language):
            break
        size += len(word) if word.isdigit() else 1
    if not size:
        return {}
    return {
        "value": 1.0,
        "value_size": min(size, MOST_VALUE) / MOST_VALUE,
        "value_only": float(size >= sum(_size(word) for word in words)),
    }


def _size(word: str) -> int:
    return len(word) if word.isdigit() else 1


def _is_of_value(word: str, language: Language) -> bool:
    letter = len(word) == 1 and word.isalpha() and not any(word in members for members in language.unfinished.values())
    return any(character.isdigit() for character in word) or word in language.numbers or word in language.spelling or letter


def _whole(words: list[str], text: str, asked: str, language: Language) -> dict[str, float]:
    """Whether the words are an answer, or a question, and whether they answer one."""
    asks = asked.rstrip()[-1:] in tuple(QUESTION_MARKS)
    answer = _all_in(words, (language.yes, language.no, language.beside_yes))
    return {
        "asked": float(asks),
        "asked_short": float(asks and len(words) <= 3),
        "yes_or_no": float(answer),
        "asked_yes_or_no": float(asks and answer),
        "whole": float(_all_in(words, (language.whole,))),
        "asks": float(bool(words) and words[0] in language.question_words),
        "several_sentences": float(len(_MARKED.sub("", text).split(". ")) > 1 or "? " in text),
    }


def _all_in(words: list[str], classes: Iterable[frozenset[str]]) -> bool:
    return all(any(word in members for members in classes) for word in words)
