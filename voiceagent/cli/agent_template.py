"""The agents that `voiceagent init` writes: examples that ship with voiceagent, under a name, in a language and for a folder of
one's own. `templates.yaml` beside the examples says which files they have, and data says their words in other languages."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from voiceagent.errors import ConfigError
from voiceagent.resources import examples_dir
from voiceagent.settings_file import SettingsFile, did_you_mean

INDEX = "templates.yaml"
BUDGETS = "budgets.yaml"
MAX_NAME = 80
SHIPPED_LANGUAGE = "en"
"""The language of the examples."""
_NAME_LINE = re.compile(r"^name: (.*?)(\s+#.*)?$", re.MULTILINE)
_COMMENT_COLUMN = 40
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class OtherLanguages(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The difference of a template in a language other than English."""

    files: tuple[str, ...] = ()
    """Further files."""
    instead: Mapping[str, str] = {}
    """Lines, and what takes their place."""


class Template(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An example that an agent may begin from."""

    says: str
    """A description, in one line."""
    files: tuple[str, ...]
    """The files that are written, relative to its folder."""
    words: str = ""
    """The file with its words in other languages; empty: it is in English only."""
    in_other_languages: OtherLanguages = OtherLanguages()


@dataclass(frozen=True, slots=True)
class Templates:
    """All templates, by name."""

    folder: Path
    by_name: Mapping[str, Template]

    @classmethod
    def shipped(cls) -> Templates:
        """Those that ship with voiceagent."""
        folder = examples_dir()
        file = SettingsFile(folder / INDEX, "see the file itself", "`blank:`")
        return cls(folder, {name: msgspec.convert(value, Template) for name, value in file.data.items()})

    def get(self, name: str) -> Template:
        """A template. Raises ConfigError for an unknown one."""
        if name not in self.by_name:
            near = did_you_mean(name, self.by_name)
            raise ConfigError(f"there is no template {name!r:.80}, expected one of {', '.join(self.by_name)}{near}")
        return self.by_name[name]

    def languages(self, name: str) -> tuple[str, ...]:
        """The codes of the languages in which a template can be written."""
        return (SHIPPED_LANGUAGE, *self._words(name))

    def usual_name(self, name: str, language: str) -> str:
        """The name of the agent that a template has by itself."""
        words = self._words(name)
        written = _NAME_LINE.search((self.folder / name / "agent.yaml").read_text(encoding="utf-8"))
        assert written is not None
        return words.get(language, {}).get(written[1], written[1])

    def written(self, name: str, agent: str, language: str, folder: Path) -> dict[str, str]:
        """The text of each file of an agent, by its path in `folder`. `agent` is its name. Raises ConfigError for a template, a
        name or a language that cannot be."""
        template = self.get(name)
        if not agent.strip() or len(agent) > MAX_NAME or _UNPRINTABLE.search(agent):
            raise ConfigError(f"the name has {len(agent)} characters; expected 1 to {MAX_NAME}, in one line")
        if language not in (known := self.languages(name)):
            others = [other for other in self.by_name if language in self.languages(other)]
            instead = f"; the template {others[0]} is" if others else f", only in {', '.join(known)}"
            raise ConfigError(f"the template {name} is not written in {language!r:.20}{instead}")
        is_foreign = language != SHIPPED_LANGUAGE
        words = dict(self._words(name).get(language, {}))
        changes = {**template.in_other_languages.instead, **words} if is_foreign else {}
        files = (*template.files, *(template.in_other_languages.files if is_foreign else ()))
        texts = {file: self._read(name, file, changes, folder) for file in files}
        texts.setdefault(BUDGETS, self._read("blank", BUDGETS, {}, folder))
        texts["agent.yaml"] = self._own(texts["agent.yaml"], agent.strip(), language)
        return texts

    def _read(self, name: str, file: str, changes: Mapping[str, str], folder: Path) -> str:
        text = (self.folder / name / file).read_text(encoding="utf-8")
        for old, new in sorted(changes.items(), key=lambda change: -len(change[0])):  # no word before the sentence that holds it
            text = text.replace(old, new)
        for example in (name, "blank"):
            text = text.replace(f"examples/{example}", shlex.quote(folder.as_posix()))
        return text.replace(".venv/bin/voiceagent", "voiceagent")

    def _own(self, text: str, agent: str, language: str) -> str:
        """The agent's file with its own name and language, and with budgets."""
        named = f"name: {json.dumps(agent, ensure_ascii=False)}"
        text = _NAME_LINE.sub(lambda found: _with_comment(named, (found[2] or "").strip()), text, count=1)
        text = re.sub(rf"^language: {SHIPPED_LANGUAGE}\b", f"language: {language}", text, count=1, flags=re.MULTILINE)
        if not re.search(r"^budgets:", text, re.MULTILINE):
            blank = (self.folder / "blank" / "agent.yaml").read_text(encoding="utf-8")
            line = next(line for line in blank.splitlines() if line.startswith("budgets:"))
            text = re.sub(r"^(profile:.*)$", lambda found: f"{found[1]}\n{line}", text, count=1, flags=re.MULTILINE)
        return text

    def _words(self, name: str) -> Mapping[str, Mapping[str, str]]:
        template = self.get(name)
        if not template.words:
            return {}
        file = SettingsFile(self.folder / name / template.words, "see the file itself", "`de:`")
        return msgspec.convert(file.data, dict[str, dict[str, str]])


def _with_comment(line: str, comment: str) -> str:
    return f"{line:<{_COMMENT_COLUMN - 1}} {comment}" if comment else line


def write_files(folder: Path, texts: Mapping[str, str]) -> None:
    """Write the files of an agent, which must not be there yet. Raises ConfigError."""
    taken = next((file for file in texts if (folder / file).exists() or (folder / file).is_symlink()), "")
    if taken:
        raise ConfigError(f"{folder / taken} is there already, and nothing was written; name another folder, or move it away")
    try:
        for file, text in texts.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            with (folder / file).open("x", encoding="utf-8") as new:
                new.write(text)
    except OSError as error:
        raise ConfigError(f"{error.filename}: cannot be written ({error.strerror}); name another folder") from error
