"""Values that the turn engine collects itself, as `agent.yaml` names them: `phone: {collect: phone}` among a step's values, and
`collect: {book.phone: phone}` for a tool's parameter."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Literal

import msgspec

from voiceagent.conversation.rules import MODEL, TRANSFER, CollectRule
from voiceagent.json_types import JsonObject
from voiceagent.settings_file import did_you_mean
from voiceagent.values.kinds import KINDS

READ_BACK = frozenset({"phone", "email", "card", "date_of_birth"})
"""Kinds that are always read back, unless the settings say otherwise."""
MAX_COLLECTED = 32
_PARAMETER = re.compile(r"([\w-]{1,64})\.(\w{1,64})")


class CollectSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A value that the agent asks for, reads back and has corrected by itself."""

    collect: str
    """The kind of value."""
    ask: Annotated[str, msgspec.Meta(max_length=300)] = ""
    """The question; empty: the language's."""
    options: dict[str, object] = {}
    """The kind's own."""
    confirm: Literal["always", "doubtful", "never"] | None = None
    """It is read back always, where it may have been heard wrong, or never. None: the first for kinds of `READ_BACK`, else the
    second."""
    tries: Annotated[int, msgspec.Meta(ge=1, le=10)] = 3
    """The questions that may fail before it is given up."""
    give_up: str = MODEL
    """The end of it: the caller is transferred (`transfer`), the language model goes on (`model`), or a step's name."""

    @property
    def rule(self) -> CollectRule:
        """The turn engine's rule."""
        confirm = self.confirm or ("always" if self.collect in READ_BACK else "doubtful")
        return CollectRule(self.collect, self.ask, self.options, confirm, self.tries, self.give_up)


Collected = Annotated[dict[str, str | dict[str, object]], msgspec.Meta(max_length=MAX_COLLECTED)]
"""Kinds, or all settings of a value, by `tool.parameter`."""


def is_collected(value: Mapping[str, object]) -> bool:
    """Returns whether the settings of a step's value say that the turn engine collects it."""
    return "collect" in value


def collected(value: str | Mapping[str, object]) -> CollectSettings:
    """The settings of a value that the turn engine collects. Raises msgspec.ValidationError."""
    return msgspec.convert({"collect": value} if isinstance(value, str) else value, CollectSettings)


def value_mistakes(value: str | Mapping[str, object], steps: Collection[str]) -> Iterator[str]:
    """The mistakes in such settings. `steps` are the agent's."""
    known = CollectSettings.__struct_fields__
    for key in () if isinstance(value, str) else value:
        if key not in known:
            yield f"a collected value has no setting {key!r:.60}; expected {', '.join(known)}{did_you_mean(key, known)}"
            return
    try:
        settings = collected(value)
    except msgspec.ValidationError as error:
        yield f"a collected value: {error}"
        return
    if settings.collect not in KINDS:
        near = did_you_mean(settings.collect, KINDS)
        yield f"`collect` names {settings.collect!r:.60}; expected one of {', '.join(KINDS)}{near}"
    elif settings.give_up not in (TRANSFER, MODEL, *steps):
        near = did_you_mean(settings.give_up, steps)
        yield f"`give_up` is {settings.give_up!r:.60}; expected {TRANSFER}, {MODEL} or a step{near}"


def parameter_mistakes(values: Collected, steps: Collection[str]) -> Iterator[tuple[str, str]]:
    """The mistakes in `collect`, each with its key, as far as they show without the tools."""
    for name, value in values.items():
        if not _PARAMETER.fullmatch(name):
            yield f"{name!r:.80}: expected tool.parameter, such as book.phone", name
        yield from ((f"{name}: {message}", name) for message in value_mistakes(value, steps))


def unknown_parameters(values: Collection[str], tools: Mapping[str, JsonObject]) -> Iterator[str]:
    """Lines about parameters that are to be collected and no tool has. `tools` are the schemas of the agent's, by name."""
    for name in values:
        tool, _, parameter = name.partition(".")
        if tool not in tools:
            yield f"collect: {name}: the agent has no tool {tool!r:.60}{did_you_mean(tool, tools)}"
        elif parameter not in (known := tools[tool].get("properties", {})):
            yield f"collect: {name}: the tool {tool} has no parameter {parameter!r:.60}{did_you_mean(parameter, known)}"
