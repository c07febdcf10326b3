"""`voiceagent talk`: a call from the terminal, through the machine's microphone and loudspeaker, or typed."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import click
from rich.console import Console
from rich.text import Text

from voiceagent.addresses import is_loopback
from voiceagent.cli.call import require_writable
from voiceagent.cli.call_report import CallPrinter
from voiceagent.cli.keyboard import Keyboard
from voiceagent.cli.output import print_json
from voiceagent.cli.tables import plain_table, show
from voiceagent.cli.talk_screen import TalkScreen, print_line, turn_data
from voiceagent.cli.typed_lines import typed_lines
from voiceagent.client.caller import Caller
from voiceagent.client.live_audio import LiveAudio
from voiceagent.client.portaudio import portaudio
from voiceagent.client.signalling import NoServerError, about
from voiceagent.client.sound_card import SoundCard, SoundDevice, chosen_device, sound_devices
from voiceagent.client.turns import HeardTurn
from voiceagent.client.typed_call import TypedCall
from voiceagent.errors import MediaError
from voiceagent.scenarios.agent_server import served
from voiceagent.task_owner import TaskOwner

DEFAULT_URL = "http://127.0.0.1:8080"
ANSWER_S = 120.0
"""The longest wait for a typed answer."""
INTERRUPTED = 130
INTERRUPT: dict[str, object] = {"type": "output_audio_buffer.clear"}


@dataclass(frozen=True, slots=True)
class TalkOptions:
    """The plan of a call."""

    url: str
    token: str | None
    as_json: bool
    times: bool
    record: Path | None
    echo_cancellation: bool


@click.command(
    epilog="""\b
Examples:
  voiceagent talk                                  with the server that runs here, else with the demo agent
  voiceagent talk --config agent.yaml              starts this agent for the call
  voiceagent talk --url https://agent.example.com --token KEY
  voiceagent talk --devices                        the microphones and loudspeakers
  voiceagent talk --microphone headset --loudspeaker 3
  voiceagent talk --text                           type instead
  echo "What time is it in Paris?" | voiceagent talk --text
  voiceagent talk --text --json < questions.txt    a line of JSON for each turn

\b
Keys in a spoken call:
  space, return   interrupt the agent
  m               mute the microphone, and turn it on again
  q, ctrl-c       hang up
  ?               show the keys

A spoken call needs a terminal, PortAudio and the extra `voiceagent[talk]`; --text needs none of them. Exit codes: 0 the call went
well, 1 it broke off or a reply failed, 2 wrong usage, 130 ended by ctrl-c."""
)
@click.option("--url", default="", help=f"The server. Default: {DEFAULT_URL}, if one answers there; else one is started.")
@click.option("--token", envvar="VOICEAGENT_KEY", show_envvar=True, default="", help="A key of the server, if it asks for one.")
@click.option("--config", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Start a server with this agent.")
@click.option("--profile", default="", help="Start a server with these models.")
@click.option("--text", "is_typed", is_flag=True, help="Type, and read the answers. Nothing is spoken.")
@click.option("--microphone", default="", metavar="NAME|NUMBER", help="A device by its number, or a part of its name.")
@click.option("--loudspeaker", default="", metavar="NAME|NUMBER", help="The same.")
@click.option("--devices", is_flag=True, help="List the devices.")
@click.option(
    "--echo-cancellation/--no-echo-cancellation", default=True, help="Take the agent's voice out of the microphone's sound."
)
@click.option(
    "--times/--no-times",
    default=None,
    help="Where each turn's time went; typed, the wait for the first words. Default: in a spoken call.",
)
@click.option(
    "--record", type=click.Path(dir_okay=False, path_type=Path), help="Write both sides of a spoken call to a stereo WAV."
)
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each turn.")
def talk(
    url: str,
    token: str,
    config: Path | None,
    profile: str,
    is_typed: bool,
    microphone: str,
    loudspeaker: str,
    devices: bool,
    echo_cancellation: bool,
    times: bool | None,
    record: Path | None,
    as_json: bool,
) -> int:
    """Talk with an agent through this machine's microphone and loudspeaker, or type."""
    logging.getLogger("aioice").setLevel(logging.ERROR)
    if devices:
        return _list(as_json=as_json)
    if url and (config or profile):
        raise click.UsageError("--url calls a server that runs; --config and --profile belong to one that is started")
    if is_typed and (record or microphone or loudspeaker):
        raise click.UsageError("--text has no sound: leave --record, --microphone and --loudspeaker out")
    sound = None if is_typed else _sound(microphone, loudspeaker)
    require_writable([record] if record else [])
    with _server(url, token, config, profile) as address:
        options = TalkOptions(
            address, token or None, as_json, (not is_typed) if times is None else times, record, echo_cancellation
        )
        return _run(_type(options) if sound is None else _speak(options, sound))


