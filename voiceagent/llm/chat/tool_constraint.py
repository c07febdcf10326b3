"""Constrains tool calls for an engine that picks its own tokens. Text stays free. After `<tool_call>` only a known tool with
arguments of its schema can be written. llguidance (Microsoft, MIT) says which tokens may come next. If only one text can follow,
its tokens are taken in one step. Calls are written greedily, whatever the temperature."""

from __future__ import annotations

import json
import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path

import llguidance.numpy
import numpy as np
from llguidance import LLMatcher, LLTokenizer
from numpy.typing import NDArray

from voiceagent.json_types import JsonObject
from voiceagent.llm.chat.chat_template import ChatTemplate
from voiceagent.llm.embedded.genai import Logits
from voiceagent.llm.engine import ToolSchema

log = logging.getLogger(__name__)

OPEN, CLOSE = "<tool_call>", "</tool_call>"
BEGUN = len("<tool")
"""The length of the part of OPEN that occurs in no sentence. After it the rest of OPEN must follow."""
MAX_GRAMMARS = 16
COMPOSED = '"allOf"'
_AS_IN_PROMPTS = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": ", "lenient": True}
"""`lenient`: parts of a schema that a grammar cannot express (uniqueItems, an unknown format) are left out."""


class Matcher:
    """The place of a call in its grammar."""

    def __init__(self, matcher: LLMatcher, vocabulary: int) -> None:
        """`vocabulary` is the tokenizer's size."""
        self._matcher = matcher
        self._vocabulary = vocabulary

    def copy(self) -> Matcher:
        """Another matcher at the same place."""
        return Matcher(self._matcher.deep_copy(), self._vocabulary)

    @property
    def is_over(self) -> bool:
        """True once the call is complete."""
        return bool(self._matcher.is_stopped())

    def forced(self) -> list[int]:
        """The tokens that must come next, if there is no choice."""
        return self._matcher.compute_ff_tokens()

    def allowed(self) -> NDArray[np.bool_]:
        """The tokens that may come next, [vocabulary]."""
        mask = llguidance.numpy.allocate_token_bitmask(1, self._vocabulary)
        llguidance.numpy.fill_next_token_bitmask(self._matcher, mask, 0)
        return np.unpackbits(mask[0].view(np.uint8), bitorder="little").astype(bool)

    def take(self, *tokens: int) -> bool:
        """Note that the tokens were written. Returns False if they are not allowed."""
        whole = list(tokens)
        return self._matcher.validate_tokens(whole) == len(whole) and bool(self._matcher.consume_tokens(whole))


class ToolConstraints:
    """The constraints of one model. For use in one thread."""

    def __init__(self, folder: Path, template: ChatTemplate) -> None:
        """`folder` holds `tokenizer.json`. A call stands on its own lines if the template writes it so. A model with pieces of
        calls in its vocabulary, such as the bundled one, is not constrained: llguidance would make it write calls in other tokens
        than it learned."""
        self._tokenizer: LLTokenizer | None = None
        self._line = "\n" if f"{OPEN}\n" in template.call else ""
        if template.form is not None and template.form.name == "hermes":
            text = (folder / "tokenizer.json").read_text(encoding="utf-8")
            added = json.loads(text).get("added_tokens") or []
            self._close = _as_token(added, CLOSE)
            if all(token["special"] or token["content"].startswith("<") for token in added):
                self._tokenizer = LLTokenizer(text)
        self._matchers: OrderedDict[str, Matcher | None] = OrderedDict()

    def of(self, tools: Sequence[ToolSchema]) -> ToolConstraint | None:
        """The constraint of one generation. None if there is nothing to constrain."""
        if self._tokenizer is None:
            return None
        return ToolConstraint(self, self._tokenizer, tools) if tools else NoCall(self, self._tokenizer, tools)

    def matcher(self, tools: Sequence[ToolSchema], rest: str) -> Matcher | None:
        """A matcher at the beginning of a call, where the `rest` of its mark must still come. None if the tools cannot be
        constrained."""
        if self._tokenizer is None:
            return None
        text = self._grammar(tools, rest)
        if text not in self._matchers:
            self._matchers[text] = self._compiled(self._tokenizer, tools, rest)
            while len(self._matchers) > MAX_GRAMMARS:
                self._matchers.popitem(last=False)
        found = self._matchers[text]
        return None if found is None else found.copy()

    def _compiled(self, tokenizer: LLTokenizer, tools: Sequence[ToolSchema], rest: str) -> Matcher | None:
        """The matcher. A tool whose schema cannot be constrained takes any arguments."""
        matcher = self._of_grammar(tokenizer, tools, rest)
        if matcher.get_error():
            matcher = self._of_grammar(tokenizer, [self._constrainable(tokenizer, tool) for tool in tools], rest)
        if problem := matcher.get_error():
            log.warning("the language model's tool calls are not constrained: %s", " ".join(problem.split())[:200])
            return None
        return Matcher(matcher, tokenizer.vocab_size)

    def _constrainable(self, tokenizer: LLTokenizer, tool: ToolSchema) -> ToolSchema:
        function = tool["function"]
        problem = self._of_grammar(tokenizer, [tool], "").get_error()
        if not problem:
            return tool
        log.warning("arguments of %s are not constrained: %s", function["name"], " ".join(problem.split())[:200])
        return {**tool, "function": {**function, "parameters": {}}}

    def _of_grammar(self, tokenizer: LLTokenizer, tools: Sequence[ToolSchema], rest: str) -> LLMatcher:
        return LLMatcher(tokenizer, LLMatcher.grammar_from_lark(self._grammar(tools, rest)))

    def _grammar(self, tools: Sequence[ToolSchema], rest: str) -> str:
        return grammar(tools, self._close, rest, self._line)


