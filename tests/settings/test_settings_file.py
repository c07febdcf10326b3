"""Mistakes in files of settings: each is one line that names the file, the line, the setting and what was probably meant."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from voiceagent.errors import ConfigError
from voiceagent.latency.budgets import load_budgets
from voiceagent.models.registry import registry, with_own
from voiceagent.settings.agent import load_agent
from voiceagent.settings_file import did_you_mean
from voiceagent.stt.vocabulary import VocabularySettings, words_of
from voiceagent.turn_taking.languages import LANGUAGES


def refusal(folder: Path, text: str | bytes) -> str:
    """The one line that an agent's file of this text is refused with, after the file's name."""
    file = folder / "agent.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError) as refused:
        load_agent(file)
    assert "\n" not in str(refused.value)
    return str(refused.value).removeprefix(f"{file}:")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "name: A\nturn:\n  silence_timout_s: 4\n",
            "3: turn contains unknown field `silence_timout_s`; did you mean silence_timeout_s?",
        ),
        (
            "name: A\nsilence_timeout_s: 4\n",
            "2: contains unknown field `silence_timeout_s`; did you mean turn.silence_timeout_s?",
        ),
        ("name: A\n\ncolour: red\n", "3: contains unknown field `colour`; see docs/agent.md"),
        ("telephony:\n  sip:\n    acount: sip:a@b\n", "3: telephony.sip contains unknown field `acount`; did you mean account?"),
        ("tools:\n - {mcp: {command: [x]}}\n - mcp:\n    comand: [x]\n", "4: tools[1].mcp contains unknown field `comand`"),
        ("turn:\n  judges:\n  - {engin: x}\n", "3: turn.judges[0] contains unknown field `engin`; did you mean engine?"),
        ("llm:\n  api_key: sk-not-to-be-shown\n", "2: llm contains unknown field `api_key`; did you mean api_key_env?"),
        ("1: a\n", "1: contains unknown field `1`"),
        ("base_dir: /tmp\n", "1: base_dir is no setting"),
    ],
)
def test_an_unknown_key_names_its_line_and_what_was_meant(tmp_path: Path, text: str, said: str) -> None:
    assert refusal(tmp_path, text).startswith(said)
    assert "not-to-be-shown" not in refusal(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name: A\nlanguage: de\nname: B\n", "3: 'name' stands here twice (first in line 1); keep one"),
        ("turn:\n  max_call_s: 1\n  overlap: duck\n  max_call_s: 2\n", "4: 'max_call_s' stands here twice (first in line 2)"),
        ("tools:\n- mcp: {command: [x]}\n  mcp: {command: [y]}\n", "3: 'mcp' stands here twice (first in line 2)"),
        ("voices: {de: a, de: b}\n", "1: 'de' stands here twice (first in line 1)"),
    ],
)
def test_a_key_that_stands_twice_is_refused_with_both_lines(tmp_path: Path, text: str, said: str) -> None:
    assert refusal(tmp_path, text).startswith(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("turn:\n  max_call_s: soon\n", "2: turn.max_call_s is 'soon': Expected `float`"),
        ("\nllm: {max_tokens: 99999}\n", "2: llm.max_tokens is 99999: Expected `int` <= 4096"),
        (
            "turn:\n  overlap: egaer\n",
            "2: turn.overlap is 'egaer': Invalid enum value 'egaer', expected one of eager, duck, wait",
        ),
        (
            "name: A\nturn:\n  min_endpointing_delay_ms: 900\n  max_endpointing_delay_ms: 800\n",
            "3: turn: min_endpointing_delay_ms is",
        ),
        ("name: A\ntelephony:\n  sip:\n    display_name: x\n", "3: telephony.sip: Object missing required field `account`"),
        ("turn:\n", "1: turn is empty: Expected `object`"),
        ("llm: sk-not-to-be-shown\n", "1: llm: Expected `object`, got `str`"),
        ("name: A\nname_of: [\n", "3: "),
        ("name: 2024-13-45\n", "1: '2024-13-45' cannot be read (month must be in 1..12); put it in quotes"),
        ("name: A\nvoices: &v [*v]\n", "2: an alias stands inside of what it names"),
        (b"name: A\nlanguage: \xff\n", "2: is not UTF-8 text"),
        ("name: A\nphrases: {greeting: \x07}\n", "2: holds a character that YAML does not allow"),
        ("", " holds nothing, expected a mapping of settings"),
        ("- a\n", " holds a list, expected a mapping of settings"),
    ],
)
def test_a_value_that_cannot_be_used_names_its_line(tmp_path: Path, text: str | bytes, said: str) -> None:
    assert refusal(tmp_path, text).startswith(said)
    assert "not-to-be-shown" not in refusal(tmp_path, text)


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_languages_name_in_english_or_its_own_suggests_its_code(tmp_path: Path, code: str) -> None:
    one = LANGUAGES[code]
    for name in (one.name, one.name.lower(), *one.also_called.split(), f"{code}-XX", f"{code}_xx", code.upper()):
        said = refusal(tmp_path, f"name: A\nlanguage: {name}\n")
        assert said.startswith(f"2: language is '{name}', expected a code"), said
        assert f"did you mean {code}?" in said
        assert f"did you mean {code}?" in refusal(tmp_path, f"language: auto\nlanguages: [{name}]\n")
        assert f"did you mean {code}?" in refusal(tmp_path, f"voices:\n  {name}: voice.onnx\n")


@pytest.mark.parametrize(
    ("slip", "code"), [("germn", "de"), ("francais", "fr"), ("espanol", "es"), ("Portugues", "pt"), ("nederlans", "nl")]
)
def test_a_slip_in_a_languages_name_suggests_its_code(tmp_path: Path, slip: str, code: str) -> None:
    assert f"did you mean {code}?" in refusal(tmp_path, f"language: {slip}\n")


def test_a_code_that_yaml_takes_for_something_else_is_to_be_quoted(tmp_path: Path) -> None:
    assert 'put it in quotes: "no"' in refusal(tmp_path, "language: no\n")
    (tmp_path / "agent.yaml").write_text('language: "no"\n')
    assert load_agent(tmp_path / "agent.yaml").language == "no"


def test_merged_mappings_are_no_duplicates(tmp_path: Path) -> None:
    (tmp_path / "agent.yaml").write_text("tools:\n- &one {webhook: {name: a, description: b, url: 'http://h/'}}\n- {<<: *one}\n")
    assert len(load_agent(tmp_path / "agent.yaml").tools) == 2


def test_mistakes_in_profiles_and_budgets_name_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "models.yaml"
    spec = "{engine: piper, model: micro-voice}"
    file.write_text(f"profiles:\n  mine:\n    description: x\n    stt: {spec}\n    llm: {spec}\n    tts:\n      engin: piper\n")
    with pytest.raises(ConfigError, match=r"models\.yaml:7: profiles\.mine\.tts contains unknown field `engin`"):
        with_own(registry(), file)
    file.write_text("profiles: {}\nmodels: {}\nprofiles: {}\n")
    with pytest.raises(ConfigError, match=r"models\.yaml:3: 'profiles' stands here twice \(first in line 1\)"):
        with_own(registry(), file)
    file.write_text("mine:\n  extends: cpu\n  thinkin: {p50: 1 ms, p95: 2 ms, p99: 3 ms}\n  voice_to_voic: {}\n")
    with pytest.raises(ConfigError, match=r"models\.yaml:4: .*did you mean voice_to_voice\?|models\.yaml:3: .*thinkin"):
        load_budgets(file)


def test_nothing_is_suggested_for_what_is_like_nothing() -> None:
    assert did_you_mean("sing", ["serve", "call"]) == ""
    assert did_you_mean("EMBEDED", ["embedded", "cpu"]) == "; did you mean embedded?"


def test_a_log_that_replays_cannot_be_redacted(tmp_path: Path) -> None:
    said = refusal(tmp_path, "records: {keep: event_logs, redact: [phone]}")
    assert "redact cannot hold for keep: event_logs" in said
    assert "keep transcripts" in said
    assert "expected one of phone, email, card, name" in refusal(tmp_path, "records: {redact: [address]}")


def test_the_vocabularies_of_its_page_are_settings(tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "vocabulary.md").read_text(encoding="utf-8")
    short, long = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    file = tmp_path / "agent.yaml"
    file.write_text(short, encoding="utf-8")
    assert [word.is_ipa for word in words_of(load_agent(file).vocabulary)] == [False, False, True, False]
    file.write_text(long, encoding="utf-8")
    assert load_agent(file).vocabulary == VocabularySettings(("Loughborough Lane", "Xarelto"), automatic=False)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name: A\nvocabulary:\n  - Aurora\n  - '?'\n", "1: vocabulary: '?' holds no letter or digit; expected a word"),
        ("vocabulary:\n  - {word: Aurora, herd: [x]}\n", "2: vocabulary[0] contains unknown field `herd`"),
        ("vocabulary: 3\n", "1: vocabulary is 3: Expected `object | array`"),
    ],
)
def test_a_word_that_is_none_names_its_line(tmp_path: Path, text: str, said: str) -> None:
    assert refusal(tmp_path, text).startswith(said)
