"""The interface of a vendor's dialect: the messages of one call, read and written."""

from __future__ import annotations

from abc import ABC, abstractmethod

from voiceagent.telephone.messages import Message


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
