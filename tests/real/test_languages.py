"""Whole calls in German and Spanish: a multilingual Whisper hears espeak-ng; the agent takes turns, is interrupted and has a tool
confirmed in the caller's language. The bundled language model knows English alone, so what calls tools is typed."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from numpy.typing import NDArray

from models.train.espeak import Espeak
from tests import speech
from tests.kept_calls import latest_log
from tests.real.models import published
from tests.server_process import ServerProcess, running_server
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.conversation import actions as act
from voiceagent.stt.whisper import WhisperEngine, WhisperOptions
from voiceagent.turn_taking.language import bare_words

TOOL = '''
from voiceagent.tools import tool

@tool(effect="external", confirm="CONFIRM")
def book_table(people: int, day: str, time: str, name: str = "") -> dict:
    """Book a table."""
    return {"status": "booked"}
'''
WORDS_A_MINUTE = 150
UNDERSTOOD = 0.6
"""Of the words of a turn: Whisper base mishears many of espeak-ng's in these languages."""
SLOW = 2.0
"""The agent speaks slowly, so that a reply is not over before a busy machine has understood the word that stops it."""
BOOKING = "Book a table for four on Friday at 7 PM."


@dataclass(frozen=True)
class Spoken:
    """What is said in a language. Whisper base understands 60 of 60 copies of each turn, each with another beginning, level and
    noise, and 40 of 40 of the German yes and stop. It misses some of many other sentences of espeak-ng's."""

    code: str
    voice: str
    turns: tuple[str, ...]
    confirm: str
    yes: str
    stop: str


GERMAN = Spoken(
    "de",
    "de+f2",
    ("Mein Name ist Thomas und ich wohne in Hamburg.", "Ich komme aus Frankfurt und bin Student."),
    "Soll ich am {day} um {time} einen Tisch für {people} Personen bestellen?",
    "Ja, stimmt.",
    "Moment, stopp!",
)
SPANISH = Spoken(
    "es",
    "es",
    ("Tengo un problema con mi teléfono.", "La música es muy importante para mí."),
    "¿Reservo una mesa para {people} el {day} a las {time}?",
    "Sí, claro.",
    "No, para.",
)


@pytest.fixture(scope="module", params=[GERMAN, SPANISH], ids=["German", "Spanish"])
def spoken(request: pytest.FixtureRequest) -> Spoken:
    found: Spoken = request.param
    return found


