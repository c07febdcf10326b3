"""Describes a pause in numbers, in any language: what the judges say, how the words end, and how the voice ended. Classes of
words come as data. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

from voiceagent.turn_taking.language import Language, bare_words
from voiceagent.turn_taking.pause import PauseEvidence

JUDGES = ("ear", "meaning")
SURE = {"ear": 0.01, "meaning": 1e-4}
"""A judge's chance is limited to this: chances beyond it carry no more information."""
SENTENCE_MARKS, QUESTION_MARKS, OPEN_MARKS = ".!。！।", "?？؟", ",，、-–—:;…"
MOST_VALUE = 12
"""Digits and letters of a value; more of them carry no more information."""
LONG_MS, MOST_WORDS, SHORT_WORDS = 4000.0, 12, 3
"""Speech and words beyond which more carry no more information; the words of a short answer, of which the language model cannot
tell whether it is all."""
_SENTENCES = re.compile(f"[{re.escape(SENTENCE_MARKS + QUESTION_MARKS)}]")
_BETWEEN_LETTERS = re.compile(r"(?<=\b\w)[-.](?=\w\b)")


def features(evidence: PauseEvidence, language: Language) -> dict[str, float]:
    """The evidence as numbers. A missing judge is marked, and has no other weight."""
    text = evidence.words.strip()
    words = bare_words(_BETWEEN_LETTERS.sub(" ", text))
    found = {"bias": 1.0, "habit": evidence.habit.log_odds, **judged(evidence.judged), **_voice(evidence)}
    if not words:
        return found | {"no_words": 1.0}
    return (
        found
        | {"meaning_long": found["meaning"] if len(words) > SHORT_WORDS else 0.0}
        | _mark(text)
        | _ending(text, words, language)
        | _value(words, language)
        | _length(len(words), found["ear"], evidence.asked)
        | _answer(words, evidence.asked, language)
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
    """The log-odds of a chance, which is limited to `SURE`."""
    held = min(1 - surest, max(surest, chance))
    return math.log(held / (1 - held))


def _voice(evidence: PauseEvidence) -> dict[str, float]:
    fall = evidence.prosody.pitch_fall_st
    clipped = max(-8.0, min(8.0, fall)) if fall is not None else 0.0
    return {
        "pitch_fall": clipped,
        "pitch_moved": abs(clipped),
        "pitch_moved_squared": clipped * clipped / 8.0,
        "long": min(1.0, evidence.voiced_ms / LONG_MS),
    }


def _mark(text: str) -> dict[str, float]:
    """The closing mark that the recogniser wrote."""
    last = "…" if text.endswith("...") else text[-1]
    return {
        "mark_sentence": float(last in SENTENCE_MARKS),
        "mark_question": float(last in QUESTION_MARKS),
        "mark_open": float(last in OPEN_MARKS),
    }


def _ending(text: str, words: list[str], language: Language) -> dict[str, float]:
    """`whole_turn` if the last sentence is a fixed expression, which is a turn by itself ("thank you"); else `unfinished` if
    another word must follow the last one."""
    whole = _is_whole_turn(_last_sentence(text), language)
    return {"whole_turn": float(whole), "unfinished": float(_leaves_open(words[-1], language) and not whole)}


def _last_sentence(text: str) -> list[str]:
    """The words behind the last mark that closed a sentence before them."""
    return next((words for part in reversed(_SENTENCES.split(text)) if (words := bare_words(part))), [])


def _is_whole_turn(words: list[str], language: Language) -> bool:
    """True if the words end with a fixed expression, and only agree, refuse or acknowledge before it ("no, thank you")."""
    before = _acknowledging(language)
    return any(tuple(words[start:]) in language.whole_turns and _all_in(words[:start], before) for start in range(len(words)))


def only_answers(text: str, language: Language) -> bool:
    """True if the words only agree, refuse, acknowledge, thank or take leave ("yes", "no, that's all")."""
    words = bare_words(text)
    return bool(words) and (_all_in(words, _acknowledging(language)) or _is_whole_turn(words, language))


def _acknowledging(language: Language) -> tuple[frozenset[str], ...]:
    """The words that agree, refuse or acknowledge."""
    backchannels = frozenset(word for word in language.backchannels if not _leaves_open(word, language))
    return (language.yes, language.no, backchannels)


def _leaves_open(word: str, language: Language) -> bool:
    """True if another word must follow this one."""
    return any(word in members for members in language.unfinished.values())


def _value(words: list[str], language: Language) -> dict[str, float]:
    """Features of a value at the end that may go on: digits, number words, single letters, words of spelling."""
    size = 0
    for word in reversed(words):
        if not _is_of_value(word, language):
            break
        size += len(word) if word.isdigit() else 1
    if not size:
        return {}
    return {"value": 1.0, "value_size": min(size, MOST_VALUE) / MOST_VALUE}


def _is_of_value(word: str, language: Language) -> bool:
    letter = len(word) == 1 and word.isalpha() and not _leaves_open(word, language)
    return any(character.isdigit() for character in word) or word in language.numbers or word in language.spelling or letter


def _length(count: int, ear: float, asked: str) -> dict[str, float]:
    """Features of the number of words. A few are an answer rather than a request, and give the judge by ear little evidence."""
    words = math.log(min(MOST_WORDS, count))
    asks = _asks(asked)
    return {
        "words": words,
        "asked_words": asks * words,
        "asked_short": asks * float(count <= SHORT_WORDS),
        "ear_words": ear * words,
    }


def _answer(words: list[str], asked: str, language: Language) -> dict[str, float]:
    """Features of a question the caller asks, or answers."""
    asks = _asks(asked)
    answer = _all_in(words, (language.yes, language.no, language.beside_yes))
    return {"asked": asks, "asked_yes_or_no": asks * float(answer), "asks": float(words[0] in language.question_words)}


def _asks(asked: str) -> float:
    """1 if the agent's last words are a question."""
    return float(asked.rstrip()[-1:] in tuple(QUESTION_MARKS))


def _all_in(words: list[str], classes: Iterable[frozenset[str]]) -> bool:
    return all(any(word in members for members in classes) for word in words)
