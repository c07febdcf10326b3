"""The session object of OpenAI's Realtime API: how it is read from a client's changes, and how it is shown. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import msgspec
from msgspec.structs import replace

from voiceagent import __version__
from voiceagent.json_types import JsonObject
from voiceagent.realtime.openai_fields import (
    Field,
    flag,
    integer,
    number,
    one_of,
    only,
    optional,
    read_fields,
    text,
)
from voiceagent.realtime.settings import (
    ClientSettings,
    Eagerness,
    Encoding,
    SessionFacts,
    ToolChoice,
    Transcription,
    Truncation,
    TurnDetection,
    invalid,
)

MAX_SESSION_BYTES = 65_536
MAX_INSTRUCTIONS_CHARACTERS = 16_000
MAX_CONTAINERS = 8_000
"""The most lists and objects in one update, counted by their brackets: each takes time of the event loop."""
MAX_NAME_CHARACTERS = 200
MAX_TOKENS = 4096
PREFIX = "session"
OF_PCM_HZ = 24_000
OF_G711_HZ = 8_000


def _type(value: object) -> object:
    if value not in ("realtime", "transcription"):
        raise ValueError("must be realtime or transcription")
    return value == "transcription"


def _modalities(value: object) -> object:
    if value not in (["audio"], ["text"]):
        raise ValueError('must be ["audio"] or ["text"]')
    return value == ["text"]


def _most_tokens(value: object) -> object:
    if value in (None, "inf"):
        return None
    try:
        return integer(1, MAX_TOKENS)(value)
    except ValueError as error:
        raise ValueError(f'must be a whole number from 1 to {MAX_TOKENS}, or "inf"') from error


def _tool_choice(value: object) -> object:
    if value in ("auto", "none", "required"):
        return value
    if isinstance(value, dict) and value.keys() == {"type", "name"} and value["type"] == "function":
        return {"type": "function", "name": text(MAX_NAME_CHARACTERS)(value["name"])}
    if isinstance(value, dict) and value.get("type") == "mcp":
        raise ValueError("is not supported in this form: name a tool by its function")
    raise ValueError('must be "auto", "none", "required" or {"type": "function", "name": …}')


def _voice(value: object) -> object:
    if isinstance(value, dict) and value.keys() == {"id"}:
        return {"id": text(MAX_NAME_CHARACTERS)(value["id"])}
    return text(MAX_NAME_CHARACTERS)(value)


def _format(value: object) -> object:
    kind = str(value.get("type")) if isinstance(value, dict) else ""
    rates = {"audio/pcm": OF_PCM_HZ, "audio/pcmu": OF_G711_HZ, "audio/pcma": OF_G711_HZ}
    if not isinstance(value, dict) or kind not in rates or value.keys() - {"type", "rate"}:
        raise ValueError('must be {"type": "audio/pcm", "rate": 24000}, {"type": "audio/pcmu"} or {"type": "audio/pcma"}')
    if value.get("rate", rates[kind]) not in (rates[kind], None):
        raise ValueError(f"must have the rate {rates[kind]} for {kind}")
    return str(kind).removeprefix("audio/")


NOISE_FIELDS: Mapping[str, Field] = {
    "type": Field(one_of("near_field", "far_field"), "differs", "both are the same noise suppressor"),
    "strength": only(None, why="the noise suppressor has one strength"),
}


def _noise_reduction(value: object) -> object:
    if value is None:
        return None
    kinds = 'must be {"type": "near_field"} or {"type": "far_field"}, or null for none'
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        raise ValueError(kinds)
    if value.get("strength") is not None:
        raise ValueError("has a strength, which is not supported: the noise suppressor has one")
    if value["type"] not in ("near_field", "far_field") or value.keys() - {"type", "strength"}:
        raise ValueError(kinds)
    return value["type"]


def _tools(value: object) -> object:
    if value is None:
        return None
    if not isinstance(value, list):
        raise ValueError("must be a list of tools")
    return tuple(value)


def _tracing(value: object) -> object:
    if value is None or value == "auto":
        return value
    known = {"workflow_name", "group_id", "metadata"}
    if (
        isinstance(value, dict)
        and not value.keys() - known
        and all(isinstance(value.get(name), str | None) for name in ("workflow_name", "group_id"))
    ):
        return value
    raise ValueError('must be "auto", null, or an object with workflow_name and group_id, which are texts, and metadata')


TRANSCRIPTION_FIELDS: Mapping[str, Field] = {
    "model": Field(text(MAX_NAME_CHARACTERS), "differs", "kept as it is given; the agent's own recogniser transcribes"),
    "language": Field(
        optional(text(MAX_NAME_CHARACTERS)), "differs", "must be a language of the agent; its setting says which are"
    ),
    "prompt": only(None, "", why="the recogniser takes no prompt"),
    "keywords": only(None, [], why="the recogniser takes no keywords; `stt` in agent.yaml may"),
    "languages": only(None, [], why="the agent's `language` says which are recognised"),
    "delay": only(None, why="final texts come as soon as they can"),
}

OF_BROWSERS = "refused in calls by telephone"
TURN_FIELDS: Mapping[str, Mapping[str, Field]] = {
    "server_vad": {
        "type": Field(one_of("server_vad")),
        "threshold": Field(optional(number(0.0, 1.0)), note=OF_BROWSERS),
        "prefix_padding_ms": Field(optional(integer(0, 1000)), note=OF_BROWSERS),
        "silence_duration_ms": Field(
            optional(integer(100, 5000)),
            "differs",
            f"where it is left out, the agent's own endpointing ends the turn; {OF_BROWSERS}",
        ),
        "create_response": Field(optional(flag)),
        "interrupt_response": Field(optional(flag)),
        "idle_timeout_ms": Field(optional(integer(1000, 60_000))),
    },
    "semantic_vad": {
        "type": Field(one_of("semantic_vad")),
        "eagerness": Field(
            optional(one_of("auto", "low", "medium", "high")),
            "supported",
            "`low`, `medium` and `high` are the manners `patient`, `balanced` and `brisk`; `auto` is as the agent is set",
        ),
        "create_response": Field(optional(flag)),
        "interrupt_response": Field(optional(flag)),
    },
}


def _turn_detection(value: object) -> object:
    if value is None:
        return TurnDetection(by="client", answers=False, interruptible=False)
    kind = value.get("type") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(kind, str) or kind not in TURN_FIELDS:
        raise ValueError('must be null, or an object whose type is "server_vad" or "semantic_vad"')
    found: JsonObject = {}
    for name, given in value.items():
        field = TURN_FIELDS[kind].get(name)
        if field is None:
            raise ValueError(f"has no field {name[:40]!r} for {kind}; it has {', '.join(TURN_FIELDS[kind])}")
        try:
            found[name] = field.check(given)
        except ValueError as error:
            raise ValueError(f"has a field {name} that cannot be used: it {error}") from error
    return TurnDetection(
        by="silence" if kind == "server_vad" else "meaning",
        eagerness=found.get("eagerness") or "auto",
        silence_ms=found.get("silence_duration_ms"),
        threshold=found.get("threshold"),
        padding_ms=found.get("prefix_padding_ms"),
        idle_ms=found.get("idle_timeout_ms"),
        answers=found.get("create_response") is not False,
        interruptible=found.get("interrupt_response") is not False,
    )


def _transcription(value: object) -> object:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ValueError("must be an object or null")
    for name, given in value.items():
        field = TRANSCRIPTION_FIELDS.get(name)
        if field is None:
            raise ValueError(f"has no field {name[:40]!r}; it has {', '.join(TRANSCRIPTION_FIELDS)}")
        try:
            field.check(given)
        except ValueError as error:
            raise ValueError(f"has a field {name} that cannot be used: it {error}") from error
    return Transcription(value.get("model"), value.get("language"))


def _truncation(value: object) -> object:
    if value == "auto":
        return Truncation()
    if value == "disabled":
        return Truncation("never")
    expected = 'must be "auto", "disabled", or {"type": "retention_ratio", "retention_ratio": 0 to 1}'
    if not isinstance(value, dict) or value.get("type") != "retention_ratio":
        raise ValueError(expected)
    limits = value.get("token_limits") or {}
    if value.keys() - {"type", "retention_ratio", "token_limits"} or not isinstance(limits, dict):
        raise ValueError(expected)
    if limits.keys() - {"post_instructions"}:
        raise ValueError("has token_limits with other fields than post_instructions")
    try:
        ratio = number(0.0, 1.0)(value.get("retention_ratio"))
        tokens = optional(integer(100, 1_000_000))(limits.get("post_instructions"))
    except ValueError as error:
        raise ValueError(f"holds a number that cannot be used: it {error}") from error
    return Truncation("ratio", cast(float, ratio), cast("int | None", tokens))


INSTRUCTIONS = Field(optional(text(MAX_INSTRUCTIONS_CHARACTERS)))
MODALITIES = Field(_modalities)
MOST_TOKENS = Field(_most_tokens, note="estimated where a reply is checked a sentence at a time")
TOOL_CHOICE = Field(
    _tool_choice,
    "differs",
    "a forced call begins the reply; what follows its result is free. Refused where the model's engine cannot force a call, "
    "as of llama.cpp and Ollama; `mcp` is refused",
)
TOOLS = Field(
    _tools,
    "differs",
    "functions; MCP servers where the operator allows their addresses, without `connector_id`, `tunnel_id`, `defer_loading` and "
    "`allowed_callers`. Their credentials are not shown",
)
RESPONSE_TOOLS = Field(_tools, "differs", "functions; an MCP server is the session's")
PARALLEL = Field(optional(flag))
PROMPT = only(None, why="prompts are not stored here")
REASONING = only(None, why="the model's own setting stands in agent.yaml")
FORMAT = Field(_format, "differs", "over WebRTC, audio is Opus, and only `audio/pcm` may be named")
VOICE = Field(
    _voice, "differs", "kept as it is given; the agent's own voice speaks. Another name is refused once the agent was heard"
)

SESSION_FIELDS: Mapping[str, Field] = {
    "type": Field(_type, "supported", "`transcription`: the agent only listens, and has the fields of `audio.input` alone"),
    "model": Field(optional(text(MAX_NAME_CHARACTERS)), "differs", "kept as it is given; the agent's own model answers"),
    "instructions": INSTRUCTIONS,
    "output_modalities": MODALITIES,
    "max_output_tokens": MOST_TOKENS,
    "tools": TOOLS,
    "tool_choice": TOOL_CHOICE,
    "parallel_tool_calls": PARALLEL,
    "prompt": PROMPT,
    "reasoning": REASONING,
    "tracing": Field(_tracing, "differs", "kept as it is given; nothing is sent to anybody, the operator may keep an event log"),
    "truncation": Field(_truncation, "supported", "`disabled`: a prompt that does not fit at all is still shortened"),
    "include": only(None, [], why="the recogniser gives no logprobs"),
    "audio.input.format": FORMAT,
    "audio.input.noise_reduction": Field(_noise_reduction),
    "audio.input.transcription": Field(_transcription),
    "audio.input.turn_detection": Field(_turn_detection),
    "audio.output.format": FORMAT,
    "audio.output.voice": VOICE,
    "audio.output.speed": Field(number(0.25, 1.5)),
}
OF_NO_TELEPHONE = {"threshold": "threshold", "prefix_padding_ms": "padding_ms", "silence_duration_ms": "silence_ms"}
"""Fields of `server_vad` that calls by telephone do not have."""
UNNAMED_VOICE = ClientSettings().voice
SHOWN_ONLY = ("id", "object", "expires_at", "voiceagent")
"""Fields of the shown session that a client may send back unchanged."""

OF_TRANSCRIPTION = frozenset({"type", "include", *(path for path in SESSION_FIELDS if path.startswith("audio.input."))})
_TO_SETTINGS = {
    "type": "transcribes_only",
    "model": "model",
    "instructions": "instructions",
    "output_modalities": "text_only",
    "max_output_tokens": "max_tokens",
    "tools": "tools",
    "tool_choice": "tool_choice",
    "parallel_tool_calls": "parallel_tool_calls",
    "tracing": "tracing",
    "truncation": "truncation",
    "audio.input.format": "input_encoding",
    "audio.input.noise_reduction": "noise_reduction",
    "audio.input.transcription": "transcription",
    "audio.input.turn_detection": "turn_detection",
    "audio.output.format": "output_encoding",
    "audio.output.voice": "voice",
    "audio.output.speed": "speed",
}


def read_session(
    settings: ClientSettings, facts: SessionFacts, changes: JsonObject, event_id: str | None = None
) -> ClientSettings:
    """See `Dialect.read_session`."""
    check_size(changes, event_id)
    shown = write_session(settings, facts)
    for name in SHOWN_ONLY:
        if name in changes and changes[name] != shown.get(name):
            raise invalid(f"{PREFIX}.{name} cannot be changed.", f"{PREFIX}.{name}", event_id)
    wanted = {name: value for name, value in changes.items() if name not in SHOWN_ONLY}
    values = read_fields(wanted, SESSION_FIELDS, PREFIX, event_id)
    if values.get("type", settings.transcribes_only):
        for path in values:
            if path not in OF_TRANSCRIPTION:
                param = f"{PREFIX}.{path}"
                raise invalid(f"{param} is no part of a session that only transcribes.", param, event_id, "unknown_parameter")
    draft = {_TO_SETTINGS[path]: value for path, value in values.items() if path in _TO_SETTINGS}
    for name in ("model", "tools", "instructions"):
        if draft.get(name, 0) is None:
            del draft[name]
    _check_facts(settings, facts, draft, event_id)
    changed = replace(settings, **draft)
    check_forced(changed.tool_choice, changed.tools, facts, f"{PREFIX}.tool_choice", event_id)
    if len(msgspec.json.encode(write_session(changed, facts))) > MAX_SESSION_BYTES:
        raise invalid(f"The session would be larger than {MAX_SESSION_BYTES} bytes; send less.", PREFIX, event_id)
    return changed


def check_size(changes: JsonObject, event_id: str | None) -> None:
    """Raises ClientEventError for an object that would take too long to look at."""
    if _containers(changes) > MAX_CONTAINERS:
        raise invalid(f"The update holds more than {MAX_CONTAINERS} lists and objects; send less.", PREFIX, event_id)


def check_forced(
    choice: ToolChoice, offered: Sequence[JsonObject], facts: SessionFacts, param: str, event_id: str | None
) -> None:
    """Raises ClientEventError for a forced call that the language model's engine cannot carry out, or of a tool that is neither
    the server's nor `offered`."""
    if choice not in ("auto", "none") and facts.no_forcing:
        raise invalid(f"{param} cannot force a call: {facts.no_forcing}.", param, event_id, "unsupported_value")
    if isinstance(choice, dict):
        known = [*facts.tools, *(str(tool.get("name")) for tool in offered if isinstance(tool, dict))]
        if choice["name"] not in known:
            raise invalid(f"{param} names {choice['name'][:64]!r}; there is no such tool.", param, event_id)


