"""Who asks for a person is understood in seven languages, and who only speaks of one is not taken to."""

from __future__ import annotations

import pytest

from tests.turn_taking.person_requests import ASKS, DOES_NOT
from voiceagent.turn_taking.languages import LANGUAGES
from voiceagent.turn_taking.person_request import MAX_WORDS, PersonRequests


@pytest.mark.parametrize("code", sorted(LANGUAGES))
def test_a_request_for_a_person_is_told_from_talk_about_one(code: str) -> None:
    requests = PersonRequests([LANGUAGES[code].phone.person])
    missed = [said for said in ASKS[code].splitlines() if not requests.made_in(said)]
    assert not missed, "they ask for a person"
    mistaken = [said for said in DOES_NOT[code].splitlines() if requests.made_in(said)]
    assert not mistaken, "they do not ask for a person"


@pytest.mark.parametrize("code", sorted(LANGUAGES))
def test_the_requests_of_another_language_and_of_none_are_no_requests(code: str) -> None:
    others = [said for other in LANGUAGES if other != code for said in DOES_NOT[other].splitlines()]
    requests = PersonRequests([LANGUAGES[code].phone.person])
    assert not [said for said in others if requests.made_in(said)]
    assert not PersonRequests([]).made_in("Operator.")
    assert not requests.made_in("")


def test_a_request_counts_wherever_it_stands_in_a_long_turn() -> None:
    requests = PersonRequests(language.phone.person for language in LANGUAGES.values())
    assert requests.made_in(" ".join(["and then it broke"] * MAX_WORDS) + " so I want to speak to a human please")
    assert requests.made_in("so I want to speak to a human please" + " because it broke" * 5)
