"""Which of an agent's languages an utterance is taken for, by the probabilities of all that the model knows."""

from __future__ import annotations

import pytest

from voiceagent.stt.decoder import heard_language


@pytest.mark.parametrize(
    ("chances", "likely", "heard"),
    [
        ({"th": 0.94, "de": 0.02, "en": 0.01}, "", "de"),  # none of them: the best at the beginning …
        ({"th": 0.94, "de": 0.02, "en": 0.01}, "en", "en"),  # … and the call's later
        ({"th": 0.50, "de": 0.45, "en": 0.05}, "en", "de"),
        ({"de": 0.50, "en": 0.45}, "en", "en"),
        ({"de": 0.50, "en": 0.45}, "de", "de"),
        ({"en": 0.97, "de": 0.02}, "de", "en"),
        ({"de": 0.50, "en": 0.45}, "fr", "de"),  # the call's language is none of the agent's
        ({}, "", "de"),
    ],
)
def test_an_utterance_is_taken_for_one_of_the_agents_languages(chances: dict[str, float], likely: str, heard: str) -> None:
    assert heard_language(chances, ("de", "en"), likely) == heard
