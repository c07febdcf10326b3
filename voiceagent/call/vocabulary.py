"""The words of the house that one call reckons with: those that the operator named, the choices of the tools that the call has at
the moment, and the words of documents' titles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from voiceagent.json_types import JsonObject
from voiceagent.stt.engine import KnowsVocabulary, SttEngine
from voiceagent.stt.vocabulary import MOST_CHARACTERS, Vocabulary, VocabularySettings, VocabularyWord, Words, plain, words_of
from voiceagent.tools.schemas import shapes

MOST_WORDS = 100
"""The most words, the operator's among them, up to which others join. A hundred that joined by themselves add 2.5 ms to a decode,
56 of the operator's own 3.4 ms (bench/results/vocabulary.md)."""
LEAST_LETTERS = 4


def recogniser_for(
    engine: SttEngine, setting: Words | VocabularySettings, schemas: Iterable[JsonObject], titles: Sequence[str]
) -> SttEngine:
    """The recogniser, with the words of the house if there are any and it can be told of them. `schemas` are those of the call's
    tools."""
    if not isinstance(engine, KnowsVocabulary):
        return engine
    words = words_of(setting)
    joins = setting.automatic if isinstance(setting, VocabularySettings) else True
    known = {plain(each.word) for each in words}
    others = (word for word in (*_choices(schemas), *_title_words(titles)) if plain(word) not in known) if joins else ()
    automatic = tuple(dict.fromkeys(others))[: max(0, MOST_WORDS - len(words))]
    return engine.knowing(_vocabulary(words, automatic)) if words or automatic else engine


@lru_cache(maxsize=64)
def _vocabulary(words: tuple[VocabularyWord, ...], automatic: tuple[str, ...]) -> Vocabulary:
    """Made once for all calls that have the same words: windows of such calls may share a decode."""
    return Vocabulary(words, automatic)


def _choices(schemas: Iterable[JsonObject]) -> Iterator[str]:
    for schema in schemas:
        function = schema.get("function")
        parameters = function.get("parameters") if isinstance(function, Mapping) else None
        for shape in shapes(parameters) if isinstance(parameters, Mapping) else ():
            yield from (word for word in (choice.replace("_", " ") for choice in shape.choices) if _is_telling(word))


def _title_words(titles: Sequence[str]) -> Iterator[str]:
    """The words that are written with a capital letter, as names are."""
    return (word for title in titles for word in title.split() if word[0].isupper() and _is_telling(word))


def _is_telling(word: str) -> bool:
    return (
        len(plain(word)) >= LEAST_LETTERS and not any(character.isdigit() for character in word) and len(word) <= MOST_CHARACTERS
    )
