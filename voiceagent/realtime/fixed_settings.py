"""Session settings that a client may not change, because its client secret fixes them. A setting is named by its path, such as
`instructions` or `audio.output.voice`. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from voiceagent.json_types import JsonObject
from voiceagent.realtime.server_events import ErrorDetails

KEY = "fixed"
"""The key of `session.voiceagent` by which the server hands a call its fixed settings. A client cannot send it."""
LEFT = "left"
"""The key of what another server has left of a call, which is JSON in bytes."""
PARAMETERS = "parameters"
"""The same for the parameters of the call that the operator gave with the client secret."""
NEVER_FIXED = frozenset({"type", "object", "id", "model", "voiceagent"})
"""Parts of a session that clients send back as they are, and that change nothing."""
_MISSING = object()


def settings_named(session: JsonObject, before: str = "") -> Iterator[str]:
    """The paths of the settings that stand in a session."""
    for name, value in session.items():
        path = f"{before}{name}"
        if path in NEVER_FIXED:
            continue
        if isinstance(value, dict) and value:
            yield from settings_named(value, f"{path}.")
        else:
            yield path


def fixed_in(session: JsonObject) -> frozenset[str]:
    """The fixed settings that the server has written into a session."""
    ours = session.get("voiceagent")
    names = ours.get(KEY) if isinstance(ours, dict) else None
    return frozenset(map(str, names)) if isinstance(names, list | tuple) else frozenset()


def parameters_in(session: JsonObject) -> dict[str, str]:
    """The operator's parameters of the call that the server has written into a session."""
    ours = session.get("voiceagent")
    given = ours.get(PARAMETERS) if isinstance(ours, dict) else None
    return {str(name): str(value) for name, value in given.items()} if isinstance(given, dict) else {}


class FixedSettings:
    """Takes changes of fixed settings out of what a client sends."""

    def __init__(self, names: Collection[str] = ()) -> None:
        self._names = frozenset(names)
        self._above = {name[:place] for name in names for place, sign in enumerate(name) if sign == "."}
        """The objects that hold a fixed setting."""

    def without_fixed(self, changes: JsonObject, now: JsonObject) -> tuple[JsonObject, tuple[str, ...]]:
        """The changes without fixed settings, and the names of those that would have become another value than `now`."""
        if not self._names:
            return changes, ()
        refused: list[str] = []
        return self._without(changes, now, "", refused), tuple(refused)

    def among(self, paths: Iterable[str]) -> str:
        """The first fixed setting among these; empty if none is."""
        return next((path for path in paths if path in self._names), "")

    def _without(self, changes: JsonObject, now: object, before: str, refused: list[str]) -> JsonObject:
        kept: JsonObject = {}
        for name, value in changes.items():
            path, present = f"{before}{name}", now.get(name, _MISSING) if isinstance(now, dict) else _MISSING
            if path in self._names or (path in self._above and not isinstance(value, dict)):
                if value != present:
                    refused.append(path)
            else:
                kept[name] = self._without(value, present, f"{path}.", refused) if path in self._above else value
        return kept


def refusal_of_fixed(names: Collection[str], param: str, event_id: str | None) -> ErrorDetails:
    """The error for a client that tried to change these settings."""
    verb = "is" if len(names) == 1 else "are"
    message = f"{', '.join(names)[:200]} {verb} fixed by this call's client secret and did not change; the rest was applied."
    return ErrorDetails("invalid_request_error", "setting_fixed", message, param, event_id)
