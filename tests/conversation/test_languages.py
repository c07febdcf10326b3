"""The engine in other languages: its words come from the language's file, and follow the caller where the agent speaks any."""

from __future__ import annotations

import pytest

from tests.conversation.world import World
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.rules import Limits, Phrases, Rules, ToolRule
from voiceagent.turn_taking.languages.de import GERMAN
from voiceagent.turn_taking.languages.en import ENGLISH

CONFIRM = {"book": ToolRule("external", (), "Soll ich {people} Plätze buchen?")}


def begun(language: str, **rules: object) -> World:
    world = World(Rules(language=language, **rules))  # type: ignore[arg-type]  # fields of several types
    world.begin()
    return world


def speaking(language: str) -> World:
    world = begun(language)
    world.say("Erzähl mir etwas.")
    world.answer("Das ist ein langer Satz, der lange dauert.")
    world.synthesise_all()
    world.frames(60)
    return world


@pytest.mark.parametrize(("language", "words"), [("de", "Stopp!"), ("de", "Nein."), ("es", "Para."), ("nl", "Wacht even.")])
def test_a_command_of_the_language_stops_the_agent_before_the_caller_is_silent(language: str, words: str) -> None:
    world = speaking(language)
    world.speech()
    world.partial(words)
    assert world.drops


@pytest.mark.parametrize(("language", "stops"), [("en", False), ("pl", True)])
def test_in_a_language_without_a_file_any_word_does_once_the_caller_is_silent(language: str, stops: bool) -> None:
    world = speaking(language)
    world.speech()
    world.pause_with("Yeah.")
    assert bool(world.drops) == stops


@pytest.mark.parametrize(("words", "runs"), [("Ja.", True), ("Ja, bitte.", True), ("Nein, danke.", False), ("Yes.", False)])
def test_a_yes_of_the_language_confirms(words: str, runs: bool) -> None:
    world = begun("de", tools=CONFIRM)
    world.say("Einen Tisch für vier, bitte.")
    world.call_tool("book", '{"people": 4}')
    world.generated()
    world.play_all()
    world.say(words)
    assert bool(world.tools) == runs


def test_what_the_agent_says_by_itself_is_in_its_language_unless_its_rules_say_otherwise() -> None:
    world = begun("de", limits=Limits(silence_timeout_ms=1000))
    world.fire("silence")
    world.play_all()
    assert world.assistant_texts() == ["Sind Sie noch da?"]
    world = begun("de", limits=Limits(silence_timeout_ms=1000), phrases=Phrases(check_in="Noch da?"))
    world.fire("silence")
    world.play_all()
    assert world.assistant_texts() == ["Noch da?"]


@pytest.mark.parametrize(
    ("own", "told"),
    [({}, GERMAN.prompts.tool_not_confirmed), ({"tool_not_confirmed": '{"status": "wait"}'}, '{"status": "wait"}')],
)
def test_what_the_model_is_told_beside_is_in_the_language_of_the_call_unless_the_rules_say_otherwise(
    own: dict[str, str], told: str
) -> None:
    world = begun("de", tools=CONFIRM, prompts=own)
    world.say("Einen Tisch für zwei, bitte.")
    world.call_tool("book", '{"people": 2}')
    world.generated()
    world.play_all()
    assert [message.content for message in world.state.memory.history if message.role == "tool"] == [told]


def said_in(world: World, language: str, text: str) -> None:
    world.speech()
    world.endpoint()
    world.finals.clear()
    world.feed(ev.FinalTranscript(world.now_ms, world.utterance, text, language=language))
    world.answer("Gut.")
    world.play_all()


def changes(world: World) -> list[str]:
    return [action.language for action in world.actions if isinstance(action, act.LanguageChanged)]


def test_an_agent_of_any_language_follows_the_caller_after_two_turns() -> None:
    world = begun("auto", limits=Limits(silence_timeout_ms=1000))
    said_in(world, "de", "Ich brauche bitte Hilfe.")
    assert not changes(world)
    said_in(world, "de", "Mein Internet geht nicht.")
    assert changes(world) == ["de"]
    world.fire("silence")
    world.play_all()
    assert world.assistant_texts()[-1] == "Sind Sie noch da?"


def test_a_result_that_comes_after_the_language_changed_is_told() -> None:
    world = begun("auto", tools={"book": ToolRule("external")})
    world.say("Book a table and tell me about it.")
    world.call_tool("book", '{"people": 2}')
    world.fire("filler")
    world.synthesise_all()
    world.frames(3)
    world.say("No, wait.")
    world.settle()
    world.answer("All right.")
    world.play_all()
    assert ENGLISH.prompts.tool_running in [message.content for message in world.state.memory.history]
    for words in ("Ich brauche bitte Hilfe.", "Mein Internet geht nicht."):
        said_in(world, "de", words)
    assert changes(world) == ["de"]
    world.finish_tool('{"booked": true}')
    assert world.generations[-1].messages[-1].content == '{"booked": true}'
    world.answer("Der Tisch ist reserviert.")
    world.play_all()
    told = [message.content for message in world.state.memory.history if message.role == "tool"]
    assert told == [ENGLISH.prompts.tool_running, '{"booked": true}']


def test_an_agent_of_one_language_stays_with_it() -> None:
    world = begun("en")
    for _ in range(3):
        said_in(world, "de", "Ich brauche bitte Hilfe.")
    assert not changes(world)
