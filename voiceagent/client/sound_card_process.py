"""The process that owns PortAudio: a device that goes away makes PortAudio wait without end, or brings its process down, and its
messages go to standard error. The program that talks starts it (`sound_card.py`), and ends it.

PortAudio calls from threads of its own every 20 ms. Those callbacks move a block from a bounded queue or into a pipe that never
blocks; what has no room is left out. Times are milliseconds of `time.monotonic`, which all processes of a machine share."""

from __future__ import annotations

import json
import os
import struct
import sys
import threading
import time
from collections import deque

from voiceagent.audio.format import FRAME_MS
from voiceagent.client.portaudio import PortAudio, PortAudioStream, StreamCallback, StreamKind, portaudio
from voiceagent.errors import ConfigError

RATES_HZ = (48_000, 24_000, 16_000, 44_100)
"""The rates at which a device is opened: the first that it takes."""
LATENCY_S = 0.1
"""The delay that is asked of PortAudio for each direction. With 40 ms a busy machine missed blocks, after which the echo
canceller had to learn the delay anew."""
START_FRAMES = 2
"""The frames that must wait before playing begins, also after the queue has run empty: they bridge the network's jitter."""
MAX_PLAYED_FRAMES = 15
"""300 ms may wait to be played. Beyond that the oldest frame is left out."""
LOST_AFTER_S = 2.0
"""After so long a time without a block from the microphone the device is lost. Blocks come 50 times a second."""
HEARD, PLAYED = b"h", b"p"
TOLD = struct.Struct("<cdI")
"""Each message to the program: its kind, a time, and the number of what follows or was played. 20 ms of audio follow HEARD; the
number of PLAYED is that of a frame, 0 for silence."""
TO_PLAY = struct.Struct("<I")
"""Before each frame to play: its number. CLEAR has no frame, and drops all that wait."""
CLEAR = 0
IN, OUT = 0, 1
"""Standard input and output."""


class _Owner:
    """The two streams, and the pipes to the program."""

    def __init__(self, module: PortAudio) -> None:
        self._module = module
        self._to_play: deque[tuple[int, bytes]] = deque()
        self._fills = True
        self._number = 0
        self._last_heard_s = time.monotonic()
        self._over = threading.Event()
        self.heard_hz = self.played_hz = 0
        self._streams: list[PortAudioStream] = []

    def open(self, microphone: int, loudspeaker: int) -> None:
        """Open and start both. Raises ValueError with the reason."""
        self.heard_hz = self._open(self._module.RawInputStream, microphone, self._on_heard, "microphone")
        self.played_hz = self._open(self._module.RawOutputStream, loudspeaker, self._on_play, "loudspeaker")

    def run(self) -> None:
        """Carry audio until a device is lost or the program ends."""
        self._tell_line({"heard_hz": self.heard_hz, "played_hz": self.played_hz})
        os.set_blocking(OUT, False)
        for stream in self._streams:
            try:
                stream.start()
            except self._module.PortAudioError:  # the program sees that the device is gone
                return
        threading.Thread(target=self._read, daemon=True).start()
        self._last_heard_s = time.monotonic()
        while not self._over.wait(LOST_AFTER_S / 4):
            if time.monotonic() - self._last_heard_s > LOST_AFTER_S:
                return

    def _open(self, kind: StreamKind, device: int, callback: StreamCallback, what: str) -> int:
        reason = ""
        for rate_hz in RATES_HZ:
            try:
                stream = kind(
                    device=device,
                    samplerate=rate_hz,
                    blocksize=rate_hz * FRAME_MS // 1000,
                    channels=1,
                    dtype="int16",
                    latency=LATENCY_S,
                    callback=callback,
                    finished_callback=self._over.set,
                )
            except (self._module.PortAudioError, ValueError) as error:
                reason = reason or str(error).split(" [PaErrorCode")[0].rpartition(": ")[2]
                continue
            self._streams.append(stream)
            return rate_hz
        raise ValueError(f"the {what} cannot be opened ({reason}); is another program using it?")

    @staticmethod
    def _tell_line(told: dict[str, object]) -> None:
        os.write(OUT, json.dumps(told).encode() + b"\n")

    def _read(self) -> None:
        """Take frames to play; ends the process when the program has ended."""
        size = self.played_hz * FRAME_MS // 1000 * 2
        with os.fdopen(IN, "rb") as pipe:
            while len(head := pipe.read(TO_PLAY.size)) == TO_PLAY.size:
                (number,) = TO_PLAY.unpack(head)
                if number == CLEAR:
                    self._to_play.clear()
                    continue
                if len(self._to_play) >= MAX_PLAYED_FRAMES:
                    self._to_play.popleft()
                self._to_play.append((number, pipe.read(size)))
        self._over.set()

    def _on_heard(self, data: memoryview, frames: int, timing: object, status: object) -> None:
        self._last_heard_s = time.monotonic()
        self._number += 1
        self._tell(TOLD.pack(HEARD, self._last_heard_s * 1000.0, self._number) + bytes(data))

    def _on_play(self, data: memoryview, frames: int, timing: object, status: object) -> None:
        now_ms = time.monotonic() * 1000.0
        self._fills = self._fills and len(self._to_play) < START_FRAMES
        number, block = 0, b""
        if not self._fills:
            try:
                number, block = self._to_play.popleft()
            except IndexError:
                self._fills = True
        data[:] = block if len(block) == len(data) else bytes(len(data))
        self._tell(TOLD.pack(PLAYED, now_ms, number))

    def _tell(self, message: bytes) -> None:
        """Messages are shorter than a pipe's atomic write (4096 bytes), so that those of two threads do not mix."""
        try:
            os.write(OUT, message)
        except BlockingIOError:
            return
        except OSError:
            self._over.set()


def main(microphone: str, loudspeaker: str) -> None:
    """Run until the end, and leave without closing: the system frees the devices."""
    try:
        owner = _Owner(portaudio())
        owner.open(int(microphone), int(loudspeaker))
        owner.run()
    except (ConfigError, OSError, ValueError) as error:
        os.write(OUT, json.dumps({"error": " ".join(str(error).split())}).encode() + b"\n")
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