def _check_facts(settings: ClientSettings, facts: SessionFacts, draft: JsonObject, event_id: str | None) -> None:
    """Raises ClientEventError for what this call, on its leg and with its agent, cannot do."""
    for side in ("input", "output"):
        if not facts.takes_audio and draft.get(f"{side}_encoding", "pcm") != "pcm":
            param = f"{PREFIX}.audio.{side}.format"
            message = (
                f"{param} must be audio/pcm: this call's audio is not sent by events, and its connection has agreed on a format."
            )
            raise invalid(message, param, event_id)
    turns = draft.get("turn_detection")
    if facts.is_telephone and isinstance(turns, TurnDetection):
        for name, kept in OF_NO_TELEPHONE.items():
            if getattr(turns, kept) not in (None, getattr(settings.turn_detection, kept)):
                param = f"{PREFIX}.audio.input.turn_detection"
                raise invalid(f"{param}.{name} cannot be set for calls by telephone; leave it out.", param, event_id)
    if facts.has_spoken and settings.voice != UNNAMED_VOICE and draft.get("voice", settings.voice) != settings.voice:
        param = f"{PREFIX}.audio.output.voice"
        raise invalid(f"{param} cannot change once the agent was heard.", param, event_id, "cannot_update_voice")
    transcription = draft.get("transcription")
    spoken = transcription.language if isinstance(transcription, Transcription) else None
    if spoken and facts.languages and spoken.lower().split("-")[0] not in facts.languages:
        param = f"{PREFIX}.audio.input.transcription"
        known = ", ".join(facts.languages)
        raise invalid(f"{param}.language is {spoken[:20]!r}; this agent hears {known}.", param, event_id)


