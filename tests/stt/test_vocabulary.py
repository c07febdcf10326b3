"""The words of a house: which are known by their spelling, which sound like a part of a text, and where that part is."""

from __future__ import annotations

import msgspec
import pytest

from voiceagent.stt.hypothesis import RecognisedWord
from voiceagent.stt.vocabulary import (
    MOST_TRIED,
    MOST_WORDS,
    Vocabulary,
    VocabularySettings,
    VocabularyWord,
    Words,
    WordTrial,
    distance,
    nearest,
    sounds,
    with_trials,
    words_of,
)

HOUSE = Vocabulary(
    [
        VocabularyWord("Loughborough Lane"),
        VocabularyWord("Nguyen", say="wˈɪn", heard=("new yen", "ngu win")),
        VocabularyWord("Emdogain"),
    ]
)


def heard(text: str) -> list[RecognisedWord]:
    return [RecognisedWord(word, at / 2, at / 2 + 0.4, 0.9) for at, word in enumerate(text.split())]


def text_of(words: list[RecognisedWord]) -> str:
    return " ".join(word.text for word in words)


def test_letters_that_are_mixed_up_are_one_class() -> None:
    assert sounds("Schiller") == sounds("ciler") == "SALAR"
    assert sounds("Échéverría") == sounds("Echeverria")
    assert distance(sounds("Gazelle"), sounds("gasel")) < distance(sounds("Gazelle"), sounds("weasel"))


def test_a_misheard_text_of_a_word_is_replaced_wherever_it_stands_alone() -> None:
    words = HOUSE.spelled(heard("Doctor new yen, please, not newyenish."))
    assert text_of(words) == "Doctor Nguyen, please, not newyenish."
    assert (words[1].start_s, words[1].end_s) == (0.5, 1.4)


def test_a_word_is_written_as_the_house_does() -> None:
    assert text_of(HOUSE.spelled(heard("the EMDOGAIN?"))) == "the Emdogain?"


def test_what_sounds_like_a_word_is_found_where_it_stands() -> None:
    (trial,) = HOUSE.trials(heard("I live on lag borough lane, number 12."))
    assert trial == WordTrial("Loughborough Lane", 3, 6)
    assert text_of(trial.on(heard("I live on lag borough lane, number 12."))) == "I live on Loughborough Lane, number 12."


def test_a_word_is_found_by_its_pronunciation() -> None:
    assert [trial.word for trial in HOUSE.trials(heard("ask for win"))] == ["Nguyen"]


def test_a_word_that_is_heard_already_and_ordinary_words_are_not_tried() -> None:
    assert HOUSE.trials(heard("How much is Emdogain?")) == []
    assert HOUSE.trials(heard("Could I have a table for two, please?")) == []
    assert HOUSE.trials([]) == []
    assert Vocabulary([]).trials(heard("anything")) == []


def test_few_words_are_tried_and_one_in_each_place() -> None:
    alike = Vocabulary([VocabularyWord(f"{letter}armen") for letter in "BFGKLPRSW"])
    trials = alike.trials(heard("I saw karmon there"))
    assert 1 < len(trials) <= MOST_TRIED
    assert text_of(with_trials(heard("I saw karmon there"), trials)).count("armen") == 1


@pytest.mark.parametrize(("word", "found"), [("Shevchenka", "Shevchenko"), ("Doboy", "Dubois"), ("umbrella", None), ("", None)])
def test_the_nearest_word_is_the_one_that_is_meant(word: str, found: str | None) -> None:
    assert nearest(word, ["Shevchenko", "Dubois", "Iyengar"]) == found


def test_letters_of_other_scripts_are_compared_as_they_are() -> None:
    assert [trial.word for trial in Vocabulary([VocabularyWord("Щербаков")]).trials(heard("это Щербако"))] == ["Щербаков"]


def test_a_vocabulary_has_two_forms() -> None:
    listed = msgspec.convert(["Aurora", {"word": "Xarelto", "heard": ["our elto"]}], Words | VocabularySettings)
    longer = msgspec.convert({"automatic": False, "words": ["Aurora"]}, Words | VocabularySettings)
    assert [word.word for word in words_of(listed)] == ["Aurora", "Xarelto"]
    assert [word.word for word in words_of(longer)] == ["Aurora"]


@pytest.mark.parametrize(
    "wrong", [[{"word": "Aurora", "heard": [" "]}], [""], ["x"] * (MOST_WORDS + 1), [{"say": "x"}], ["x" * 61]]
)
def test_what_is_no_vocabulary_is_refused(wrong: object) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(wrong, Words | VocabularySettings)
