"""Which agents the bundled language model was made for, and what the others are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from bench.bundled.lm import demo_tools
from models.train import lm_replies
from voiceagent.context.sources import ContextEntry
from voiceagent.models.fitness import unfit
from voiceagent.models.registry import registry
from voiceagent.resources import demo_agent_file
from voiceagent.settings.agent import AgentConfig, LlmSettings, load_agent
from voiceagent.tools.toolset import ToolSet

ROOT = Path(__file__).resolve().parents[2]
LIMITS = registry().model("micro-lm").limits


def tool(name: str, *arguments: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {argument: {} for argument in arguments}}
    return {"type": "function", "function": {"name": name, "description": "", "parameters": parameters}}


@pytest.mark.parametrize("agent", ["demo", "desk", "slow"])
def test_the_agents_that_it_was_made_for_are_told_nothing(agent: str) -> None:
    loaded = load_agent(ROOT / "examples" / agent / "agent.yaml")
    assert unfit(loaded, ToolSet.from_config(loaded.tools, loaded.base_dir).schemas()) is None


def test_an_agent_with_other_tools_is_told_which_and_the_way_out() -> None:
    found = unfit(AgentConfig(name="Front desk"), [tool("free_rooms", "date"), tool("get_time", "zone"), tool("get_date")])
    assert found is not None
    assert found.problem == (
        "micro-lm was not made for this agent, which has the tools free_rooms, get_time: "
        "it knows only the subjects of the demo agent, and follows no instructions"
    )
    assert registry().model(registry().profile(found.instead).llm.model).limits.tools == {}
    assert f"voiceagent models pull --profile {found.instead}" in found.advice


def test_an_agent_without_tools_or_with_documents_is_told_so() -> None:
    nothing = unfit(AgentConfig(), [])
    assert nothing is not None
    assert nothing.why == "has no tools"
    documents = msgspec.convert([{"folder": "handbook"}], tuple[ContextEntry, ...])
    reading = unfit(AgentConfig(context=documents), demo_tools())
    assert reading is not None
    assert reading.why == "answers from documents"


def test_another_model_is_fit_for_any_agent_and_a_standby_counts() -> None:
    hotel = [tool("free_rooms", "date")]
    assert unfit(AgentConfig(profile="cpu"), hotel) is None
    assert unfit(AgentConfig(llm=LlmSettings(base_url="http://127.0.0.1:9/v1")), hotel) is None
    assert unfit(AgentConfig(profile="cpu", llm=LlmSettings(fallback="embedded")), hotel) is not None


def test_the_registry_says_what_the_training_says() -> None:
    assert {name: set(arguments) for name, arguments in LIMITS.tools.items()} == {
        name: set(parameters) for name, (_, parameters) in lm_replies.TOOLS.items()
    }
    said = {reply for replies in lm_replies.TALK_REPLIES.values() for reply in replies}
    said |= {lm_replies.NOT_UNDERSTOOD, lm_replies.NOTHING_SAID, *lm_replies._QUESTIONS.values()}
    for sentence in (*LIMITS.sentences, *LIMITS.claims):
        said = {reply.replace(sentence, "").strip() for reply in said}
    assert said == {""}
    demo = load_agent(demo_agent_file())
    assert set(ToolSet.from_config(demo.tools, demo.base_dir).names) == set(LIMITS.tools)
