"""Readers for the text of tool calls between its marks, one per form that models write. Each returns names and arguments. Pure.
Text that is no call raises ValueError, or another error of `UNREADABLE`."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping

from voiceagent.json_types import JsonObject
from voiceagent.untrusted_json import read_loose_json

Calls = list[tuple[str, dict[str, object]]]
Schemas = Mapping[str, JsonObject]
"""The JSON schemas of the tools' parameters, by tool name."""
UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError, SyntaxError, MemoryError)
_NAMES = ("name", "tool_name", "function", "recipient_name")
_ARGUMENTS = ("arguments", "parameters", "args", "input")
_BETWEEN = re.compile(r"[\s;,]*")
_PARAMETER = re.compile(
    r"<parameter(?:=|\s+name=[\"']?)([^>\"']+)[\"']?>\n?(.*?)\n?(?:</parameter>|(?=<parameter|</function|$))", re.DOTALL
)
_FUNCTION = re.compile(r"<(?:function=|invoke\s+name=[\"']?)([^>\"'\s]+)[\"']?>(.*?)(?:</function>|</invoke>|$)", re.DOTALL)
_PAIR = re.compile(r"<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL)
_DEEPSEEK = re.compile(r"<｜tool▁call▁begin｜>(.*?)<｜tool▁sep｜>(.*?)(?:<｜tool▁call▁end｜>|$)", re.DOTALL)
_KIMI = re.compile(r"<\|tool_call_begin\|>(.*?)<\|tool_call_argument_begin\|>(.*?)(?:<\|tool_call_end\|>|$)", re.DOTALL)
_MISTRAL = re.compile(r"\s*([\w.-]+)\s*(?:\[CALL_ID\]\w*)?(?:\[ARGS\])?\s*(\{.*)", re.DOTALL)
_HARMONY = re.compile(r"([\w.-]+)[^{]*(\{.*)", re.DOTALL)
_GEMMA = re.compile(r"call:([\w.-]+)\s*(\{.*)", re.DOTALL)
_PRINTED = re.compile(r"print\((.*)\)", re.DOTALL)


def json_calls(text: str, schemas: Schemas) -> Calls:
    """`{"name": …, "arguments": {…}}`, one or several of them, or a list of them."""
    calls = [_of_object(item) for value in _json_values(text) for item in (value if isinstance(value, list) else [value])]
    if not calls:
        raise ValueError("there is no call")
    return calls


def _json_values(text: str) -> list[object]:
    decoder, values = json.JSONDecoder(), []
    at = _after_filling(text, 0)
    try:
        while at < len(text):
            value, at = decoder.raw_decode(text, at)
            values.append(value)
            at = _after_filling(text, at)
    except ValueError:
        values = [ast.literal_eval(text.strip())]  # some models write Python's quotes
    return values


def _after_filling(text: str, at: int) -> int:
    match = _BETWEEN.match(text, at)
    return match.end() if match else at


def _of_object(data: object) -> tuple[str, dict[str, object]]:
    if not isinstance(data, dict):
        raise ValueError("a call is an object")
    name = next((data[key] for key in _NAMES if key in data), None)
    inner = name if isinstance(name, dict) else data
    if isinstance(name, dict):
        name = name["name"]
    arguments: object = next((inner[key] for key in _ARGUMENTS if key in inner), {})
    if isinstance(arguments, str):
        arguments = read_loose_json(arguments or "{}")
    return checked(name, {} if arguments is None else arguments)


def checked(name: object, arguments: object) -> tuple[str, dict[str, object]]:
    """The call, if both parts have the right type. Raises ValueError."""
    if not isinstance(name, str) or not name or not isinstance(arguments, dict):
        raise ValueError("a name and an object of arguments are expected")
    return name, arguments


def named_json(pattern: re.Pattern[str], text: str) -> Calls:
    """Names with arguments as JSON, where the pattern finds them."""
    found = [checked(_plain_name(match[1]), _object(match[2])) for match in pattern.finditer(text)]
    if not found:
        raise ValueError("there is no call")
    return found


def _plain_name(name: str) -> str:
    """`functions.get_time:0` is get_time."""
    return re.sub(r":\d+$", "", name.strip().removeprefix("functions."))


def _object(text: str) -> object:
    """The first JSON object of a text. It may stand in a code fence."""
    return json.JSONDecoder().raw_decode(text[text.index("{") :])[0] if "{" in text else {}


def mistral_calls(text: str, schemas: Schemas) -> Calls:
    """`[{…}]` or `name[ARGS]{…}`, each after its `[TOOL_CALLS]`."""
    calls: Calls = []
    for part in text.split("[TOOL_CALLS]"):
        calls += json_calls(part, schemas) if part.strip()[:1] in ("[", "{") else named_json(_MISTRAL, part)
    return calls


def deepseek_calls(text: str, schemas: Schemas) -> Calls:
    """`function<sep>name` with fenced JSON, as V3 and R1 write it, or `name<sep>{…}`."""
    calls: Calls = []
    for before, after in _DEEPSEEK.findall(text):
        name, _, rest = after.partition("\n") if before.strip() == "function" else (before, "", after)
        calls.append(checked(name.strip(), _object(rest)))
    if not calls:
        raise ValueError("there is no call")
    return calls


def kimi_calls(text: str, schemas: Schemas) -> Calls:
    """`functions.name:0<begin>{…}`."""
    return named_json(_KIMI, text)


def harmony_calls(text: str, schemas: Schemas) -> Calls:
    """`name <|constrain|>json<|message|>{…}`."""
    return named_json(_HARMONY, text)


def xml_calls(text: str, schemas: Schemas) -> Calls:
    """`<function=name><parameter=key>value</parameter></function>`, or `<invoke name="…">`. JSON may replace the parameters."""
    calls: Calls = []
    for name, body in _FUNCTION.findall(text):
        if body.strip().startswith("{"):
            calls.append(checked(name, read_loose_json(body)))
        else:
            values = {key.strip(): _typed(value, schemas, name, key.strip()) for key, value in _PARAMETER.findall(body)}
            calls.append(checked(name, values))
    if not calls:
        raise ValueError("there is no call")
    return calls


def pair_calls(text: str, schemas: Schemas) -> Calls:
    """A name, then `<arg_key>…</arg_key><arg_value>…</arg_value>`."""
    name, pairs, rest = text.partition("<arg_key>")
    if any(sign in name for sign in '{"<') or not name.strip():
        raise ValueError("a name is expected")
    found = _PAIR.findall(pairs + rest)
    if bool(pairs) != bool(found):
        raise ValueError("the arguments are not complete")
    name = name.strip()
    return [(name, {key.strip(): _typed(value, schemas, name, key.strip()) for key, value in found})]


def _typed(value: str, schemas: Schemas, name: str, key: str) -> object:
    """An unquoted value in the type of its schema. Without a schema, numbers become numbers."""
    properties = schemas.get(name, {}).get("properties") or {}
    schema = properties.get(key) if isinstance(properties, Mapping) else None
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    kinds = kind if isinstance(kind, list) else [kind]
    if "string" in kinds:
        return value
    try:
        return read_loose_json(value)
    except ValueError:
        lowered = value.strip().lower()
        return {"true": True, "false": False, "none": None}.get(lowered, value)


def python_calls(text: str, schemas: Schemas) -> Calls:
    """`[f(a=1), g()]`, or one call per line, in Python syntax. Arguments without names follow the schema's order."""
    text = text.strip()
    printed = _PRINTED.fullmatch(text)
    body = ast.parse(printed[1] if printed else text).body
    calls: Calls = []
    for statement in body:
        if not isinstance(statement, ast.Expr):
            raise ValueError("only calls are expected")
        value = statement.value
        for node in value.elts if isinstance(value, ast.List | ast.Tuple) else [value]:
            calls.append(_python_call(node, schemas))
    if not calls:
        raise ValueError("there is no call")
    return calls


def _python_call(node: ast.expr, schemas: Schemas) -> tuple[str, dict[str, object]]:
    if not isinstance(node, ast.Call):
        raise ValueError("a call is expected")
    if isinstance(node.func, ast.Attribute) and node.func.attr == "call":
        name = ast.unparse(node.func.value)
    else:
        name = ast.unparse(node.func)
    properties = list(schemas.get(name, {}).get("properties") or {})
    if len(node.args) > len(properties) and node.args:
        raise ValueError("arguments without names are for no parameter")
    arguments = {properties[index]: _literal(value) for index, value in enumerate(node.args)}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise ValueError("a name is expected")
        arguments[keyword.arg] = _literal(keyword.value)
    return checked(name.removeprefix("default_api."), arguments)


def _literal(node: ast.expr) -> object:
    if isinstance(node, ast.Name) and node.id in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[node.id]
    value = ast.literal_eval(node)
    json.dumps(value)  # an argument must be JSON
    return value


def gemma_calls(text: str, schemas: Schemas) -> Calls:
    """`call:name{key:<escape>text<escape>,other:5}`. The quotes are tokens of the model."""
    calls: Calls = []
    for name, body in _GEMMA.findall(text):
        calls.append(checked(name, read_loose_json(_quoted_keys(body.replace('<|"|>', "<escape>")))))
    if not calls:
        raise ValueError("there is no call")
    return calls


def _quoted_keys(body: str) -> str:
    """Make JSON of an object whose keys have no quotes, and whose texts stand between `<escape>`s."""
    parts = body.split("<escape>")
    outside = [re.sub(r"([{,]\s*)([\w.-]+)\s*:", r'\1"\2":', part) for part in parts[::2]]
    texts = [json.dumps(part, ensure_ascii=False) for part in parts[1::2]]
    return "".join(part + text for part, text in zip(outside, [*texts, ""], strict=True))


def balanced(text: str) -> int:
    """The length of the bracketed text at the beginning. 0 while it has not ended."""
    depth, quote, escaped = 0, "", False
    for index, character in enumerate(text):
        if quote:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == quote:
                quote = ""
        elif character in "\"'":
            quote = character
        elif character in "[{(":
            depth += 1
        elif character in "]})":
            depth -= 1
            if not depth:
                return index + 1
    return 0
