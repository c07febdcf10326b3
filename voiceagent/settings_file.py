"""A YAML file of settings as a typed object. Each mistake in it is one ConfigError that names the file, the line and the setting,
and what was probably meant. A key that stands twice in one mapping is a mistake, too: YAML would take the last silently."""

from __future__ import annotations

import enum
import types
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal, TypeVar, Union, get_args, get_origin

import msgspec
import yaml

from voiceagent.errors import ConfigError

LIKENESS = 0.65
"""The likeness to a known word from which a word is taken for it, from 0 to 1."""
_T = TypeVar("_T")
MAX_SHOWN_CHARACTERS = 40
"""Longer values are not repeated in messages."""


def did_you_mean(word: object, known: Collection[str]) -> str:
    """The word that was probably meant by an unknown one, as the end of a message; empty if nothing is near."""
    folded = {one.casefold(): one for one in known}
    near = get_close_matches(str(word).casefold(), folded, 1, LIKENESS)
    return f"; did you mean {folded[near[0]]}?" if near else ""


def read_text(path: Path, advice: str) -> str:
    """The text of a file. Raises ConfigError, which ends with what to do."""
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"{path}: cannot be read ({reason}); {advice}") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{line}: is not UTF-8 text; expected a YAML file") from error


def compose(text: str, source: object) -> yaml.Node | None:
    """The nodes of a YAML text, which know their lines; None if it is empty. Raises ConfigError, and nothing else."""
    try:
        return yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError(f"{source}:{line}: {error.problem or error.context}; expected valid YAML") from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ConfigError(f"{source}:{line}: holds a character that YAML does not allow") from error
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        # For escapes beyond Unicode and for unlimited nesting, PyYAML's scanner raises Python's own errors.
        raise ConfigError(f"{source}:1: cannot be parsed ({type(error).__name__}); expected valid YAML") from error


@dataclass(frozen=True, slots=True)
class _Place:
    """A value in the file: its name such as `turn.judges[0]`, its type, its value and its place."""

    name: str
    kind: object
    value: object
    node: yaml.Node
    at: yaml.Node
    """The node whose line a message names: the key's, if it has one."""

    @property
    def refusal(self) -> str:
        """The reason for which its type does not take the value; empty if it does."""
        return _refusal(self.value, self.kind)


