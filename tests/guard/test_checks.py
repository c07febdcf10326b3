"""Rules and plugins together: lines, deadlines and failures. The plugins here are made to be slow or broken on purpose."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from voiceagent import plugins
from voiceagent.errors import ConfigError
from voiceagent.guard.checks import Checks, admit, load_guard
from voiceagent.guard.settings import GuardRules, PluginSettings
from voiceagent.guard.verdict import ALLOWED, Verdict
from voiceagent.settings.agent import load_agent


class Plugin:
    """Does what its options say."""

    def __init__(self, does: str) -> None:
        self.does = does
        self.seen: list[str] = []

    async def check_output(self, said: str, window: str, *, last: bool) -> Verdict:
        return await self.check_input(said + window)

    async def check_input(self, text: str) -> Verdict:
        self.seen.append(text)
        if self.does == "hangs":
            await asyncio.Event().wait()
        if self.does == "breaks":
            raise OSError("gone")
        return Verdict("mine", "Mine.") if self.does == "blocks" else ALLOWED


def create(options: Mapping[str, Any], base_dir: str) -> Plugin:
    return Plugin(options["does"])


@pytest.fixture
def _plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("mine", f"{__name__}:create", "voiceagent.guard")
    monkeypatch.setattr(plugins, "entry_points", lambda group: [entry] if group == "voiceagent.guard" else [])


def checks(does: str = "", **settings: Any) -> Checks:
    chosen = (PluginSettings("mine", {"does": does}, deadline_ms=20, if_late=settings.pop("if_late", "block")),) if does else ()
    return Checks(GuardRules(**settings, plugins=chosen), "Default.", ".")


async def test_the_line_is_the_rules_own_then_the_directions_then_the_default() -> None:
    blocking = partial(checks, phrases=("damn",), topics={"bets": "casino"})
    assert (await blocking().input("damn")).line == "Default."
    assert (await blocking(line="Ours.").input("damn")).line == "Ours."
    assert (await blocking(line="Ours.", lines={"bets": "No bets."}).input("the casino")).line == "No bets."


@pytest.mark.usefixtures("_plugin")
async def test_a_plugin_may_block_what_the_rules_allow() -> None:
    verdict = await checks("blocks").output("", "Fine. ", last=False)
    assert (verdict.rule, verdict.line) == ("mine", "Mine.")
    assert not (await checks("allows").output("", "Fine. ", last=False)).blocked


@pytest.mark.usefixtures("_plugin")
@pytest.mark.parametrize("does", ["hangs", "breaks"])
async def test_a_plugin_that_does_not_answer_counts_as_its_settings_say(does: str) -> None:
    blocked = await checks(does).input("Hello.")
    assert (blocked.rule, blocked.line) == ("mine: no answer", "Default.")
    assert not (await checks(does, if_late="allow").input("Hello.")).blocked


async def test_what_is_withheld_leaves_a_note_and_no_word() -> None:
    admitted = await admit(checks(phrases=("damn",)), "Damn it.")
    assert admitted.text == "(withheld: phrases)."
    assert admitted.verdict.line == "Default."
    passed = await admit(checks(phrases=("damn",)), "Hello.")
    assert (passed.text, passed.verdict.blocked) == ("Hello.", False)


async def test_of_an_open_utterance_only_what_no_rule_may_need_is_read_ahead() -> None:
    guarded = checks(phrases=("damn",), cards=True)
    assert await guarded.partial_input("What is", "the time") == ("What is", "the time")
    assert await guarded.partial_input("My card is 4111 1111", "one") == ("My card is", "4111 1111 one")
    assert await guarded.partial_input("Well dam", "") == ("Well", "dam")
    assert await guarded.partial_input("My card is", "4111 1111 1111 1111") == ("", "(withheld: cards).")
    assert await checks().partial_input("My card is 4111 1111", "one") == ("My card is 4111 1111", "one")


def test_a_plugin_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigError, match="there is no guard 'nobody'; expected one of http, nemo"):
        load_guard("nobody", {}, ".")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("guard: {output: {topics: {a: '('}}}", "topic a: '\\(' is no regular expression"),
        ("guard: {output: {phrases: ['!']}}", "the phrase '!' holds no letter or digit"),
        ("guard: {input: {region: usa}}", "region is 'usa'"),
        ("guard: {output: {phone: true}}", "phone"),
        ("guard: {window_tokens: 0}", "window_tokens"),
    ],
)
def test_a_mistake_in_the_settings_is_one_line(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=told):
        load_agent(file)


def test_secrets_and_cards_are_checked_unless_they_are_switched_off(tmp_path: Path) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text("guard: {output: {secrets: false}}")
    output = load_agent(file).guard.output
    assert not output.secrets
    assert output.cards
