"""The speaker of the first words of a call, by these words: a machine, a person who answers for another one, or a service that
screens calls. A person asks, offers and acts; a machine informs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum

from voiceagent.turn_taking.language import PhoneWords, bare_words

MAX_WORDS = 80
"""Only the last words are searched."""
ALIKE_LETTERS = 6
"""The least length of a word that may differ in one letter. Machines sound poor, so recognisers mishear them."""
QUESTION = "?"


class Speaker(Enum):
    """The party that speaks, by the words so far."""

    UNKNOWN = "unknown"
    PERSON = "person"
    """Somebody who does or offers something: no machine."""
    ASKING = "asking"
    """Somebody who asks, or speaks of another one, as machines seldom do."""
    MACHINE = "machine"
    LIKE_MACHINE = "like a machine"
    """A machine, if the sentence is over: a person may go on with words that reveal them."""
    ABSENT = "absent"
    """Somebody says that they are not there, which a machine does, or a person for another one."""
    SCREENING = "screening"


class GreetingWords:
    """The greeting phrases of the languages that may be spoken."""

    def __init__(self, words: Sequence[PhoneWords]) -> None:
        kinds = ("screens", "acts", "sure", "asks", "machine", "absent")
        self._phrases = GreetingPhrases((phrase, kind) for one in words for kind in kinds for phrase in getattr(one, kind))
        self._another = frozenset(word for one in words for word in one.another)

    def speaker(self, utterances: Iterable[str]) -> Speaker:
        """The party that says these words."""
        text = " ".join(utterances)
        heard = bare_words(text)[-MAX_WORDS:]
        kinds = self._phrases.kinds_in(heard)
        asks = "asks" in kinds or QUESTION in text or not self._another.isdisjoint(heard)
        found = {
            Speaker.SCREENING: "screens" in kinds,
            Speaker.PERSON: "acts" in kinds,
            Speaker.MACHINE: "sure" in kinds,
            Speaker.ASKING: asks,
            Speaker.LIKE_MACHINE: "machine" in kinds,
            Speaker.ABSENT: "absent" in kinds,
        }
        return next((speaker for speaker, is_it in found.items() if is_it), Speaker.UNKNOWN)


class GreetingPhrases:
    """Phrases to look for among words that may be misheard."""

    def __init__(self, phrases: Iterable[tuple[tuple[str, ...], str]]) -> None:
        """Each with its kind."""
        self._by_first: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        self._known: dict[str, set[str]] = {}
        """The phrases' words, by each way in which they may be heard."""
        for phrase, kind in phrases:
            self._by_first.setdefault(phrase[0], []).append((phrase, kind))
            for word in phrase:
                for heard in _without_a_letter(word):
                    self._known.setdefault(heard, set()).add(word)

    def kinds_in(self, heard: Sequence[str]) -> frozenset[str]:
        """The kinds of the phrases that are there."""
        taken_for = [{word for form in _without_a_letter(one) for word in self._known.get(form, ())} for one in heard]
        return frozenset(
            kind
            for start, words in enumerate(taken_for)
            for first in words
            for phrase, kind in self._by_first.get(first, ())
            if len(phrase) <= len(taken_for) - start and all(word in taken_for[start + at] for at, word in enumerate(phrase))
        )


def _without_a_letter(word: str) -> Iterator[str]:
    """The word, and if it is long, without each of its letters: two that differ in one letter share one of these."""
    yield word
    if len(word) >= ALIKE_LETTERS:
        yield from (word[:at] + word[at + 1 :] for at in range(len(word)))
