"""The page docs/realtime.md: each event and each field of OpenAI's Realtime API and of its Chat Completions, and what is done
with it here. It is made of the tables by which events are read and named, so it cannot say anything else.
`python -m voiceagent.realtime.support` prints it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from voiceagent.realtime.chat_request import CHAT_FIELDS, MESSAGE_FIELDS
from voiceagent.realtime.openai_fields import Field
from voiceagent.realtime.openai_items import ITEM_FIELDS, NO_MCP, REFUSED_ITEMS, REFUSED_PARTS, SPEECH_FIELDS, TEXT_FIELDS
from voiceagent.realtime.openai_realtime import (
    CLIENT_EVENTS,
    EVENT_FIELDS,
    EVENT_ID,
    NOT_SENT,
    RESPONSE_FIELDS,
    SERVER_EVENTS,
    SERVER_NOTES,
)
from voiceagent.realtime.openai_session import NOISE_FIELDS, SESSION_FIELDS, TRANSCRIPTION_FIELDS, TURN_FIELDS

HEAD = """# The Realtime API, field by field

<!-- made by: python -m voiceagent.realtime.support -->

The names are those of the API's types in the PyPI package `openai`. *supported*: it does what the API says. *differs*: it does
what the note says. *refused*: it is answered by an `error` that names the field and the client's `event_id`, unless it asks for
nothing. A field that does not stand here is refused, too. [protocol.md](protocol.md) describes the rest of the protocol, and its
[time-outs](protocol.md#time-outs).
"""


CHAT = """The body of `POST /v1/chat/completions`. [protocol.md](protocol.md#text-beside-voice) describes the rest.
"""


def support_page() -> str:
    """The page's text."""
    parts = [
        HEAD,
        "## Events of the client\n",
        _table(_client_events()),
        "## Items of the client\n",
        _table(_items()),
        "## The session\n",
        _table(_session()),
        "## The response of `response.create`\n",
        _table(_fields("response", RESPONSE_FIELDS)),
        "## Events of the server\n",
        _server_events(),
        "## The Chat Completions\n",
        CHAT,
        _table(_chat()),
    ]
    return "\n".join(parts)


Row = tuple[str, str, str]


def _table(rows: Iterator[Row]) -> str:
    lines = ["| field | is | note |", "|---|---|---|", *(f"| `{name}` | {support} | {note} |" for name, support, note in rows)]
    return "\n".join(lines) + "\n"


def _fields(prefix: str, fields: Mapping[str, Field]) -> Iterator[Row]:
    for name, field in fields.items():
        yield f"{prefix}.{name}", field.support, field.note


def _client_events() -> Iterator[Row]:
    for name, kind in CLIENT_EVENTS.items():
        yield name, "supported", ""
        for field, rule in {**EVENT_FIELDS[kind], "event_id": EVENT_ID}.items():
            yield f"{name}: {field}", rule.support, rule.note


def _items() -> Iterator[Row]:
    for kind, fields in ITEM_FIELDS.items():
        yield from _fields(kind, fields)
    yield from _fields("message.content[]", {**TEXT_FIELDS, **SPEECH_FIELDS})
    for part, why in REFUSED_PARTS.items():
        yield f"message.content[]: {part}", "refused", why
    for kind in REFUSED_ITEMS:
        yield kind, "refused", NO_MCP


def _session() -> Iterator[Row]:
    nested = {
        "audio.input.noise_reduction": (NOISE_FIELDS,),
        "audio.input.transcription": (TRANSCRIPTION_FIELDS,),
        "audio.input.turn_detection": tuple(TURN_FIELDS.values()),
    }
    for name, field in SESSION_FIELDS.items():
        yield f"session.{name}", field.support, field.note
        seen: set[tuple[str, str]] = set()
        for fields in nested.get(name, ()):
            for row in _fields(f"session.{name}", fields):
                if row[:2] not in seen:
                    seen.add(row[:2])
                    yield row


def _chat() -> Iterator[Row]:
    for name, field in CHAT_FIELDS.items():
        yield name, field.support, field.note
    for role, fields in MESSAGE_FIELDS.items():
        yield from _fields(f"messages[]: {role}", fields)


def _server_events() -> str:
    lines = ["| event | is | note |", "|---|---|---|"]
    named = {name: SERVER_NOTES.get(name, "") for name in SERVER_EVENTS.values()}
    for name, note in named.items():
        support = "ours" if name.startswith("voiceagent.") else "differs" if note else "supported"
        lines.append(f"| `{name}` | {support} | {note} |")
    lines += [f"| `{name}` | not sent | {why} |" for name, why in NOT_SENT.items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(support_page(), end="")