class ToolConstraint:
    """The constraint of one generation. It is told every token and knows whether a call is being written."""

    def __init__(self, constraints: ToolConstraints, tokenizer: LLTokenizer, tools: Sequence[ToolSchema]) -> None:
        self._constraints = constraints
        self._tokenizer = tokenizer
        self._tools = tools
        self._ids: list[int] = []
        self.matcher: Matcher | None = None
        """The matcher of the call that is being written. Only copies may be used."""
        self.called = False
        """True once a call has begun."""

    @property
    def inside(self) -> bool:
        """True while a call is being written."""
        return self.matcher is not None

    def opening(self) -> tuple[list[int], Matcher | None]:
        """The tokens before a call is constrained, and the matcher after them."""
        return self._tokenizer.tokenize_str(OPEN[:BEGUN]), self._constraints.matcher(self._tools, OPEN[BEGUN:])

    @property
    def arguments(self) -> list[str]:
        """The names of all tools' arguments."""
        schemas = [tool["function"].get("parameters", {}) for tool in self._tools]
        return list(dict.fromkeys(name for schema in schemas for name in schema.get("properties", {})))

    def took(self, token: int) -> None:
        """The token was generated."""
        if self.matcher is not None:
            self._go_on([token])
            return
        self._ids.append(token)
        text = self._tokenizer.decode_str(self._ids[-len(OPEN) :])
        begun = next((length for length in range(len(OPEN), BEGUN - 1, -1) if text.endswith(OPEN[:length])), 0)
        if begun:
            self.called = True
            self.matcher = self._constraints.matcher(self._tools, OPEN[begun:])
            self._ids.clear()

    def next(self, logits: Logits) -> list[int]:
        """The likeliest allowed token, with all tokens that must follow it. `logits` are as for `allow`."""
        tokens = self.forced()
        if not tokens:
            self.allow(logits)
            tokens = [int(logits[0, -1].argmax())]
            self.took(tokens[0])
            tokens += self.forced()
        return tokens

    def forced(self) -> list[int]:
        """The tokens that must come next, if there is no choice. They count as generated."""
        tokens = self.matcher.forced() if self.matcher else []
        if tokens:
            self._go_on(tokens)
        return tokens

    def allow(self, logits: Logits) -> None:
        """Make tokens that are not allowed impossible in `logits`, float32 [1, 1, vocabulary]."""
        if self.matcher is None:
            return
        allowed = self.matcher.allowed()[: logits.shape[-1]]
        logits[..., : allowed.size][..., ~allowed] = -np.inf
        logits[..., allowed.size :] = -np.inf

    def _go_on(self, tokens: list[int]) -> None:
        if self.matcher is not None:
            self.matcher.take(*tokens)
            self.matcher = None if self.matcher.is_over else self.matcher


class NoCall(ToolConstraint):
    """The constraint of one generation of an agent without tools. The generation may not begin with a call, as models that
    learned tool calls sometimes do."""

    _begun = False

    @property
    def inside(self) -> bool:
        """True until the first token is generated."""
        return not self._begun

    def took(self, token: int) -> None:
        """The token was generated."""
        self._begun = True

    def forced(self) -> list[int]:
        """No token is forced."""
        return []

    def opening(self) -> tuple[list[int], Matcher | None]:
        """No call may begin."""
        return [], None

    def allow(self, logits: Logits) -> None:
        """Make the first token of a call impossible."""
        logits[..., self._tokenizer.tokenize_str(OPEN)[0]] = -np.inf


def _as_token(added: list[dict[str, object]], text: str) -> str:
    """The text as a grammar writes it. If the tokenizer has it as one added token, that token's id is used, because llguidance
    does not treat it as text."""
    whole = next((token["id"] for token in added if token["content"] == text), None)
    return json.dumps(text) if whole is None else f"<[{whole}]>"


def grammar(tools: Sequence[ToolSchema], close: str, rest: str = "", line: str = "") -> str:
    """The grammar of the text after `<tool_call>`, or after its beginning if the `rest` must still come, in llguidance's dialect
    of Lark (its docs/syntax.md). `close` ends the call; `line` stands before and after the JSON. A tool without a schema takes
    any arguments."""
    lines = ["start: " + " | ".join(f"call{number}" for number in range(len(tools)))]
    for number, tool in enumerate(tools):
        function = tool["function"]
        schema = closed({"type": "object", **function.get("parameters", {"properties": {}})})
        opening = f'{rest}{line}{{"name": {json.dumps(function["name"])}, "arguments": '
        lines.append(f"call{number}: {json.dumps(opening)} arguments{number} {json.dumps('}' + line)} {close}")
        lines.append(f"arguments{number}: %json {json.dumps({**schema, 'x-guidance': _AS_IN_PROMPTS})}")
    return "\n".join(lines)


def closed(schema: JsonObject) -> JsonObject:
    """The schema without properties that it does not name, at any depth, unless it allows them: a small model may write one after
    the other without end. Schemas that are put together of parts (`allOf`) stay open inside."""
    whole = {"additionalProperties": False, **schema} if "properties" in schema else schema
    if COMPOSED in json.dumps(schema):
        return whole
    found = dict(whole)
    for key in ("properties", "$defs", "definitions"):
        if isinstance(named := whole.get(key), Mapping):
            found[key] = {name: closed(one) if isinstance(one, dict) else one for name, one in named.items()}
    for key in ("anyOf", "oneOf", "prefixItems"):
        if isinstance(several := whole.get(key), list):
            found[key] = [closed(one) if isinstance(one, dict) else one for one in several]
    if isinstance(items := whole.get("items"), dict):
        found["items"] = closed(items)
    return found
