"""Every server event that a call makes, in the tests' process and in the servers that they start, is parsed by the official
SDK's types and held against the order rules. `python -m tests.sent_events FILE serve …` is voiceagent, which writes its events to
FILE."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch
from weakref import WeakKeyDictionary

from voiceagent.cli import main
from voiceagent.json_types import JsonObject
from voiceagent.realtime.server_events import ServerEvent
from voiceagent.realtime.session import LeftSession, RealtimeSession

_AUDIO = "response.output_audio.delta"
_GOES_ON = {"type": "goes on"}
"""In place of an event: the session has items that were told of at another server."""


@contextmanager
def told_of(take: Callable[[RealtimeSession, JsonObject], None]) -> Iterator[None]:
    """Hand on each event that a session makes in this process. What is repeated to a client that is back is not made again, and
    what a copy makes for another server is told there."""
    send, go_on = RealtimeSession._send, RealtimeSession.go_on

    def went_on(session: RealtimeSession, left: LeftSession) -> None:
        take(session, _GOES_ON)
        go_on(session, left)

    def watched(session: RealtimeSession, events: Collection[ServerEvent]) -> list[JsonObject]:
        made = send(session, events)
        for event in () if session.is_copy else made:
            take(session, event)
        return made

    with patch.object(RealtimeSession, "_send", watched), patch.object(RealtimeSession, "go_on", went_on):
        yield


class CheckedSessions:
    """The rules for each of many sessions. It tells once what is wrong with a session."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self._rules: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()

    def take(self, session: object, event: dict[str, Any]) -> None:
        """The session has made this event."""
        from tests.realtime.protocol_rules import ProtocolRules  # here, because the SDK takes a second to import

        if session not in self._rules:
            self._rules[session] = ProtocolRules(takes_more_clients=True, joins=event == _GOES_ON)
        rules = self._rules[session]
        if rules is None or event == _GOES_ON:
            return
        try:
            rules.take(event)
            if event["type"] == "voiceagent.call_ended":
                rules.end()
        except (AssertionError, ValueError, LookupError) as error:
            self._rules[session] = None
            self.faults.append(f"{error!r} at {json.dumps(event)[:2000]}")


class _Session:
    """Stands for one of another process."""


def check_file(file: Path) -> None:
    """Assert the rules for the events that a server has written down. One that was killed may have left half a line."""
    checked, sessions = CheckedSessions(), dict[str, _Session]()
    with file.open() as lines:
        for line in lines:
            if line.endswith("\n"):
                name, event = json.loads(line)
                checked.take(sessions.setdefault(name, _Session()), event)
    require_none(checked.faults)


def require_none(faults: list[str]) -> None:
    """Fail with the faults, each whole."""
    if faults:
        raise AssertionError("; ".join(faults))


def _serve(file: Path) -> None:
    with file.open("w", buffering=1) as out:

        def note(session: RealtimeSession, event: JsonObject) -> None:
            short = {**event, "delta": ""} if event["type"] == _AUDIO else event
            out.write(json.dumps([session.settings.facts.call_id, short]) + "\n")

        with told_of(note):
            main()


if __name__ == "__main__":
    _serve(Path(sys.argv.pop(1)))
