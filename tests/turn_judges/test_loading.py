"""Which judges a profile's engines have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from tests.turn_judges.test_smart_turn import small_model
from voiceagent import plugins
from voiceagent.conversation.history import Message
from voiceagent.engines import load_judges
from voiceagent.errors import ConfigError
from voiceagent.llm.engine import ToolSchema
from voiceagent.models.registry import EngineSpec, registry
from voiceagent.turn_judges.judge import JudgedPause
from voiceagent.turn_judges.meaning import Meaning, without_closing_marks


class Asked:
    """A language model that keeps what it was asked."""

    def __init__(self) -> None:
        self.questions: list[tuple[Sequence[Message], Sequence[ToolSchema]]] = []

    async def ending_chance(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> float | None:
        self.questions.append((messages, tools))
        return 0.25


class MyJudge:
    """Of a plugin."""

    name = "mine"
    needs_words = False
    problems: ClassVar[dict[str, int]] = {}

    async def judge(self, pause: JudgedPause) -> float | None:
        return 0.5

    async def close(self) -> None:
        return None


def create(path: Path | None, options: Mapping[str, Any]) -> MyJudge:
    return MyJudge()


def test_an_optional_judge_is_left_out_where_its_model_is_not_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOICEAGENT_MODELS", str(tmp_path))
    assert load_judges(registry().profile("embedded").turn) == ()


def test_judges_are_loaded_in_order(tmp_path: Path) -> None:
    mine = EngineSpec("smart-turn", path=str(small_model(tmp_path / "model.onnx")))
    ear, meaning = load_judges([mine, EngineSpec("meaning")])
    assert [(ear.name, ear.needs_words), (meaning.name, meaning.needs_words)] == [("ear", False), ("meaning", True)]


def test_two_of_one_name_cannot_be_told_apart() -> None:
    with pytest.raises(ConfigError, match="two judges are called 'meaning'"):
        load_judges([EngineSpec("meaning"), EngineSpec("meaning")])


def test_an_engine_that_there_is_not_is_told_with_those_there_are() -> None:
    with pytest.raises(ConfigError, match="there is no turn engine 'mine'; expected one of smart-turn, meaning"):
        load_judges([EngineSpec("mine")])


def test_a_plugin_adds_a_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = EntryPoint("mine", f"{__name__}:create", "voiceagent.turn")
    monkeypatch.setattr(plugins, "entry_points", lambda group: [mine] if group == "voiceagent.turn" else [])
    (judge,) = load_judges([EngineSpec("mine")])
    assert isinstance(judge, MyJudge)


def test_a_plugin_that_cannot_be_loaded_says_so_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = EntryPoint("mine", f"{__name__}:nothing_of_that_name", "voiceagent.turn")
    monkeypatch.setattr(plugins, "entry_points", lambda group: [broken])
    with pytest.raises(ConfigError, match=r"the turn engine 'mine' cannot be loaded: .*nothing_of_that_name.*; install it anew"):
        load_judges([EngineSpec("mine")])


def test_the_judge_by_meaning_takes_no_model_and_no_options() -> None:
    with pytest.raises(ConfigError, match="takes no model and no options"):
        load_judges([EngineSpec("meaning", options={"threads": 2})])


async def test_the_language_model_is_asked_about_the_words_without_the_recognisers_marks() -> None:
    model: Any = Asked()
    tools = [{"type": "function", "function": {"name": "f"}}]
    messages = (Message("system", "Be brief."), Message("user", "My number is 555..."))
    pause = JudgedPause(np.zeros(0, np.int16), "My number is 555...", messages, tools, model)
    assert await Meaning().judge(pause) == 0.25
    assert model.questions == [((messages[0], Message("user", "My number is 555")), tools)]


@pytest.mark.parametrize("messages", [(), (Message("user", ""),), (Message("user", " ..."),)])
async def test_without_words_it_cannot_tell(messages: tuple[Message, ...]) -> None:
    model: Any = Asked()
    assert await Meaning().judge(JudgedPause(np.zeros(0, np.int16), "", messages, (), model)) is None
    assert model.questions == []


@pytest.mark.parametrize(
    ("heard", "words"),
    [
        ("Yes.", "Yes"),
        ("I, um, –", "I, um"),
        ("好的。", "好的"),
        ("¿Qué hora es?", "¿Qué hora es"),
        ("نعم؟ ", "نعم"),
        ("ठीक है।", "ठीक है"),
        ("50%", "50%"),
        ("Call Bob's", "Call Bob's"),
    ],
)
def test_closing_marks_of_any_script_are_taken_off(heard: str, words: str) -> None:
    assert without_closing_marks(heard) == words
