"""The tools by which the language model moves through an agent's steps: it notes values that the caller has told, and goes to a
step that the caller asks for. The turn engine decides what follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from typing_extensions import override

from voiceagent.conversation.steps import GO_TO, NOTE
from voiceagent.errors import ConfigError
from voiceagent.settings.steps import StepSettings
from voiceagent.tools.call_tools import StepTools
from voiceagent.tools.schemas import ArgumentSchema, SchemaTool
from voiceagent.tools.tool import RunScope, Tool, ToolPolicy


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


class GoToTool(SchemaTool):
    """`go_to_step`: goes to one of the steps that are open everywhere."""

    def __init__(self, description: str, steps: Sequence[str]) -> None:
        properties = {"step": {"type": "string", "enum": list(steps)}}
        arguments = ArgumentSchema({"type": "object", "properties": properties, "required": ["step"]})
        super().__init__(GO_TO, description, ToolPolicy("idempotent"), arguments)

    @override
    async def run(self, given: dict[str, object], scope: RunScope) -> object:
        return {"step": given["step"]}


class AgentStepTools(StepTools):
    """The tools of each step of one agent that has steps."""

    def __init__(self, steps: Mapping[str, StepSettings], note: str, go_to: str) -> None:
        """`note` and `go_to` describe the two tools to the language model. Raises ConfigError."""
        everywhere = [name for name, step in steps.items() if step.everywhere]
        self._only = {name: step.tools for name, step in steps.items()}
        self._of: dict[str, tuple[Tool, ...]] = {}
        for name, step in steps.items():
            others = [other for other in everywhere if other != name]
            tools = (NoteTool(name, note, step.values),) if step.values else ()
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
    def own(self, step: str) -> tuple[Tool, ...]:
        return self._of.get(step, ())
