"""The example agent that shows guardrails and prescribed speech."""

from __future__ import annotations

from voiceagent.guard.checks import load_guards
from voiceagent.resources import demo_agent_file
from voiceagent.settings.agent import load_agent
from voiceagent.text_normalization.reading import Reading


async def test_the_example_blocks_and_reads_what_it_says_it_does() -> None:
    agent = load_agent(demo_agent_file().parent.parent / "desk" / "agent.yaml")
    guards = load_guards(agent.guard, agent.base_dir)
    assert (await guards.input.input("My card is 4111 1111 1111 1111")).line == "Please don't tell me card numbers."
    assert (await guards.output.output("", "It is stormy.", last=True)).line == "I'd rather not spoil your day."
    assert "Paris" not in Reading(lexicon=agent.speech.lexicon).spoken("It is sunny in Paris.").said
