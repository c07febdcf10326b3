"""One of some choices: `choice`, with its other names, the place in the list ("the second one"), and names that sound alike."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from voiceagent.values.dictation import Phrase, phrase
from voiceagent.values.kind import ELSEWHERE, UNCLEAR, Frame, HeardValue
from voiceagent.values.languages import dictation
from voiceagent.values.repairs import contrast, opened
from voiceagent.values.spoken import Token, longest, number_table, ordinal_table, questions, starts, tokens_of

NEAR, CLEARLY_NEARER = 0.78, 0.1
"""The least likeness of what was said and a name, and by how much it must be more than that of every other name."""
MOST_WORDS = 12
"""The last words, in which names that were nearly said are looked for."""
LEAST_NEAR = 4
"""The fewest letters of a name that need not be said exactly."""
_SOUNDS = (
    (r"[^a-z]", ""),
    (r"ph", "f"),
    (r"sch|sh|ch", "s"),
    (r"ck|c|q", "k"),
    (r"gh", ""),
    (r"z", "s"),
    (r"y", "i"),
    (r"w", "v"),
    (r"dt|th|d", "t"),
    (r"b", "p"),
    (r"g", "k"),
    (r"v", "f"),
    (r"(.)\1", r"\1"),
    (r"(?<=.)[aeiouh]+", ""),
)


@dataclass(frozen=True, slots=True)
class Choice:
    """One of `options.choices`: a list, or a mapping of each to other words for it."""

    name: str = "choice"

    def hear(self, said: str, so_far: str, frame: Frame) -> HeardValue:
        """The choice that was named."""
        own = dictation(frame.language)
        speech = opened(tokens_of(said), own)
        tokens = speech.tokens
        for at in range(len(tokens) - 1, 0, -1):
            if tokens[at].broken and (end := starts(tokens, at, own.repair)) and _named(tokens[end:], frame):
                tokens = tokens[end:]
                break
        if pair := contrast(tokens, own):
            tokens = pair[0]
        found = _named(tokens, frame)
        if len(found) == 1:
            return HeardValue(found[0], about_it=True)
        if found:
            return UNCLEAR
        if questions(said, frame.language):
            return ELSEWHERE
        placed = _placed(tokens, frame)
        near = placed or _near(tokens, frame)
        return HeardValue(near, about_it=True, doubtful=not placed) if near else HeardValue(about_it=speech.restarts)

    def confirm(self, value: str, frame: Frame) -> str:
        """The choice."""
        return value

    def hint(self, frame: Frame) -> str:
        """All choices."""
        return " ".join(f"{choice}." for choice in choices_of(frame))

    def schema(self) -> dict[str, object]:
        """The choice's name."""
        return {"type": "string"}


def choices_of(frame: Frame) -> dict[str, list[str]]:
    """Each choice and its other names."""
    given = frame.options.get("choices")
    if isinstance(given, dict):
        return {str(name): [str(form) for form in forms] if isinstance(forms, list) else [] for name, forms in given.items()}
    return {str(name): [] for name in given} if isinstance(given, list | tuple) else {}


def _forms(frame: Frame) -> Iterator[tuple[str, Phrase]]:
    for name, others in choices_of(frame).items():
        for form in (name, *others):
            if said := phrase(form.replace("_", " ")):
                yield name, said


def _named(tokens: Sequence[Token], frame: Frame) -> list[str]:
    """The choices whose words stand there, but for those within a longer one's."""
    words = [one.word for one in tokens if one.word]
    found: dict[str, set[int]] = {}
    for name, form in _forms(frame):
        for at in range(len(words) - len(form) + 1):
            if tuple(words[at : at + len(form)]) == form:
                found.setdefault(name, set()).update(range(at, at + len(form)))
    return [name for name, at in found.items() if not any(at < other for other in found.values())]


def _placed(tokens: Sequence[Token], frame: Frame) -> str:
    """ "The second one": the choice at that place; empty if the words name no place."""
    own, names = dictation(frame.language), list(choices_of(frame))
    rest = [one.word for one in tokens if one.word and one.word not in own.beside and one.word not in own.choose]
    if len(rest) > 3:
        return ""
    for at, token in enumerate(tokens):
        if token.bare in own.last and names:
            return names[-1]
        place = longest(tokens, at, ordinal_table(frame.language))
        number = place or ((1, at + 1) if token.bare in own.first else None)
        if number is None and at and tokens[at - 1].word in own.choose:
            value = int(token.word) if token.word.isdecimal() else number_table(frame.language).get((token.word,), 0)
            number = (value, at + 1)
        if number and 1 <= number[0] <= len(names):
            return names[number[0] - 1]
    return ""


def _near(tokens: Sequence[Token], frame: Frame) -> str:
    """The choice that was most likely said, if one is clearly nearer than the others."""
    own = dictation(frame.language)
    words = [one.word for one in tokens if one.word][-MOST_WORDS:]
    shares: dict[str, float] = {}
    for name, form in _forms(frame):
        wanted = "".join(form)
        if len(wanted) < LEAST_NEAR:
            continue
        for size in {len(form), len(form) + 1, max(1, len(form) - 1)}:
            for at in range(len(words) - size + 1):
                part = words[at : at + size]
                if all(word in own.small or word in own.beside for word in part) and len(part) == 1:
                    continue
                shares[name] = max(shares.get(name, 0.0), _likeness(wanted, "".join(part)))
    best = sorted(shares.items(), key=lambda one: -one[1])[:2]
    is_near = bool(best) and best[0][1] >= NEAR and (len(best) == 1 or best[0][1] - best[1][1] >= CLEARLY_NEARER)
    return best[0][0] if is_near else ""


def _likeness(one: str, other: str) -> float:
    letters = SequenceMatcher(None, one, other, autojunk=False).ratio()
    by_sound = _sound(one) == _sound(other) and len(_sound(one)) > 1
    return max(letters, 0.95 if by_sound else 0.0)


def _sound(word: str) -> str:
    """A word as it sounds, roughly: its first letter and its consonants in classes."""
    for pattern, sound in _SOUNDS:
        word = re.sub(pattern, sound, word)
    return word
