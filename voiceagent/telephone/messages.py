"""The messages of vendors over a call's WebSocket, in any dialect."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum


class Encoding(Enum):
    """The encoding of samples."""

    MULAW = "mulaw"
    ALAW = "alaw"
    L16 = "l16"
    """16 bits, little-endian."""


MAX_PARAMETERS = 32

RATES_HZ = (8_000, 16_000, 24_000)


@dataclass(frozen=True, slots=True)
class AudioFormat:
    """The format of both directions; mono."""

    encoding: Encoding = Encoding.MULAW
    rate_hz: int = 8_000


@dataclass(frozen=True, slots=True)
class CallFacts:
    """The caller and the called, as the vendor reports them. They are only as trustworthy as their source."""

    caller: str = ""
    called: str = ""
    vendors_id: str = ""
    """The vendor's own id of the call, for its console and its API."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """The operator's parameters, which the vendor passes on."""
    outbound: bool = False
    """True if we made the call. If so, an answering machine may answer."""
    comes_back: bool = False
    """True if the caller was transferred and nobody took the call. The agent takes it again, and does not know what was said."""
    refuses_recording: bool = False
    """True if the caller has refused to be recorded. This also holds when the call comes back."""

    def beside(self, other: CallFacts) -> CallFacts:
        """These facts, completed by the other's."""
        others = {name: value for name, value in other.parameters.items() if name not in self.parameters}
        return CallFacts(
            self.caller or other.caller,
            self.called or other.called,
            self.vendors_id or other.vendors_id,
            dict([*self.parameters.items(), *others.items()][:MAX_PARAMETERS]),
            self.outbound or other.outbound,
            self.comes_back or other.comes_back,
            self.refuses_recording or other.refuses_recording,
        )


Unanswered = Callable[[CallFacts, str], None]
"""Takes the facts of a call that we made and nobody took, and the reason: `no_answer`, `busy`, `declined`, `unknown_number` or
`call_failed`."""


@dataclass(frozen=True, slots=True)
class Started:
    """The call's audio begins."""

    format: AudioFormat
    facts: CallFacts


@dataclass(frozen=True, slots=True)
class Audio:
    """A piece of the caller's audio."""

    payload: bytes
    chunk: int | None
    """Its number in the sequence, which may begin anywhere; None if pieces are not numbered and come in order."""


@dataclass(frozen=True, slots=True)
class Digit:
    """The caller pressed a key."""

    key: str


@dataclass(frozen=True, slots=True)
class MarkReached:
    """The audio before a mark was played, or was dropped by `clear`."""

    name: str


@dataclass(frozen=True, slots=True)
class Flow:
    """A report that audio may be sent, or may not because the vendor's queue is full."""

    may_send: bool


@dataclass(frozen=True, slots=True)
class Stopped:
    """The call or its audio is over."""

    problem: str = ""
    """The problem that the peer reports; empty if it reports none."""


@dataclass(frozen=True, slots=True)
class Other:
    """A message that means nothing to us."""


Message = Started | Audio | Digit | MarkReached | Flow | Stopped | Other


class Stream(ABC):
    """One call's messages. Pure. Without the methods of a subclass, audio goes out as it is, the vendor has no marks, drops no
    audio, and ends the call when its stream ends."""

    @abstractmethod
    def read(self, message: str | bytes) -> Message:
        """Read a message. Raises MediaError, in one line, for a message that cannot be read."""

    def audio(self, payload: bytes) -> str | bytes:
        """The message that plays audio of the call's format."""
        return payload

    def mark(self, name: str) -> tuple[str, ...]:
        """The messages that ask for a report once everything sent before them was played."""
        return ()

    def clear(self) -> tuple[str, ...]:
        """The messages that drop the audio that was not played yet."""
        return ()

    def hang_up(self) -> tuple[str, ...]:
        """The messages that end the call, if closing its stream is not enough."""
        return ()