def _list(*, as_json: bool) -> int:
    """Print the devices; returns the exit code."""
    found = sound_devices(portaudio())
    if as_json:
        print_json(
            [
                {
                    "number": one.number,
                    "name": one.name,
                    "system": one.system,
                    "inputs": one.inputs,
                    "outputs": one.outputs,
                    "is_default_input": one.is_default_input,
                    "is_default_output": one.is_default_output,
                }
                for one in found
            ]
        )
        return 0 if found else 2
    if not found:
        click.echo("PortAudio finds no device on this machine", err=True)
        return 2
    table = plain_table("Devices", "number", "name", "system", "microphone", "loudspeaker")
    for one in found:
        takes = ("default" if one.is_default_input else "yes") if one.inputs else ""
        gives = ("default" if one.is_default_output else "yes") if one.outputs else ""
        table.add_row(str(one.number), Text(one.name), one.system, takes, gives)
    show(table)
    return 0


def _sound(microphone: str, loudspeaker: str) -> tuple[SoundDevice, SoundDevice]:
    """The two devices. Raises UsageError, ConfigError."""
    if not sys.stdin.isatty():
        raise click.UsageError(
            "a spoken call is led by keys, and standard input is no terminal; use --text, or `voiceagent call`"
        )
    found = sound_devices(portaudio())
    return chosen_device(found, microphone, is_input=True), chosen_device(found, loudspeaker, is_input=False)


@contextmanager
def _server(url: str, token: str, config: Path | None, profile: str) -> Iterator[str]:
    """The address of the server: the named one, the one that runs here, or one that is started for the call."""
    if url:
        yield url.rstrip("/")
        return
    if not config and not profile and _answers(token):
        yield DEFAULT_URL
        return
    click.echo("starting the agent …", err=True)
    with served(config, profile) as address:
        yield address


def _answers(token: str) -> bool:
    """True if a server listens at the default address. Raises MediaError if it refuses the key."""
    assert is_loopback(urlsplit(DEFAULT_URL).hostname or "")
    try:
        asyncio.run(about(DEFAULT_URL, token or None))
    except NoServerError:
        return False
    return True


