"""Finds tool calls that a model writes into its text in no form of its own: `save_answer(q=1)`, `functions.saveAnswer({"q": 1})`,
`to=functions.save_answer {"q": 1}`, JSON that names a tool or holds its arguments. They are known by the names of the tools.
Other text passes at once. Pure. The text may be cut anywhere."""

from __future__ import annotations

import ast
import json
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass

from voiceagent.conversation.history import ToolCall
from voiceagent.errors import EngineError
from voiceagent.llm.chat.call_texts import UNREADABLE, Calls, balanced, json_calls, python_calls
from voiceagent.llm.chat.tool_parser import MAX_CALL_CHARACTERS, random_call_id
from voiceagent.llm.engine import Generated, GeneratedText, Lull, ToolSchema
from voiceagent.untrusted_json import read_loose_json

log = logging.getLogger(__name__)

_LOOK_BACK = 120
"""Most characters at the end that may be the beginning of a call."""
_FENCE = r"`{1,3}(?:json|python|py|tool_code|tool_calls?|xml)?\s*"
_LEADS = (
    *("functions.", "function.", "tools.", "tool.", "default_api.", "api.", "to=functions.", "to=", "call:", "print("),
    *(
        "commentary to=functions.",
        "assistantcommentary to=functions.",
        "assistant to=",
        "action:",
        "tool:",
        "function:",
        "tool call:",
    ),
)
_LEAD = rf"(?:{_FENCE})?(?:(?:{'|'.join(map(re.escape, sorted(_LEADS, key=len, reverse=True)))})\s*){{0,2}}"
_LEFT_OF_A_CALL = re.compile(rf"\s*(?:{_FENCE})?(?:(?:assistant)?commentary)?\s*")
_GLUE_WORDS = ("json", "with", "arguments", "args", "parameters", "params", "action input", "input", "[args]")
_GLUE = rf"(?:\s|:\d*|=>?|->|<\|\w+\|>|{'|'.join(map(re.escape, _GLUE_WORDS))})*"
_JSON = re.compile(rf"(?:{_FENCE})?(?P<open>\[?\s*\{{)\s*[\"']")
_MAY_BE_JSON = re.compile(r"(?:`{1,3}[a-z_]*\s*)?(?:\[\s*)?(?:\{\s*)?")
_CODE = re.compile(r"_|[a-z][A-Z]")
_VALUE = re.compile(r"[\"'\[\d-]|(?:true|false|none|null)\b", re.IGNORECASE)
_AFTER_A_CALL = " \t\n;,`)"


@dataclass(frozen=True, slots=True)
class _Place:
    """The place of a call, or of text that may be one."""

    start: int
    opens: int
    """The place of the opening bracket around its arguments."""
    name: str
    """The tool's. Empty for JSON, which tells it itself."""
    sure: bool | None
    """None: more text is needed. False: it is decided when it is complete."""


