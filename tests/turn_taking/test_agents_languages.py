"""The languages among which `language: auto` chooses, and what is refused of a list of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from voiceagent.errors import ConfigError
from voiceagent.settings.agent import AgentConfig, load_agent
from voiceagent.turn_taking.languages import LANGUAGES
from voiceagent.turn_taking.spoken_language import AUTO, agents_languages, nearest_code


def test_an_agent_speaks_the_languages_it_names_or_english_and_those_of_its_voices_or_all() -> None:
    assert agents_languages(("de", "pl"), {"de": "x"}) == ("de", "pl")
    assert agents_languages((), {"de": "x", "es": "y"}) == ("en", "de", "es")
    assert agents_languages((), {"de": "x", "en": "y"}) == ("en", "de")
    assert agents_languages((), {}) == tuple(LANGUAGES)


def test_an_agent_of_one_language_has_that_one() -> None:
    assert AgentConfig(language="pl", voices={"de": "x"}).spoken_languages == ("pl",)
    assert AgentConfig(language=AUTO, languages=("it", "en")).spoken_languages == ("it", "en")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("language: auto\nlanguages: [German, en]", "languages holds 'German', expected codes such as de; did you mean de?"),
        ("language: auto\nlanguages: [de-DE]", "languages holds 'de-DE', expected codes such as de; did you mean de?"),
        ("language: auto\nlanguages: [klingon]", "languages holds 'klingon', expected codes such as de"),
        ("language: auto\nlanguages: ['']", "languages holds '', expected codes such as de"),
        ("language: auto\nlanguages: [de, en, de]", "languages is de, en, de; expected each code once"),
        ("language: de\nlanguages: [de, en]", "languages is for `language: auto`, and language is de"),
        ("languages: [de, en]", "languages is for `language: auto`, and language is en"),
        ("language: auto\nlanguages: [de, en]\nvoices: {fr: v.onnx}", "voices has fr, which languages lacks"),
        ("language: auto\nlanguages: de", "Expected `array`, got `str`"),
        ("language: auto\nlanguages: [no]", "Expected `str`, got `bool`"),
    ],
)
def test_a_list_that_cannot_be_meant_is_refused_in_one_line(settings: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "agent.yaml").write_text(settings + "\n")
    with pytest.raises(ConfigError) as refused:
        load_agent(tmp_path / "agent.yaml")
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_nearest_code_is_that_of_a_name_of_a_country_or_of_a_slip() -> None:
    known = ("en", "de", "es", "yue")
    assert nearest_code("Spanish", known) == "; did you mean es?"
    assert nearest_code("en_GB", known) == "; did you mean en?"
    assert nearest_code("yu", known) == "; did you mean yue?"
    assert nearest_code("French", known) == nearest_code("qq", known) == ""