def write_session(settings: ClientSettings, facts: SessionFacts) -> JsonObject:
    """See `Dialect.write_session`."""
    noise = settings.noise_reduction
    heard = {
        "format": _shown_format(settings.input_encoding),
        "transcription": _shown_transcription(settings.transcription),
        "noise_reduction": None if noise is None else {"type": noise},
        "turn_detection": _shown_turns(settings.turn_detection),
    }
    ours = {
        "version": __version__,
        "call_id": facts.call_id,
        "agent": facts.agent,
        "greeting": facts.greets,
        "recording": facts.is_recorded,
    }
    if settings.transcribes_only:
        return {
            "type": "transcription",
            "object": "realtime.transcription_session",
            "id": facts.session_id,
            "audio": {"input": heard},
            "voiceagent": ours,
        }
    return {
        "type": "realtime",
        "object": "realtime.session",
        "id": facts.session_id,
        "model": settings.model,
        "output_modalities": modalities(settings.text_only),
        "instructions": settings.instructions,
        "audio": {
            "input": heard,
            "output": {
                "format": _shown_format(settings.output_encoding),
                "voice": settings.voice,
                "speed": settings.speed,
            },
        },
        "tools": list(settings.tools),
        "tool_choice": settings.tool_choice,
        "parallel_tool_calls": settings.parallel_tool_calls,
        "max_output_tokens": shown_tokens(settings.max_tokens),
        "truncation": _shown_truncation(settings.truncation),
        "tracing": settings.tracing,
        "voiceagent": ours,
    }


