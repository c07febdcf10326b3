"""`voiceagent call`: a headless caller over real WebRTC. It speaks text with the bundled voice, or WAV files. It prints the
conversation and where each turn's time went, as measured on the caller's side."""

from __future__ import annotations

import asyncio
import json
import logging
import wave
from dataclasses import asdict
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from voiceagent.audio.resample import resample
from voiceagent.cli.waterfall import waterfall
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue, Exchange
from voiceagent.engines import load_tts
from voiceagent.errors import ConfigError
from voiceagent.models.registry import profile

MAX_WAV_S = 60


class Speech:
    """Speech to say: its words, or the name of its file, and mono int16 audio."""

    def __init__(self, text: str, pcm: NDArray[np.int16], rate_hz: int) -> None:
        self.text = text
        self.pcm = pcm
        self.rate_hz = rate_hz


def read_wav(path: Path) -> Speech:
    """A 16-bit PCM WAV file, its channels mixed to one. Raises ConfigError."""
    try:
        with wave.open(str(path), "rb") as file:
            channels, width, rate_hz, frames = file.getnchannels(), file.getsampwidth(), file.getframerate(), file.getnframes()
            if width != 2:
                raise ConfigError(f"{path}: holds {8 * width}-bit samples; expected 16-bit PCM")
            if frames > MAX_WAV_S * rate_hz:
                raise ConfigError(f"{path}: lasts {frames / rate_hz:.0f} s; expected at most {MAX_WAV_S} s")
            samples = np.frombuffer(file.readframes(frames), "<i2").reshape(-1, channels)
    except (OSError, EOFError, wave.Error) as error:
        raise ConfigError(f"{path}: cannot be read as a WAV file ({error}); expected 16-bit PCM") from error
    return Speech(path.name, samples.astype(np.int32).mean(axis=1).astype(np.int16), rate_hz)


async def speak(texts: tuple[str, ...]) -> list[Speech]:
    """Each `--say` as audio: a path that ends in .wav is read, anything else is spoken by the bundled voice."""
    paths = [Path(text) if text.lower().endswith(".wav") else None for text in texts]
    speeches = [read_wav(path) if path else None for path in paths]
    if all(speeches):
        return [speech for speech in speeches if speech]
    voice = load_tts(profile("embedded").tts)
    try:
        spoken = []
        for text, speech in zip(texts, speeches, strict=True):
            if speech is None:
                parts = [chunk.pcm async for chunk in voice.synthesise(text)]
                speech = Speech(text, np.concatenate(parts), voice.sample_rate_hz)
            spoken.append(speech)
        return spoken
    finally:
        await voice.close()


async def converse(caller: Caller, speeches: list[Speech], barge_in_s: float | None, greets: bool, timeout_s: float) -> Dialogue:
    """Say everything in order. With `barge_in_s`, every second utterance interrupts the reply to the one before it."""
    async with caller, Dialogue(caller, timeout_s=timeout_s) as dialogue:
        if greets:
            await dialogue.wait_greeting()
        waiting = list(speeches)
        while waiting:
            speech = waiting.pop(0)
            if barge_in_s is None or not waiting:
                await dialogue.turn(speech.text, speech.pcm, speech.rate_hz)
                continue
            other = waiting.pop(0)
            await dialogue.turn(
                speech.text,
                speech.pcm,
                speech.rate_hz,
                interrupt_with=(other.text, resampled(other, speech.rate_hz)),
                interrupt_after_s=barge_in_s,
            )
        return dialogue


def resampled(speech: Speech, rate_hz: int) -> NDArray[np.int16]:
    """The speech at another rate."""
    return resample(speech.pcm, speech.rate_hz, rate_hz)


