"""A telephone's media: µ-law over RTP on a socket of its own, every 20 ms a packet. What is sent and received is kept with its
times, those of the kernel for what is received. Times are milliseconds of `time.monotonic`."""

from __future__ import annotations

import asyncio
import random
import socket
import struct
import time
from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.train.telephone import telephone_speech
from voiceagent.audio import g711
from voiceagent.audio.levels import VoicedTimeline

RATE_HZ = 8_000
FRAME_MS = 20
FRAME_SAMPLES = RATE_HZ * FRAME_MS // 1000
PCMU = 0
HOST = "127.0.0.1"
MAX_DATAGRAM_BYTES = 2048
_HEADER = struct.Struct("!BBHII")
_TIMESTAMP_NS = 35
"""SO_TIMESTAMPNS of Linux, which Python does not name; its message has the same number."""
_TIMESPEC = struct.Struct("qq")


@dataclass(frozen=True, slots=True)
class RtpRecord:
    """A packet that was received."""

    at_ms: float
    sequence: int
    timestamp: int
    """At 8 kHz."""
    payload_type: int
    payload: bytes
    ssrc: int = 0


class RtpPhone:
    """One telephone. It speaks once it has heard from the other side, to where that came from. `close` it."""

    def __init__(self) -> None:
        self.records: list[RtpRecord] = []
        self.said = VoicedTimeline(RATE_HZ)
        """Times at which it spoke: a sample of a packet sent at t was spoken within the 20 ms before t."""
        self.heard = VoicedTimeline(RATE_HZ)
        """Times at which it heard: a packet that arrived at t is heard within the 20 ms after t."""
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, _TIMESTAMP_NS, 1)
        self._socket.bind((HOST, 0))
        self._socket.setblocking(False)
        self._peer: tuple[str, int] | None = None
        self._microphone: deque[NDArray[np.int16]] = deque()
        self._changed = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._socket, self._receive)
        self._speaking = asyncio.create_task(self._speak())

    @property
    def port(self) -> int:
        """The port on which it receives."""
        return int(self._socket.getsockname()[1])

    @property
    def is_up(self) -> bool:
        """True once it has heard from the other side."""
        return self._peer is not None

    def say(self, pcm: NDArray[np.int16], rate_hz: int = RATE_HZ) -> None:
        """Queue speech, mono int16, shape (samples,). It is sent in a telephone's band."""
        speech = telephone_speech(pcm, rate_hz)
        whole = np.pad(speech, (0, -len(speech) % FRAME_SAMPLES))
        self._microphone.extend(whole.reshape(-1, FRAME_SAMPLES))

    async def wait_said(self) -> float:
        """Wait until all was sent; when its last voiced sample was spoken."""
        while self._microphone:
            await self._wait()
        return self.said.last_voiced_ms or 0.0

    async def wait_heard(self, after_ms: float) -> float:
        """Wait for the agent to speak; when the first voiced sample from `after_ms` on was heard."""
        while (onset_ms := self.heard.first_onset_after(after_ms)) is None:
            await self._wait()
        return onset_ms

    async def wait_quiet(self, quiet_ms: float) -> float:
        """Wait until the agent was silent for so long; when its last voiced sample was heard."""
        since_ms = time.monotonic() * 1000.0
        while time.monotonic() * 1000.0 - max(since_ms, self.heard.last_voiced_ms or 0.0) < quiet_ms:
            await self._wait()
        return self.heard.last_voiced_ms or 0.0

    async def close(self) -> None:
        """Hear and say nothing more."""
        self._loop.remove_reader(self._socket)
        self._speaking.cancel()
        await asyncio.gather(self._speaking, return_exceptions=True)
        self._socket.close()

    async def _wait(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    def _receive(self) -> None:
        while True:
            try:
                data, extra, _, sender = self._socket.recvmsg(MAX_DATAGRAM_BYTES, socket.CMSG_SPACE(_TIMESPEC.size))
            except BlockingIOError:
                return
            seconds, nanoseconds = _TIMESPEC.unpack(extra[0][2])
            ago_s = time.time() - seconds - nanoseconds / 1e9
            self._peer = sender
            self._take(data, (time.monotonic() - ago_s) * 1000.0)
            self._changed.set()

    def _take(self, data: bytes, at_ms: float) -> None:
        _, type_, sequence, timestamp, ssrc = _HEADER.unpack_from(data)
        record = RtpRecord(at_ms, sequence, timestamp, type_ & 0x7F, data[_HEADER.size :], ssrc)
        self.records.append(record)
        if record.payload_type == PCMU:
            self.heard.feed(g711.decode(record.payload), at_ms)

    async def _speak(self) -> None:
        sequence, timestamp, ssrc = random.getrandbits(15), random.getrandbits(31), random.getrandbits(32)
        silence = np.zeros(FRAME_SAMPLES, np.int16)
        while self._peer is None:
            await self._wait()
        due_s = self._loop.time()
        while True:
            frame = self._microphone.popleft() if self._microphone else silence
            header = _HEADER.pack(0x80, PCMU, sequence & 0xFFFF, timestamp & 0xFFFFFFFF, ssrc)
            self._socket.sendto(header + g711.encode(frame), self._peer)
            if frame is not silence:
                self.said.feed(frame, time.monotonic() * 1000.0 - FRAME_MS)
            self._changed.set()
            sequence, timestamp = sequence + 1, timestamp + FRAME_SAMPLES
            due_s += FRAME_MS / 1000
            await asyncio.sleep(max(0.0, due_s - self._loop.time()))
