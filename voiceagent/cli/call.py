"""`voiceagent call`: a headless caller over real WebRTC. It speaks text with an installed voice, or WAV files. It prints the
conversation and where each turn's time went, as measured on the caller's side. The results so far are kept when a call fails."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.resample import resample
from voiceagent.cli.call_report import STDOUT, CallSoFar, Report, write
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.client.signalling import about
from voiceagent.client.voices import ChosenVoice, VoiceError, best_voice, named_voice
from voiceagent.engines import load_tts
from voiceagent.errors import ConfigError, MediaError
from voiceagent.models.registry import registry
from voiceagent.tts.clips import read_wav
from voiceagent.vad.detector import has_speech

MAX_SPEECH_S = 60
"""The longest utterance."""
FILE_RATE_HZ = 48_000
"""The rate at which a WAV file is played: that of a WebRTC call."""
INTERRUPTED = 130


class SpeechToSay:
    """Speech to say: its words, or the name of its file, and mono int16 audio."""

    def __init__(self, text: str, pcm: NDArray[np.int16], rate_hz: int) -> None:
        self.text = text
        self.pcm = pcm
        self.rate_hz = rate_hz


def read_speech(path: Path) -> SpeechToSay:
    """A WAV file in which somebody speaks. Raises ConfigError."""
    pcm = read_wav(path, FILE_RATE_HZ, MAX_SPEECH_S)
    if not has_speech(pcm, FILE_RATE_HZ):
        seconds = len(pcm) / FILE_RATE_HZ
        raise ConfigError(f"{path}: no speech is heard in its {seconds:.1f} s; expected a recording of somebody who speaks")
    return SpeechToSay(path.name, pcm, FILE_RATE_HZ)


@dataclass(frozen=True, slots=True)
class Script:
    """The plan of a call."""

    url: str
    token: str
    texts: tuple[str, ...]
    wavs: Mapping[str, SpeechToSay]
    """The texts that are files, read."""
    voice: ChosenVoice | None
    """None: the best for the server."""
    barge_in_s: float | None
    """The time after a reply's first audio at which every second utterance interrupts it; None: none does."""
    waits_for_greeting: bool | None
    """None: if the server says that the agent greets."""
    timeout_s: float


def read_wavs(texts: tuple[str, ...]) -> dict[str, SpeechToSay]:
    """Each `--say` that names a file: one that ends in .wav. Raises ConfigError."""
    return {text: read_speech(Path(text)) for text in texts if text.lower().endswith(".wav")}


async def speak(script: Script, voice: ChosenVoice) -> list[SpeechToSay]:
    """Each `--say` as audio: text is spoken by the voice. Raises ConfigError."""
    engine = load_tts(voice.spec)
    try:
        spoken = []
        for text in script.texts:
            speech = script.wavs.get(text)
            if speech is None:
                parts = [chunk.pcm async for chunk in engine.synthesise(text)]
                speech = SpeechToSay(text, np.concatenate([*parts, np.zeros(0, np.int16)]), engine.sample_rate_hz)
                if len(speech.pcm) > MAX_SPEECH_S * speech.rate_hz:
                    took_s = len(speech.pcm) / speech.rate_hz
                    raise ConfigError(f"--say {text[:40]!r} …: lasts {took_s:.0f} s; expected at most {MAX_SPEECH_S} s")
                if not speech.pcm.any():
                    raise ConfigError(f"--say {text!r}: the voice {voice.name} says nothing of it; give it words")
            spoken.append(speech)
        return spoken
    finally:
        await engine.close()


async def converse(script: Script, outcome: CallSoFar, shown: Callable[[CallSoFar], None]) -> None:
    """Make the call, and say everything in order. `shown` is called whenever there is more to show."""
    if (task := asyncio.current_task()) is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    told = await about(outcome.caller.url, script.token or None)
    if len(script.wavs) < len(set(script.texts)):
        outcome.voice = script.voice or best_voice(registry(), told)
        waiting = await speak(script, outcome.voice)
    else:
        waiting = [script.wavs[text] for text in script.texts]
    dialogue = outcome.dialogue
    async with outcome.caller, dialogue:
        shown(outcome)
        greets = await dialogue.greets() if script.waits_for_greeting is None else script.waits_for_greeting
        if greets:
            await dialogue.wait_greeting()
            shown(outcome)
        while waiting:
            speech = waiting.pop(0)
            other = waiting.pop(0) if waiting and script.barge_in_s is not None else None
            await dialogue.turn(
                speech.text,
                speech.pcm,
                speech.rate_hz,
                interrupt_with=(other.text, resample(other.pcm, other.rate_hz, speech.rate_hz)) if other else None,
                interrupt_after_s=script.barge_in_s or 0.0,
            )
            shown(outcome)


