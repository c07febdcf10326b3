"""A machine with a microphone and a loudspeaker that nobody hears: PipeWire, which PortAudio reaches through ALSA, with a room.
What is played into the sink `room` comes out of the microphone `mic`; what programs play goes into the sink `speaker`."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.programs import program

CONFIG = """
context.properties = { core.daemon = true core.name = pipewire-0 support.dbus = false mem.allow-mlock = false
  default.clock.rate = 48000 default.clock.quantum = 960 default.clock.min-quantum = 960 }
context.spa-libs = { audio.convert.* = audioconvert/libspa-audioconvert support.* = support/libspa-support }
context.modules = [
  { name = libpipewire-module-protocol-native }
  { name = libpipewire-module-metadata }
  { name = libpipewire-module-spa-node-factory }
  { name = libpipewire-module-client-node }
  { name = libpipewire-module-access args = { access.allowed = [ ] } }
  { name = libpipewire-module-adapter }
  { name = libpipewire-module-link-factory }
  { name = libpipewire-module-loopback args = { audio.position = [ MONO ]
    capture.props = { node.name = room media.class = Audio/Sink }
    playback.props = { node.name = mic media.class = Audio/Source } } }
]
context.objects = [
  { factory = spa-node-factory args = { factory.name = support.node.driver node.name = Dummy-Driver
    node.group = pipewire.dummy priority.driver = 20000 } }
  { factory = adapter args = { factory.name = support.null-audio-sink node.name = speaker media.class = Audio/Sink
    audio.position = [ MONO ] } }
]
"""
READY_S = 20.0


@dataclass
class SoundRoom:
    """The running room."""

    folder: Path
    daemon: subprocess.Popen[bytes]

    @property
    def environment(self) -> dict[str, str]:
        """The variables of programs that are in it."""
        return {**os.environ, "XDG_RUNTIME_DIR": str(self.folder)}

    def say(self, wav: Path) -> None:
        """Play a file into the room; returns when it is over."""
        subprocess.run(["pw-play", "--target", "room", str(wav)], env=self.environment, check=True, timeout=60)

    @contextmanager
    def recorded(self, wav: Path) -> Iterator[None]:
        """Record what the loudspeaker plays."""
        command = ["pw-record", "--target", "speaker", "-P", "stream.capture.sink=true", "--channels", "1", str(wav)]
        recorder = subprocess.Popen(command, env=self.environment)
        try:
            yield
        finally:
            recorder.send_signal(signal.SIGINT)
            recorder.wait(10)

    def break_down(self) -> None:
        """Take the devices away."""
        self.daemon.kill()
        self.daemon.wait()


@contextmanager
def sound_room(folder: Path) -> Iterator[SoundRoom]:
    """Start it; skips the test where PipeWire is not installed."""
    for name, package in (("pipewire", "pipewire"), ("wireplumber", "wireplumber"), ("dbus-run-session", "dbus-daemon")):
        program(name, package)
    folder.chmod(0o700)
    (folder / "pipewire.conf").write_text(CONFIG)
    log = (folder / "log").open("wb")
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(folder), "HOME": str(folder)}
    daemon = subprocess.Popen(
        ["pipewire", "-c", "pipewire.conf"], env={**environment, "PIPEWIRE_CONFIG_DIR": str(folder)}, stdout=log, stderr=log
    )
    room = SoundRoom(folder, daemon)
    manager = None
    try:
        _wait(lambda: (folder / "pipewire-0").exists(), "the daemon")
        manager = subprocess.Popen(
            ["dbus-run-session", "--", "wireplumber"], env=environment, stdout=log, stderr=log, start_new_session=True
        )
        _wait(lambda: "Default" in _status(environment) and "*" in _status(environment), "default devices")
        yield room
    finally:
        if manager is not None:
            os.killpg(manager.pid, signal.SIGTERM)
            manager.wait(10)
        daemon.terminate()
        daemon.wait(10)
        log.close()


def _status(environment: dict[str, str]) -> str:
    run = subprocess.run(["wpctl", "status"], env=environment, capture_output=True, text=True, check=False, timeout=10)
    return run.stdout


def _wait(condition: object, what: str) -> None:
    assert callable(condition)
    until_s = time.monotonic() + READY_S
    while not condition():
        if time.monotonic() > until_s:
            raise TimeoutError(f"the sound room has not {what} after {READY_S:g} s")
        time.sleep(0.1)