def show(console: Console, exchange: Exchange) -> None:
    """One turn: what was said, understood, done and heard, and its waterfall."""
    console.print(f"[bold]you[/]    {exchange.said}")
    if exchange.caption != exchange.said:
        console.print(f"       [dim]understood: {exchange.caption or '(nothing)'}[/]")
    for tool in exchange.tools:
        console.print(f"       [cyan]{tool['name']}[/]({tool['arguments']}) → {tool['output']}", markup=True, highlight=False)
    cut = f" [strike dim]{exchange.unheard}[/]" if exchange.unheard else ""
    console.print(f"[bold]agent[/]  {exchange.heard or '(nothing was heard)'}{cut}")
    times: list[str] = []
    if exchange.voice_to_voice_ms is not None:
        times.append(f"voice to voice {exchange.voice_to_voice_ms:.0f} ms")
    if exchange.barge_in_stop_ms is not None:
        times.append(f"stopped {exchange.barge_in_stop_ms:.0f} ms after the interruption")
    console.print(f"       [dim]received audio: {', '.join(times) or 'none'}[/]")
    if exchange.turn is not None:
        console.print(waterfall(exchange.turn))


def summary(dialogue: Dialogue) -> dict[str, object]:
    """The conversation as data, for `--json`."""
    return {
        "greeting": dialogue.greeting,
        "turns": [asdict(exchange) for exchange in dialogue.exchanges],
        "errors": dialogue.errors,
    }


@click.command(
    epilog="""\b
Examples:
  voiceagent call --say "What time is it in Paris?"
  voiceagent call --say question.wav --record call.wav --json call.json
  voiceagent call --say "Tell me a joke." --say "Stop." --barge-in 1.0

Exit codes: 0 every turn was answered, 1 it was not, 2 wrong usage."""
)
@click.option("--url", default="http://127.0.0.1:8080", show_default=True, help="The server.")
@click.option("--token", envvar="VOICEAGENT_KEY", show_envvar=True, default="", help="A key of the server, if it asks for one.")
@click.option("--say", "texts", multiple=True, required=True, help="Text, or a 16-bit WAV file; may be given several times.")
@click.option(
    "--barge-in",
    "barge_in_s",
    type=click.FloatRange(0, 60),
    help="Every second --say interrupts the reply, this many seconds after its first audio.",
)
@click.option("--greeting/--no-greeting", default=True, show_default=True, help="Whether to wait for the agent's greeting.")
@click.option("--record", type=click.Path(dir_okay=False, path_type=Path), help="Write both sides to a stereo WAV.")
@click.option("--json", "json_path", type=click.Path(dir_okay=False, path_type=Path), help="Write everything as JSON.")
@click.option(
    "--timeout", "timeout_s", default=30.0, show_default=True, type=click.FloatRange(1, 600), help="Longest wait, in seconds."
)
def call(
    url: str,
    token: str,
    texts: tuple[str, ...],
    barge_in_s: float | None,
    greeting: bool,
    record: Path | None,
    json_path: Path | None,
    timeout_s: float,
) -> int:
    """Call an agent without a browser: over WebRTC, with spoken text or WAV files."""
    logging.getLogger("aioice").setLevel(logging.ERROR)
    console = Console(highlight=False)
    for path in (record, json_path):
        if path is not None and not path.parent.is_dir():
            raise ConfigError(f"{path}: its folder does not exist; make it first")
    caller = Caller(url, token or None)
    dialogue = asyncio.run(_call(caller, texts, barge_in_s, greeting, timeout_s))
    if dialogue.greeting:
        console.print(f"[bold]agent[/]  {dialogue.greeting}")
    for exchange in dialogue.exchanges:
        show(console, exchange)
    if record is not None:
        caller.recording.write(record)
    if json_path is not None:
        json_path.write_text(json.dumps(summary(dialogue), indent=2) + "\n", encoding="utf-8")
    return 0 if all(exchange.heard for exchange in dialogue.exchanges) else 1


async def _call(caller: Caller, texts: tuple[str, ...], barge_in_s: float | None, greeting: bool, timeout_s: float) -> Dialogue:
    return await converse(caller, await speak(texts), barge_in_s, greeting, timeout_s)