class SettingsFile:
    """The settings of a file, read and each key once. Raises ConfigError when it is made."""

    def __init__(self, path: Path, advice: str, expected: str) -> None:
        """`advice` says where settings are explained; `expected` names a setting as an example."""
        self.path = path
        self._advice = advice
        text = read_text(path, "name a readable YAML file")
        root = compose(text, path)
        if not isinstance(root, yaml.MappingNode):
            found = "nothing" if root is None else _shown_node(root)
            raise ConfigError(f"{path}: holds {found}, expected a mapping of settings such as {expected}")
        self._root = root
        self._require_each_once(root, set(), ())
        self.data: dict[str, object] = self._construct(root)

    def error(self, message: str, *keys: str) -> ConfigError:
        """A mistake in the setting that these keys lead to, or in the innermost mapping on the way there."""
        at: yaml.Node = self._root
        node: yaml.Node = self._root
        for name in keys:
            pairs = node.value if isinstance(node, yaml.MappingNode) else []
            found = next((pair for pair in pairs if pair[0].value == name), None)
            if found is None:
                break
            at, node = found
        return self._error(at, message)

    def converted(self, kind: type[_T]) -> _T:
        """The settings as a struct of that type. Raises ConfigError for the first setting that it does not take."""
        try:
            return msgspec.convert(self.data, kind)
        except msgspec.ValidationError as error:
            place = _Place("", kind, self.data, self._root, self._root)
            raise self._mistake(place, kind) from error

    def _error(self, at: yaml.Node, message: str) -> ConfigError:
        return ConfigError(f"{self.path}:{at.start_mark.line + 1}: {message}")

    def _construct(self, root: yaml.Node) -> dict[str, object]:
        try:
            made: dict[str, object] = yaml.SafeLoader("").construct_document(root)
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            raise ConfigError(f"{self.path}:{line}: {error.problem or error.context}; expected valid YAML") from error
        except (ValueError, OverflowError, RecursionError) as error:
            bad = next(filter(_is_unreadable, _scalars(root, set())), root)
            raise self._error(bad, f"{_shown_node(bad)} cannot be read ({error}); put it in quotes") from error
        return made

    def _require_each_once(self, node: yaml.Node, seen: set[int], around: tuple[int, ...]) -> None:
        if id(node) in around:
            raise self._error(node, "an alias stands inside of what it names; write it out")
        if id(node) in seen or isinstance(node, yaml.ScalarNode):
            return
        seen.add(id(node))
        first: dict[str, yaml.Node] = {}
        for child in node.value:
            key, value = child if isinstance(node, yaml.MappingNode) else (None, child)
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                name = str(key.value)
                if name in first:
                    line = first[name].start_mark.line + 1
                    raise self._error(key, f"{_shown(name)} stands here twice (first in line {line}); keep one")
                first[name] = key
            self._require_each_once(value, seen, (*around, id(node)))

    def _mistake(self, place: _Place, whole: object) -> ConfigError:
        """The mistake in a value that its type refuses: in the innermost part that is refused."""
        unknown = next(_unknown_keys(place), None)
        if unknown is not None:
            known = _fields(_bare(place.kind, place.value))
            near = did_you_mean(unknown.value, known) or _elsewhere(str(unknown.value), whole)
            start = f"{place.name} contains" if place.name else "contains"
            return self._error(unknown.at, f"{start} unknown field `{unknown.value}`{near or '; ' + self._advice}")
        for child in _children(place):
            if child.refusal:
                return self._mistake(child, whole)
        value = f" is {_shown(place.value)}" if _may_show(place) else ""
        start = f"{place.name}{value}: " if place.name else ""
        refusal = place.refusal
        at = _key_named_first(refusal, place.node) or place.at
        return self._error(at, f"{start}{refusal}{_choices(place)}{_quotes(place)}; {self._advice}")


def options_of(options: Mapping[str, object], kind: type[_T], engine: str) -> _T:
    """An engine's options as a struct of that type. `engine` begins messages. Raises ConfigError, which names the nearest
    option."""
    try:
        return msgspec.convert(dict(options), kind)
    except msgspec.ValidationError as error:
        near = _nearest_option(options, kind) if "unknown field" in str(error) else ""
        raise ConfigError(f"{engine}: {error}{near}") from error


def _nearest_option(value: object, kind: object) -> str:
    """The key that was probably meant by the first unknown one, as the end of a message."""
    bare = _bare(kind, value)
    if not _is_struct(bare) or not isinstance(value, Mapping):
        return ""
    known = _fields(bare)
    unknown = next((key for key in value if key not in known), None)
    if unknown is not None:
        return did_you_mean(unknown, known)
    return next(filter(None, (_nearest_option(inner, known[key]) for key, inner in value.items())), "")


def _refusal(value: object, kind: object) -> str:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        return " ".join(str(error).partition(" - at `")[0].split())
    return ""


def _bare(kind: object, value: object) -> object:
    """The type without annotations, and of a union the member that a value of this shape can be."""
    while get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if get_origin(kind) in (Union, types.UnionType):
        members = [_bare(member, value) for member in get_args(kind)]
        shape = _is_mapping if isinstance(value, Mapping) else _is_sequence if isinstance(value, list) else lambda _: False
        return next(filter(shape, members), kind)
    return kind