def modalities(text_only: bool) -> list[str]:
    """The `output_modalities` of a session or a response."""
    return ["text"] if text_only else ["audio"]


def shown_tokens(most: int | None) -> int | str:
    """The `max_output_tokens` of a session or a response."""
    return "inf" if most is None else most


def _shown_format(encoding: Encoding) -> JsonObject:
    return {"type": "audio/pcm", "rate": OF_PCM_HZ} if encoding == "pcm" else {"type": f"audio/{encoding}"}


def _shown_transcription(transcription: Transcription | None) -> JsonObject | None:
    if transcription is None:
        return None
    return {name: value for name, value in msgspec.structs.asdict(transcription).items() if value is not None}


def _shown_turns(turns: TurnDetection) -> JsonObject | None:
    if turns.is_manual:
        return None
    shared = {"create_response": turns.answers, "interrupt_response": turns.interruptible}
    if turns.by == "meaning":
        eagerness: Eagerness = turns.eagerness
        return {"type": "semantic_vad", "eagerness": eagerness, **shared}
    numbers = {
        "threshold": turns.threshold,
        "prefix_padding_ms": turns.padding_ms,
        "silence_duration_ms": turns.silence_ms,
        "idle_timeout_ms": turns.idle_ms,
    }
    return {"type": "server_vad", **shared, **{name: value for name, value in numbers.items() if value is not None}}


def _shown_truncation(truncation: Truncation) -> JsonObject | str:
    if truncation.kind == "ratio":
        limits = {} if truncation.tokens is None else {"token_limits": {"post_instructions": truncation.tokens}}
        return {"type": "retention_ratio", "retention_ratio": truncation.ratio, **limits}
    return "auto" if truncation.kind == "auto" else "disabled"


def _containers(changes: JsonObject) -> int:
    written = msgspec.json.encode(changes)
    return written.count(b"[") + written.count(b"{")
