"""Which language model an agent's settings lead to."""

from __future__ import annotations

import pytest

from voiceagent.engines import SERVER_VARIABLE, load_llm
from voiceagent.errors import ConfigError
from voiceagent.llm.servers.openai import OpenAiEngine
from voiceagent.models.registry import profile
from voiceagent.settings.agent import LlmSettings

HERE = "http://127.0.0.1:8000/v1"
THERE = "http://127.0.0.1:9000/v1"


@pytest.mark.parametrize(
    ("settings", "variable", "address", "model"),
    [
        (LlmSettings(), "", HERE, "Qwen/Qwen3-8B"),
        (LlmSettings(), THERE, THERE, "Qwen/Qwen3-8B"),
        (LlmSettings(model="mine"), "", HERE, "mine"),
        (LlmSettings(model="mine"), THERE, THERE, "mine"),
        (LlmSettings(base_url=THERE), HERE, THERE, ""),
        (LlmSettings(base_url=THERE, model="mine"), HERE, THERE, "mine"),
    ],
)
async def test_a_server_and_its_model_are_those_that_are_named(
    monkeypatch: pytest.MonkeyPatch, settings: LlmSettings, variable: str, address: str, model: str
) -> None:
    monkeypatch.setenv(SERVER_VARIABLE, variable)
    engine = load_llm(profile("gpu").llm, settings, {})
    assert isinstance(engine, OpenAiEngine)
    assert (engine.options.base_urls, engine.options.served_model) == ([address], model)
    await engine.close()


def test_a_model_that_no_server_is_asked_for_is_a_mistake() -> None:
    with pytest.raises(ConfigError, match=r"llm\.model.*llm\.base_url"):
        load_llm(profile("embedded").llm, LlmSettings(model="mine"), {})
