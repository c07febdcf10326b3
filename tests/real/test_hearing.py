"""Everyday sentences, said by the published voice in two whole calls, one after the other and into what the agent answers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import jiwer

from bench.bundled.speech import normalised
from tests.real.conftest import Said
from tests.server_process import ServerProcess
from voiceagent.client.caller import Caller, ReceivedEvent
from voiceagent.client.dialogue import Dialogue

SENTENCES = (
    "Could you tell me when the next train leaves?",
    "I would like to speak to somebody about my bill.",
    "My parcel has not arrived yet.",
    "Please send the invoice to my new address.",
    "The heating in our room does not work.",
    "We would like to stay one more night.",
    "Is breakfast included in the price?",
    "I think I left my umbrella in the taxi.",
    "Do you have a quiet room with a view of the garden?",
    "My daughter has had a fever since yesterday evening.",
    "The doctor asked me to call back this afternoon.",
    "Can I bring my dog to the restaurant?",
    "I need a haircut before the wedding on Saturday.",
    "How long does it take to walk to the station?",
    "There is a mistake on the last page of the contract.",
    "Somebody parked in front of our garage.",
    "I have forgotten the password of my account.",
    "The washing machine makes a strange noise.",
    "Would it be possible to pay by credit card?",
    "Please remind me to water the plants on Monday.",
    "We are looking for a present for my grandmother.",
    "The kitchen window has been broken since last week.",
    "I am calling about the job in the newspaper.",
    "Thank you very much for your help.",
)
MOST_ERRORS = 0.05
"""Of words."""


def has_words(event: ReceivedEvent) -> bool:
    """A soft first word over the agent's may be an utterance of its own, which had none, and be heard with what follows it."""
    return event.type == "conversation.item.input_audio_transcription.completed" and bool(event.data["transcript"])


async def heard_of(server: ServerProcess, said: Said, sentences: Sequence[str]) -> list[str]:
    """One call."""
    heard: list[str] = []
    async with Caller(server.url) as caller, Dialogue(caller) as dialogue:
        await dialogue.wait_greeting()
        for sentence in sentences:
            since = dialogue.event_count
            caller.say(*await said(sentence))
            event = await dialogue.wait_event(has_words, since, f"{sentence!r}")
            heard.append(normalised(event.data["transcript"]))
    return heard


async def test_everyday_sentences_are_heard_to_the_word(server: ServerProcess, said: Said) -> None:
    half = len(SENTENCES) // 2
    parts = await asyncio.gather(*(heard_of(server, said, part) for part in (SENTENCES[:half], SENTENCES[half:])))
    pairs = list(zip([normalised(sentence) for sentence in SENTENCES], [one for part in parts for one in part], strict=True))
    # Whole calls are compared: a pause that is taken for the end gives an item of its own, and the next one holds it all.
    errors = jiwer.wer(" ".join(said for said, _ in pairs), " ".join(heard for _, heard in pairs))
    assert errors <= MOST_ERRORS, [pair for pair in pairs if pair[0] != pair[1]]