def carry_out(script: Script, outcome: CallSoFar, shown: Callable[[CallSoFar], None]) -> int:
    """Make the call. A problem that breaks it off once it is up is noted. Returns the exit code. Raises VoiceAgentError when it
    did not come about."""
    try:
        asyncio.run(converse(script, outcome, shown))
    except MediaError as error:
        if not outcome.caller.started_ms:
            raise
        outcome.failure = str(error)
    except (KeyboardInterrupt, asyncio.CancelledError):  # SIGINT, SIGTERM
        if not outcome.caller.started_ms:
            raise click.Abort from None
        outcome.failure = "interrupted"
        return INTERRUPTED
    return outcome.code


def require_writable(paths: list[Path]) -> None:
    """Make sure that the files can be written. Raises UsageError."""
    if len({path.absolute() for path in paths}) < len(paths):
        raise click.UsageError(f"{paths[0]}: the recording and the JSON cannot be one file; name two")
    for path in paths:
        try:
            if path.exists():
                path.open("ab").close()
            else:
                path.open("xb").close()
                path.unlink()
        except FileNotFoundError as error:
            raise click.UsageError(f"{path}: its folder does not exist; make it first") from error
        except OSError as error:
            raise click.UsageError(f"{path}: cannot be written ({error.strerror}); name another file") from error


def require_words(texts: tuple[str, ...]) -> None:
    """Make sure that there is something to say. Raises UsageError."""
    for text in texts:
        if not any(map(str.isalnum, text)):
            raise click.UsageError(f"--say {text!r}: holds no words; expected text, or a WAV file")


@click.command(
    epilog="""\b
Examples:
  voiceagent call --say "What time is it in Paris?"
  voiceagent call --say question.wav --record call.wav --json call.json
  voiceagent call --say "What time is it in Paris?" --json
  voiceagent call --say "Tell me a joke." --say "Stop." --barge-in 1.0

Exit codes: 0 every turn was answered, 1 it was not, 2 wrong usage. What was said and heard by then is shown and written."""
)
@click.option("--url", default="http://127.0.0.1:8080", show_default=True, help="The server.")
@click.option("--token", envvar="VOICEAGENT_KEY", show_envvar=True, default="", help="A key of the server, if it asks for one.")
@click.option("--say", "texts", multiple=True, required=True, help="Text, or a WAV file; may be given several times.")
@click.option(
    "--voice",
    "voice_name",
    default="",
    metavar="NAME|PATH",
    help="Who speaks the text: a voice of `models list`, or a Piper voice's .onnx. Default: the best that is here.",
)
@click.option(
    "--barge-in",
    "barge_in_s",
    type=click.FloatRange(0, 60),
    help="Every second --say interrupts the reply, this many seconds after its first audio.",
)
@click.option(
    "--greeting/--no-greeting", default=None, help="Whether to wait for the agent's greeting. Default: if the server has one."
)
@click.option("--record", type=click.Path(dir_okay=False, path_type=Path), help="Write both sides to a stereo WAV.")
@click.option(
    "--json",
    "json_path",
    is_flag=False,
    flag_value=STDOUT,
    metavar="[FILE]",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Print everything as JSON, or write it to a file.",
)
@click.option(
    "--timeout", "timeout_s", default=30.0, show_default=True, type=click.FloatRange(1, 600), help="Longest wait, in seconds."
)
def call(
    url: str,
    token: str,
    texts: tuple[str, ...],
    voice_name: str,
    barge_in_s: float | None,
    greeting: bool | None,
    record: Path | None,
    json_path: Path | None,
    timeout_s: float,
) -> int:
    """Call an agent without a browser: over WebRTC, with spoken text or WAV files."""
    logging.getLogger("aioice").setLevel(logging.ERROR)
    require_words(texts)
    if str(record) == STDOUT:
        raise click.UsageError("--record -: a recording is not written to standard output; name a file")
    require_writable([path for path in (record, json_path) if path is not None and str(path) != STDOUT])
    try:
        voice = named_voice(registry(), voice_name) if voice_name else None
    except VoiceError as error:
        raise click.UsageError(str(error)) from error
    script = Script(url, token, texts, read_wavs(texts), voice, barge_in_s, greeting, timeout_s)
    caller = Caller(url, token or None)
    outcome = CallSoFar(caller, Dialogue(caller, timeout_s=timeout_s))
    report = Report(to_stderr=str(json_path) == STDOUT)
    code = carry_out(script, outcome, report.show)
    report.show(outcome)
    if outcome.failure:
        click.echo(f"error: {outcome.failure}", err=True)
    return code if write(outcome, record, json_path) else code or 1
