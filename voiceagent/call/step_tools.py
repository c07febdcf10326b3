"""The tools by which the language model moves through an agent's steps: it notes values that the caller has told, and goes to a
step that the caller asks for. The turn engine decides what follows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from typing_extensions import override

from voiceagent.conversation.rules import MODEL
from voiceagent.conversation.steps import GO_TO, NOTE
from voiceagent.errors import ConfigError
from voiceagent.json_types import JsonObject
from voiceagent.settings.steps import StepSettings
from voiceagent.settings.values import collected, is_collected
from voiceagent.tools.call_tools import StepTools
from voiceagent.tools.schemas import ArgumentSchema, SchemaTool
from voiceagent.tools.tool import RunScope, Tool, ToolPolicy
from voiceagent.values.kinds import kind


class NoteTool(SchemaTool):
    """`note` in one step: keeps the values that the model gives."""

    def __init__(self, step: str, description: str, values: Mapping[str, object]) -> None:
        """Raises ConfigError for a schema that cannot be used."""
        try:
            arguments = ArgumentSchema({"type": "object", "properties": dict(values)}, own_patterns=True)
        except ValueError as error:
            raise ConfigError(f"step {step}: values: {error}") from error
        super().__init__(NOTE, description, ToolPolicy("idempotent"), arguments)

    @override
    async def run(self, given: dict[str, object], scope: RunScope) -> object:
        return {"noted": given}


def _told(item: tuple[str, Mapping[str, object]]) -> tuple[str, Mapping[str, object] | None]:
    """A value of a step, and the JSON schema by which the language model notes it; None if it never does."""
    name, schema = item
    if not is_collected(schema):
        return item
    settings = collected(schema)
    return name, kind(settings.collect).schema() if settings.give_up == MODEL else None


class GoToTool(SchemaTool):
    """`go_to_step`: goes to one of the steps that are open everywhere. A final step has it not."""

    def __init__(self, description: str, steps: Sequence[str]) -> None:
        properties = {"step": {"type": "string", "enum": list(steps)}}
        arguments = ArgumentSchema({"type": "object", "properties": properties, "required": ["step"]})
        super().__init__(GO_TO, description, ToolPolicy("idempotent"), arguments)

    @override
    async def run(self, given: dict[str, object], scope: RunScope) -> object:
        return {"step": given["step"]}


class AgentStepTools(StepTools):
    """The tools of each step of one agent that has steps or collects parameters of its tools."""

    def __init__(self, steps: Mapping[str, StepSettings], note: str, go_to: str, collected: Iterable[str] = ()) -> None:
        """`note` and `go_to` describe the two tools to the language model, which is not shown the parameters that the turn engine
        collects: `tool.parameter`. Raises ConfigError."""
        self._hidden = {tuple(name.split(".", 1)) for name in collected}
        everywhere = [name for name, step in steps.items() if step.everywhere]
        self._only = {name: step.tools for name, step in steps.items()}
        self._of: dict[str, tuple[Tool, ...]] = {}
        for name, step in steps.items():
            others = [other for other in everywhere if other != name and not step.final]
            told = {value: schema for value, schema in map(_told, step.values.items()) if schema is not None}
            tools = (NoteTool(name, note, told),) if told else ()
            self._of[name] = (*tools, GoToTool(go_to, others)) if others else tools

    @property
    def every(self) -> tuple[Tool, ...]:
        """All of them: the same name may stand for several."""
        return tuple(tool for tools in self._of.values() for tool in tools)

    @property
    @override
    def names(self) -> frozenset[str]:
        return frozenset(tool.name for tool in self.every)

    @override
    def has(self, step: str, tool: str) -> bool:
        only = self._only.get(step)
        return only is None or tool in only

    @override
    def shown(self, schema: JsonObject) -> JsonObject:
        function = schema["function"]
        hidden = {parameter for tool, parameter in self._hidden if tool == function["name"]}
        if not hidden:
            return schema
        whole = function["parameters"]
        properties = {name: one for name, one in whole["properties"].items() if name not in hidden}
        required = [name for name in whole.get("required", ()) if name not in hidden]
        return {**schema, "function": {**function, "parameters": {**whole, "properties": properties, "required": required}}}

    @override
    def own(self, step: str) -> tuple[Tool, ...]:
        return self._of.get(step, ())
