"""The words that a call reckons with: the operator's first, then those of its tools and of documents, within a bound; and none
where there are none."""

from __future__ import annotations

from dataclasses import dataclass

from voiceagent.call.vocabulary import MOST_WORDS, recogniser_for
from voiceagent.stt.engine import SttEngine
from voiceagent.stt.vocabulary import Vocabulary, VocabularySettings, VocabularyWord


@dataclass
class Ear:
    """A recogniser that can be told of words."""

    knows: Vocabulary | None = None

    def knowing(self, vocabulary: Vocabulary) -> Ear:
        return Ear(vocabulary)


def tool(*choices: str) -> dict[str, object]:
    properties = {"dish": {"type": "string", "enum": list(choices)}, "count": {"type": "integer"}}
    return {"type": "function", "function": {"name": "order", "parameters": {"type": "object", "properties": properties}}}


def words(*given: object, setting: object = ()) -> tuple[str, ...]:
    schemas, titles = given or ([], ())
    ear = recogniser_for(Ear(), setting, schemas, titles)  # type: ignore[arg-type]
    assert isinstance(ear, Ear)
    return ear.knows.words if ear.knows else ()


def test_a_call_without_words_has_the_recogniser_as_it_is() -> None:
    engine: SttEngine = Ear()  # type: ignore[assignment]
    assert recogniser_for(engine, (), [], ()) is engine


def test_choices_of_tools_and_names_in_titles_join_the_operators_words() -> None:
    joined = words([tool("okonomiyaki", "chashu_ramen", "tea", "B12X")], ("About the Wallbox", "rules"), setting=("Aurora",))
    assert joined == ("Aurora", "okonomiyaki", "chashu ramen", "About", "Wallbox")


def test_nothing_joins_where_it_is_switched_off() -> None:
    setting = VocabularySettings(words=(VocabularyWord("Aurora"),), automatic=False)
    assert words([tool("okonomiyaki")], ("Wallbox",), setting=setting) == ("Aurora",)
    assert words([tool("okonomiyaki")], ("Wallbox",), setting=VocabularySettings(automatic=False)) == ()


def test_words_join_within_a_bound_the_operators_first() -> None:
    many = [f"{letter}armen{other}" for letter in "abcdefghijklmn" for other in "abcdefghijklmn"]
    joined = words([tool(*many)], (), setting=("Aurora", "Nimbus"))
    assert len(joined) == MOST_WORDS
    assert joined[:2] == ("Aurora", "Nimbus")


def test_calls_with_the_same_words_share_a_vocabulary() -> None:
    first, second = (recogniser_for(Ear(), ("Aurora",), [tool("ramen")], ()) for _ in range(2))  # type: ignore[arg-type]
    assert isinstance(first, Ear)
    assert isinstance(second, Ear)
    assert first.knows is second.knows