def _run(call: Coroutine[object, None, int]) -> int:
    """Carry out a call; returns the exit code. Raises MediaError."""

    async def until_a_signal() -> int:
        task = asyncio.current_task()
        assert task is not None
        for ending in (signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(ending, task.cancel)
        return await call

    try:
        return asyncio.run(until_a_signal())
    except (KeyboardInterrupt, asyncio.CancelledError):
        return INTERRUPTED


# --- spoken -------------------------------------------------------------------------------------------------------------


async def _speak(options: TalkOptions, sound: tuple[SoundDevice, SoundDevice]) -> int:
    caller = Caller(options.url, options.token)
    screen = TalkScreen(as_json=options.as_json, times=options.times)
    try:
        async with SoundCard(*sound) as card:
            audio = LiveAudio(card, caller, cancels_echo=options.echo_cancellation)
            notes = [f"{sound[0].name} → agent → {sound[1].name}"]
            if options.echo_cancellation and not audio.cancels_echo:
                notes.append("no echo cancellation: it needs the extra voiceagent[talk]; wear headphones")
            async with caller:
                with Keyboard() as keyboard, screen:
                    await _until_over(_follow(caller, screen, notes), audio.run(), _obey(keyboard, caller, audio, screen))
            if left_out_ms := card.left_out_ms + audio.left_out_ms:
                click.echo(f"{left_out_ms} ms of sound were left out: this machine was too busy", err=True)
    finally:
        if options.record is not None and caller.started_ms:
            caller.recording.write(options.record)
    reason = caller.end_reason
    if options.as_json:
        print_line(type="ended", reason=reason)
    if reason == "lost":
        raise MediaError(f"{options.url}: the connection was lost, and the call could not be taken up again")
    return 1 if screen.has_failed else 0


async def _until_over(*parts: Coroutine[object, None, None]) -> None:
    """Run the parts of a call until one ends; the others are ended then. Raises what that one raised."""
    owner = TaskOwner()
    tasks = [owner.start(part, "a part of the call") for part in parts]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await owner.close()
    for task in done:
        task.result()


async def _follow(caller: Caller, screen: TalkScreen, notes: list[str]) -> None:
    """Show what comes from the server, until the call is over."""
    resumed = 0
    async for event in caller.events():
        if event.type == "session.created" and not caller.resumed:
            ours = event.data.get("session", {}).get("voiceagent", {})
            screen.begin(str(ours.get("call_id", "")), str(ours.get("agent", "")), notes)
        if caller.resumed > resumed:
            resumed = caller.resumed
            screen.note("the connection was lost and is up again")
        screen.take(event.data)
        if event.type == "voiceagent.call_ended":
            screen.note(f"the agent's side ended the call: {event.data.get('reason', '')}")


async def _obey(keyboard: Keyboard, caller: Caller, audio: LiveAudio, screen: TalkScreen) -> None:
    """Do what the keys say, until they hang up."""
    while (key := await keyboard.key()) not in ("q", "Q", ""):
        if key in (" ", "\r", "\n"):
            caller.send_event(INTERRUPT)
            audio.stop_playing()
        elif key in ("m", "M"):
            audio.is_muted = not audio.is_muted
            screen.mute(audio.is_muted)
        elif key == "?":
            screen.help()


# --- typed --------------------------------------------------------------------------------------------------------------


async def _type(options: TalkOptions) -> int:
    """Typed lines in, answers out. A terminal shows who writes; a pipe gets the answers alone."""
    is_terminal = sys.stdin.isatty() and not options.as_json
    paper = _Paper(options, is_terminal=is_terminal)
    has_failed = False
    async with TypedCall(options.url, options.token, timeout_s=ANSWER_S, on_text=paper.text) as call:
        paper.begin(call)
        greeting = await call.greeting()
        if greeting is not None:
            paper.answered(greeting, "", None)
        lines = typed_lines()
        while True:
            paper.prompt()
            line = await _line_or_end(lines, call)
            if line is None:
                break
            if line.strip():
                paper.asked()
                turn = await call.say(line.strip())
                paper.answered(turn, line.strip(), call.first_text_ms)
                has_failed = has_failed or bool(turn.failure)
        paper.end(call)
        was_lost = call.end_reason == "lost"
    if was_lost:
        raise MediaError(f"{options.url}: the connection was lost")
    return 1 if has_failed else 0


async def _line_or_end(lines: AsyncIterator[str], call: TypedCall) -> str | None:
    """The next line; None at the end of the input or of the call."""
    owner = TaskOwner()
    line = owner.start(_next(lines), "the next line")
    end = owner.start(_ended(call), "the end of the call")
    try:
        await asyncio.wait({line, end}, return_when=asyncio.FIRST_COMPLETED)
        return line.result() if line.done() else None
    finally:
        await owner.close()


async def _ended(call: TypedCall) -> None:
    await call.wait_ended()


async def _next(lines: AsyncIterator[str]) -> str | None:
    return await anext(lines, None)


class _Paper:
    """The output of a typed call."""

    def __init__(self, options: TalkOptions, *, is_terminal: bool) -> None:
        self._options, self._is_terminal = options, is_terminal
        self._console = Console(highlight=False, soft_wrap=True)
        self._print = CallPrinter(self._console)
        self._shows = False
        """True while text is to be printed as it comes."""
        self._written = ""

    def begin(self, call: TypedCall) -> None:
        """The call is up."""
        if self._options.as_json:
            print_line(type="call", call=call.call_id, agent=call.agent)
        elif self._is_terminal:
            self._print.line("call", Text(call.call_id).append(f"  {call.agent}", "dim"))

    def prompt(self) -> None:
        """Ask for a line."""
        if self._is_terminal:
            self._console.print(Text(f"{'you':<7}", "bold"), end="")

    def asked(self) -> None:
        """A line was typed: what comes now answers it."""
        self._shows, self._written = not self._options.as_json, ""

    def text(self, piece: str) -> None:
        """A piece of the answer."""
        if not self._shows:
            return
        if not self._written and self._is_terminal:
            self._console.print(Text(f"{'agent':<7}", "bold"), end="")
        elif not self._written:
            piece = piece.lstrip()
        self._written += piece
        click.echo(piece, nl=False)

    def answered(self, turn: HeardTurn, said: str, first_text_ms: float | None) -> None:
        """An answer is complete."""
        if self._options.as_json:
            first_ms = None if first_text_ms is None else round(first_text_ms, 1)
            print_line(**turn_data(turn, said), first_text_ms=first_ms)
            return
        if self._written:
            click.echo()
        elif turn.heard and (self._is_terminal or said):
            self._print.line("agent", Text(turn.heard)) if self._is_terminal else click.echo(turn.heard)
        if self._is_terminal:
            for tool in turn.tools:
                self._print.note(f"{tool['name']}({tool['arguments']}) → {tool['output']}", "cyan")
        if self._options.times and first_text_ms is not None:
            self._print.note(f"first words after {first_text_ms:.0f} ms")
        if turn.failure:
            click.echo(f"error: {turn.failure}", err=True)
        self._shows, self._written = False, ""

    def end(self, call: TypedCall) -> None:
        """The call is over, or the input is."""
        if self._options.as_json:
            print_line(type="ended", reason=call.end_reason or "hangup")
        elif self._is_terminal:
            click.echo(f"\nthe call is over: {call.end_reason}" if call.end_reason else "")