class CallsByName:
    """One per generation."""

    def __init__(self, tools: Sequence[ToolSchema]) -> None:
        self._schemas = {tool["function"]["name"]: tool["function"].get("parameters") or {} for tool in tools}
        self._known = {_plain(name): name for name in reversed(self._schemas)}
        names = "|".join(sorted(map(_pattern, self._schemas), key=len, reverse=True))
        self._call = re.compile(
            rf"(?<!\w)(?P<lead>{_LEAD})(?P<name>{names})(?!\w)(?:(?P<gap>\s*)(?P<paren>\()|{_GLUE}(?P<brace>\{{))", re.IGNORECASE
        )
        self._named = re.compile(rf"(?:{names})(?!\w)", re.IGNORECASE)
        self._buffer = ""
        self._in_word = False
        """True if the text that was passed on ends with a part of a word."""
        self._after_call = self._said = self.inside = False
        """`inside` is true while a call is being written."""

    def feed(self, text: str) -> list[Generated]:
        """Read more text. Raises EngineError for a call that is too long."""
        if not self._schemas:
            return [GeneratedText(text)] if text else []
        self._buffer += text
        return self._read(final=False)

    def settle(self) -> list[Generated]:
        """A call begins beside the text. Returns what of the text waited only for more."""
        return [] if self._next_place() else self.finish(called=True)

    def take_call(self) -> list[Generated]:
        """A call in a form of its own stands here. Returns what of the text before it is no part of it."""
        rest, self._buffer = self._buffer, ""
        found: list[Generated] = [] if not rest or _LEFT_OF_A_CALL.fullmatch(rest) else [GeneratedText(rest)]
        self._said |= bool(found)
        self._after_call, self._in_word = True, False
        return found

    def finish(self, *, called: bool = False) -> list[Generated]:
        """Read what is left. `called`: the model has called a tool besides, so a tool's name alone is no answer."""
        found = self._read(final=True) if self._buffer else []
        rest, self._buffer = self._buffer, ""
        is_name = _plain(rest) in self._known and called and not self._said
        if not rest or is_name or (_CODE.search(rest) and self._may_begin(rest.strip())):
            return found
        return [*found, GeneratedText(rest)]

    def _read(self, *, final: bool) -> list[Generated]:
        found: list[Generated] = []
        while True:
            if self._after_call:
                self._buffer = self._buffer.lstrip(_AFTER_A_CALL)
            place = self._next_place()
            if place is None:
                self._pass(found, self._held_from())
                return found
            length = balanced(self._buffer[place.opens :]) if place.sure is not None else 0
            if not length and not (final and place.sure is not True):
                self._wait(found, place, final=final)
                return found
            calls = self._calls(place, self._buffer[place.opens : place.opens + length]) if length else None
            if calls is None:
                self._pass(found, place.opens + max(1, length))
                continue
            rest = self._buffer[place.opens + length :]
            self._pass(found, len(self._buffer[: place.start].rstrip()))
            found += [ToolCall(random_call_id(), name, json.dumps(given, ensure_ascii=False)) for name, given in calls]
            self._buffer, self._after_call, self._in_word, self.inside = rest, True, False, False

    def _wait(self, found: list[Generated], place: _Place, *, final: bool) -> None:
        """A call, or what may be one, is not complete. At the end it is left out."""
        self._pass(found, len(self._buffer[: place.start].rstrip()))
        if len(self._buffer) > MAX_CALL_CHARACTERS:
            raise EngineError(f"the language model wrote a tool call of over {MAX_CALL_CHARACTERS} characters")
        if place.sure and not self.inside and self._said:
            found.append(Lull(writes_call=True))
        self.inside = bool(place.sure)
        if final:
            log.warning("the language model broke off in a tool call: %d characters are left out", len(self._buffer))
            self._buffer = ""

    def _pass(self, found: list[Generated], length: int) -> None:
        text, self._buffer = self._buffer[:length], self._buffer[length:]
        if text:
            self._after_call = False
            self._in_word = _is_of_word(text[-1])
            self._said |= bool(text.strip())
            found.append(GeneratedText(text))

    def _next_place(self) -> _Place | None:
        """The first place that is a call or may be one."""
        by_name = next((place for match in self._call.finditer(self._buffer) if (place := self._place(match))), None)
        match = _JSON.search(self._buffer)
        if match is None or (by_name is not None and by_name.start <= match.start()):
            return by_name
        return _Place(match.start(), match.start("open"), "", sure=False)

    def _place(self, match: re.Match[str]) -> _Place | None:
        """The place of a tool's name that is followed by a bracket. None if that is no call: "I will search (again) for it"."""
        opens = match.start("paren") if match["paren"] else match.start("brace")
        if self._in_word and not match.start():
            return None
        sure = self._is_call(match, self._buffer[match.end() :].lstrip())
        return None if sure is False else _Place(match.start(), opens, self._known[_plain(match["name"])], sure)

    def _is_call(self, match: re.Match[str], inside: str) -> bool | None:
        """True if it is a call. None while too little of the bracket is known."""
        if not inside:
            return None
        is_word = re.fullmatch(r"\w+\s*", inside) is not None
        if not match["paren"]:
            return None if is_word else re.match(r"[\"'}]|\w+\s*:", inside) is not None
        is_code = not match["gap"] and (_CODE.search(match["name"]) is not None or bool(match["lead"]))
        if is_code or inside[0] in "){" or re.match(r"\w+\s*=(?!=)", inside):
            return True
        return None if is_word else not match["gap"] and _VALUE.match(inside) is not None

    def _calls(self, place: _Place, text: str) -> Calls | None:
        """The calls in a complete bracket. None if it is text. Empty if it is a call that cannot be run."""
        try:
            if not place.name:
                return self._json_calls(text)
            inside = text[1:-1].strip()
            if text[0] == "(" and not inside.startswith("{"):
                called = python_calls(f"call({inside})", {"call": self._schemas[place.name]})
                return [(place.name, given) for _, given in called]
            given = _value(inside if text[0] == "(" else text)
            return [(place.name, given)] if isinstance(given, dict) else []
        except UNREADABLE:
            log.warning("the language model wrote a tool call of %d characters that cannot be read: it is left out", len(text))
            return []

    def _json_calls(self, text: str) -> Calls | None:
        value = _value(text)
        try:
            calls = [(self._known[_plain(name)], given) for name, given in json_calls(text, self._schemas)]
        except UNREADABLE:
            calls = []
        return calls if calls or self._is_of_a_tool(value) else None

    def _is_of_a_tool(self, value: object) -> bool:
        """True if JSON names a tool, or holds nothing but a tool's arguments."""
        if isinstance(value, list):
            return any(map(self._is_of_a_tool, value))
        if not isinstance(value, dict):
            return False
        named = any(_plain(str(text)) in self._known for text in (*value, *value.values()) if isinstance(text, str))
        given = any(value and set(value) <= set(schema.get("properties") or ()) for schema in self._schemas.values())
        return named or given or any(self._is_of_a_tool(inner) for inner in value.values())

    def _held_from(self) -> int:
        """The length of the text that can be passed on. The rest may be the beginning of a call."""
        for at in range(max(0, len(self._buffer) - _LOOK_BACK), len(self._buffer)):
            in_word = _is_of_word(self._buffer[at - 1]) if at else self._in_word
            if (
                (not in_word or self._buffer[at] in "`[{")
                and not self._buffer[at].isspace()
                and self._may_begin(self._buffer[at:])
            ):
                return len(self._buffer[:at].rstrip())
        return len(self._buffer)

    def _may_begin(self, text: str) -> bool:
        """True if more text may make a call of it."""
        if _MAY_BE_JSON.fullmatch(text.lower()):
            return True
        return any(self._may_be_name(text[lead:]) for lead in {0, self._length_of_lead(text)})

    def _may_be_name(self, text: str) -> bool:
        """True if it is the beginning of a tool's name and its surroundings, up to the bracket."""
        named = self._named.match(text)
        if named is not None:
            after = text[named.end() :].lower()
            glued = re.match(_GLUE, after, re.IGNORECASE)
            left = after[glued.end() if glued else 0 :]
            if any(word.startswith(left) for word in (*_GLUE_WORDS, "->", "<|")):
                return True
        begins_lead = any(lead.startswith(text.lower()) for lead in _LEADS)
        return begins_lead or (
            re.fullmatch(r"[\w -]+", text) is not None and any(name.startswith(_plain(text)) for name in self._known)
        )

    def _length_of_lead(self, text: str) -> int:
        match = re.match(_LEAD, text, re.IGNORECASE)
        return match.end() if match else 0


def _is_of_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _plain(name: str) -> str:
    """A name without what models change in it."""
    return re.sub(r"[\s_-]", "", name).lower()


def _pattern(name: str) -> str:
    """Matches a name in any case, with or without signs between its words."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W_a-zA-Z\d]+", name)
    return r"[_ -]?".join(map(re.escape, words)) or re.escape(name)


def _value(text: str) -> object:
    """JSON, or what looks like it in Python. Raises an error of `UNREADABLE`."""
    try:
        return read_loose_json(text)
    except ValueError:
        return ast.literal_eval(text)