@pytest.fixture(scope="module")
def server(spoken: Spoken, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with serving(tmp_path_factory.mktemp(spoken.code), spoken, spoken.code) as running:
        yield running


@contextmanager
def serving(folder: Path, spoken: Spoken, language: str, **more: Any) -> Iterator[ServerProcess]:
    """An agent of that language, `more` being further settings of it."""
    (folder / "tools.py").write_text(TOOL.replace("CONFIRM", spoken.confirm))
    settings = {
        **more,
        "language": language,
        "profile": "real-speech",
        "stt": {"path": str(published("whisper-base"))},
        "options": {"stt": {"compute_type": "int8"}, "tts": {"length_scale": SLOW}},
        "tools": ["tools.py"],
        "phrases": {"greeting": "Hello."},
    }
    (folder / "agent.yaml").write_text(yaml.safe_dump(settings))
    with running_server(folder, "--config", str(folder / "agent.yaml"), "--event-logs", "5") as running:
        yield running


def typed(caller: Caller, text: str) -> None:
    content = [{"type": "input_text", "text": text}]
    caller.send_event({"type": "output_audio_buffer.clear"})
    caller.send_event({"type": "conversation.item.create", "item": {"type": "message", "role": "user", "content": content}})
    caller.send_event({"type": "response.create"})


def say(spoken: Spoken, text: str) -> NDArray[np.int16]:
    """The text in the language."""
    audio = Espeak().say(text, spoken.voice, words_per_minute=WORDS_A_MINUTE).resampled(speech.RATE_HZ)
    first, last = speech.edges(audio)
    pcm: NDArray[np.int16] = (audio[first:last] / np.abs(audio).max() * 0.5 * 32767).astype(np.int16)
    return pcm


def understood(said: str, heard: str) -> float:
    """The share of the words said that were heard."""
    words = bare_words(said)
    return sum(word in bare_words(heard) for word in words) / len(words)


async def test_turns_are_understood_and_answered(server: ServerProcess, spoken: Spoken) -> None:
    async with Caller(server.url) as caller, Dialogue(caller) as dialogue:
        await dialogue.wait_greeting()
        for text in spoken.turns:
            await dialogue.turn(text, say(spoken, text), speech.RATE_HZ)
        turns = dialogue.exchanges
    assert all(turn.heard and understood(turn.said, turn.caption) >= UNDERSTOOD for turn in turns), [t.caption for t in turns]


async def test_a_tool_is_confirmed_by_a_yes_of_the_language(server: ServerProcess, spoken: Spoken) -> None:
    async with Caller(server.url) as caller, Dialogue(caller) as dialogue:
        await dialogue.wait_greeting()
        since = dialogue.event_count
        typed(caller, BOOKING)
        await dialogue.wait_event(lambda event: event.type == "response.done", since, "the question")
        await caller.wait_quiet(400.0)
        (turn,) = await dialogue.turn(spoken.yes, say(spoken, spoken.yes), speech.RATE_HZ)
    assert [json.loads(tool["output"]) for tool in turn.tools] == [{"status": "booked"}], turn.caption


async def test_a_command_of_the_language_stops_the_reply(server: ServerProcess, spoken: Spoken) -> None:
    async with Caller(server.url) as caller, Dialogue(caller) as dialogue:
        await dialogue.wait_greeting()
        since = dialogue.event_count
        typed(caller, "What can you do?")
        await dialogue.wait_event(lambda event: event.type == "output_audio_buffer.started", since, "the reply's first audio")
        caller.say(say(spoken, spoken.stop), speech.RATE_HZ)
        done = await dialogue.wait_event(lambda event: event.type == "response.done", since, "the end of the reply")
    assert done.data["response"]["status"] == "cancelled"


async def test_an_agent_of_any_language_follows_the_caller_with_its_voice(tmp_path: Path) -> None:
    voices = {"de": str(published("piper-joe") / "voice.onnx")}
    with serving(tmp_path, GERMAN, "auto", voices=voices) as server:
        async with Caller(server.url) as caller, Dialogue(caller) as dialogue:
            await dialogue.wait_greeting()
            for text in (*GERMAN.turns, *GERMAN.turns):
                await dialogue.turn(text, say(GERMAN, text), speech.RATE_HZ)
            turns = dialogue.exchanges
        assert all(turn.heard for turn in turns)
    actions = [action for step in latest_log(tmp_path)[1] for action in step.actions]
    assert [action.language for action in actions if isinstance(action, act.LanguageChanged)] == ["de"]


async def test_what_an_agent_does_not_speak_is_never_heard() -> None:
    """Whisper base takes these words, spoken by espeak-ng, for Thai, Japanese and Latvian."""
    spoken = ("de", "en", "es")
    engine = WhisperEngine(published("whisper-base"), WhisperOptions(language="auto", languages=spoken, compute_type="int8"))
    for text in ("Vielen Dank für die Einladung.", "Nein, danke.", "Ich brauche bitte Hilfe."):
        audio = np.pad(say(GERMAN, text), (1600, 3200)).astype(np.float32) / np.float32(32768)
        for before in ("", "de"):
            heard = await engine.transcribe(audio, final=True, language=before)
            assert heard.language in spoken
            assert heard.language == (before or heard.language)
            assert all("LATIN" in unicodedata.name(letter) for letter in heard.text if letter.isalpha()), heard.text
    await engine.close()
