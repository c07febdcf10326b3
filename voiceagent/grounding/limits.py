"""The limits of a model, from its entry in the registry: what it is not fit for. They are data of the model: this module knows no
particular model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from voiceagent.llm.engine import ToolSchema


class ModelLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `limits` of a model."""

    says: str = ""
    """One line for people: what it cannot do."""
    tools: Mapping[str, tuple[str, ...]] = {}
    """The tools it was made for, by name, and the arguments of each. Empty: any."""
    arguments: Literal["any", "said"] = "any"
    """`said`: an argument that it writes, a choice of the schema too, must have been said in the call; otherwise it is asked
    for."""
    asks: Mapping[str, str] = {}
    """Its question for an argument, by the argument's name."""
    means: Mapping[str, tuple[str, ...]] = {}
    """Further words for a choice of its tools, by the choice: it was taught that a caller may say it so."""
    sentences: tuple[str, ...] = ()
    """The only sentences that it may say by itself. Empty: anything."""
    claims: tuple[str, ...] = ()
    """Further sentences, which are true only if the agent has all of its `tools`."""
    answer_words: str = ""
    """The words that it puts around a tool's result; anything else that it says then must be in the result. Empty: anything."""
    tells: Mapping[str, tuple[str, ...]] = {}
    """The parts of a result that it must tell, by tool; a missing one is added."""

    @property
    def are_checked(self) -> bool:
        """True if its tool calls and replies are checked against what was said."""
        return self.arguments == "said" or self.checks_replies

    @property
    def checks_replies(self) -> bool:
        """True if its replies are checked against what was said, clause by clause; otherwise its text is passed on as it
        comes."""
        return bool(self.sentences or self.answer_words or self.tells or self.claims)

    def knowing(self, words: Mapping[str, tuple[str, ...]]) -> ModelLimits:
        """The limits in a house with words of its own, by the texts that may stand for each: it may say them, and a choice of
        that name may be said so."""
        means = {**words, **{word: (*words.get(word, ()), *texts) for word, texts in self.means.items()}}
        said = " ".join((self.answer_words, *words)) if self.answer_words else ""
        return msgspec.structs.replace(self, means=means, answer_words=said) if words else self


NO_LIMITS = ModelLimits()


def unfit_for(limits: ModelLimits, tools: Sequence[ToolSchema], *, reads_documents: bool = False) -> str:
    """Returns why the model is not fit for an agent with these tools (OpenAI function objects), in a few words that follow "the
    agent"; empty if it is fit."""
    if not limits.tools:
        return ""
    if reads_documents:
        return "answers from documents"
    if not tools:
        return "has no tools"
    strange = [
        name
        for name, arguments in _arguments(tools).items()
        if name not in limits.tools or not arguments <= set(limits.tools[name])
    ]
    return f"has the tool{'s' if len(strange) > 1 else ''} {', '.join(strange)}" if strange else ""


def has_all_tools(limits: ModelLimits, tools: Sequence[ToolSchema]) -> bool:
    """True if an agent with these tools can do all that the model was made for."""
    return set(limits.tools) <= _arguments(tools).keys()


def _arguments(tools: Sequence[ToolSchema]) -> dict[str, set[str]]:
    functions = (tool["function"] for tool in tools)
    return {function["name"]: set((function.get("parameters") or {}).get("properties", {})) for function in functions}