def _is_struct(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _is_mapping(kind: object) -> bool:
    return _is_struct(kind) or get_origin(kind) in (dict, Mapping)


def _is_sequence(kind: object) -> bool:
    return get_origin(kind) in (tuple, list, Sequence)


def _fields(kind: object) -> dict[str, object]:
    return {field.encode_name: field.type for field in msgspec.structs.fields(kind)} if _is_struct(kind) else {}  # type: ignore[arg-type]


def _unknown_keys(place: _Place) -> Iterator[_Place]:
    kind = _bare(place.kind, place.value)
    if _is_struct(kind) and isinstance(place.node, yaml.MappingNode):
        known = _fields(kind)
        yield from (_Place("", str, key.value, key, key) for key, _ in place.node.value if key.value not in known)


def _children(place: _Place) -> Iterator[_Place]:
    """The parts of a value, those of which a type is known. The keys of a mapping are parts as well."""
    kind = _bare(place.kind, place.value)
    if isinstance(place.node, yaml.SequenceNode) and isinstance(place.value, list) and _is_sequence(kind):
        for number, (value, node) in enumerate(zip(place.value, place.node.value, strict=True)):
            yield _Place(f"{place.name}[{number}]", get_args(kind)[0], value, node, node)
    elif isinstance(place.node, yaml.MappingNode) and isinstance(place.value, dict) and _is_mapping(kind):
        fields, (key_kind, value_kind) = _fields(kind), get_args(kind) or (str, object)
        for key, value in place.node.value:
            read = yaml.SafeLoader("").construct_object(key, deep=True)
            name = f"{place.name}.{key.value}" if place.name else str(key.value)
            yield _Place(f"the key {key.value} of {place.name or 'the file'}", key_kind, read, key, key)
            yield _Place(name, fields.get(key.value, value_kind), place.value.get(read), value, key)


def _elsewhere(name: str, whole: object) -> str:
    """The place where a setting of this name belongs, as the end of a message; empty if nowhere."""
    for outer, kind in _fields(whole).items():
        if name in _fields(_struct_in(kind)):
            return f"; did you mean {outer}.{name}?"
    return ""


def _struct_in(kind: object) -> object:
    return _bare(kind, {})


def _choices(place: _Place) -> str:
    """The values that a setting may have, and the nearest, as the end of a message; empty if they are not a few words."""
    kind = _bare(place.kind, place.value)
    members = [kind, *get_args(kind)] if get_origin(kind) in (Union, types.UnionType) else [kind]
    words: list[str] = []
    for member in members:
        if get_origin(member) is Literal:
            words += map(str, get_args(member))
        elif isinstance(member, type) and issubclass(member, enum.Enum):
            words += [str(one.value) for one in member]
        elif member is bool and len(members) > 1:
            words += ["true", "false"]
    return f", expected one of {', '.join(words)}{did_you_mean(place.value, words)}" if words else ""


def _quotes(place: _Place) -> str:
    """The remedy for a word that YAML takes for something else, such as the language `no`; empty if it is none."""
    if _bare(place.kind, place.value) is not str or not isinstance(place.node, yaml.ScalarNode) or not place.node.value:
        return ""
    return "" if isinstance(place.value, str) else f'; if the word is meant, put it in quotes: "{place.node.value}"'


def _key_named_first(message: str, node: yaml.Node) -> yaml.Node | None:
    """The key whose name a message about a mapping begins with."""
    word = message.partition(" ")[0]
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return next((key for key, _ in pairs if key.value == word), None)


def _may_show(place: _Place) -> bool:
    """True if a value may stand in a message: no long text, and no text in place of something else, which may be a secret."""
    if isinstance(place.value, str):
        return len(place.value) <= MAX_SHOWN_CHARACTERS and not _is_mapping(_bare(place.kind, {}))
    return isinstance(place.value, bool | int | float) or place.value is None


def _scalars(node: yaml.Node, seen: set[int]) -> Iterator[yaml.Node]:
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.ScalarNode):
        yield node
        return
    for child in node.value:
        for part in child if isinstance(child, tuple) else (child,):
            yield from _scalars(part, seen)


def _is_unreadable(node: yaml.Node) -> bool:
    try:
        yaml.SafeLoader("").construct_object(node, deep=True)
    except (yaml.YAMLError, ValueError, OverflowError):
        return True
    return False


def _shown_node(node: yaml.Node) -> str:
    if isinstance(node, yaml.ScalarNode):
        return _shown(str(node.value))
    return "a mapping" if isinstance(node, yaml.MappingNode) else "a list"


def _shown(value: object) -> str:
    """The value as YAML writes it."""
    if value is None or isinstance(value, bool):
        return "empty" if value is None else str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    text = str(value)
    return repr(text if len(text) <= MAX_SHOWN_CHARACTERS else text[:MAX_SHOWN_CHARACTERS] + "…")
