"""Watches the files of an agent and its folders of documents, so that a running server follows what is changed in them. It looks
at them twice a second and reads none."""

from __future__ import annotations

import asyncio
import itertools
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from voiceagent.context.index import SUFFIXES
from voiceagent.settings.agent import AgentConfig
from voiceagent.settings.files import named_files, named_folders
from voiceagent.tools.modules import own_modules

LOOK_EVERY_S = 0.5
MAX_FILES = 1000
"""Limits the modules that are looked at, and the documents of each folder."""
BESIDE = ("*.py", "*.yaml", "*.yml", "*.json")
"""The files that may end a mistake, beside those that are read: a missing module is written, for example."""
Looks = Mapping[Path, tuple[int, ...]]
"""The files as they look: the time of their change, their size, their inode. A folder stands for its documents. What is missing
is empty."""


class AgentWatch:
    """The files of an agent that is served."""

    def __init__(self, file: Path, agent: AgentConfig, folders: Iterable[Path], also: Path | None = None) -> None:
        """`folders` hold its own Python modules; `also` is a further file."""
        self.file = file.resolve()
        self._also = () if also is None else (also.resolve(),)
        self._folders = list(folders)
        self._files = self._read_by(agent)
        self._seen = _looks(self._files)

    def _read_by(self, agent: AgentConfig) -> set[Path]:
        modules = (Path(str(module.__file__)).resolve() for module in own_modules(self._folders).values())
        return {*self._also, *named_files(agent, self.file), *named_folders(agent), *itertools.islice(modules, MAX_FILES)}

    async def changed(self) -> set[Path]:
        """Wait until files have changed, and change no more. Returns them."""
        now = await asyncio.to_thread(_looks, self._files)
        while now == self._seen:
            await asyncio.sleep(LOOK_EVERY_S)
            now = await asyncio.to_thread(_looks, self._files)
        while True:  # an editor may write several files, or one in several steps
            await asyncio.sleep(LOOK_EVERY_S)
            later = await asyncio.to_thread(_looks, self._files)
            if later == now:
                break
            now = later
        changed = {path for path in self._files if now[path] != self._seen.get(path)}
        self._seen = now
        return changed

    def took(self, agent: AgentConfig, folders: Iterable[Path]) -> None:
        """Watch the files of the agent as it was loaded anew."""
        self._folders = list(folders)
        self._watch(self._read_by(agent))

    def refused(self) -> None:
        """The files hold a mistake: watch what is beside them, too."""
        beside = (path.resolve() for folder in self._folders for one in BESIDE for path in folder.glob(one))
        self._watch({*self._files, *itertools.islice(beside, MAX_FILES)})

    def _watch(self, files: set[Path]) -> None:
        """Watch these files. What changed since the last look at them is told by the next."""
        self._files = files
        self._seen = {**_looks(files - self._seen.keys()), **{path: self._seen[path] for path in files & self._seen.keys()}}


def _looks(files: Iterable[Path]) -> Looks:
    return {path: _look(path) for path in files}


def _look(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    if stat.S_ISDIR(found.st_mode):
        return (hash(frozenset((document, _look(document)) for document in itertools.islice(_documents(path), MAX_FILES))),)
    return found.st_mtime_ns, found.st_size, found.st_ino


def _documents(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        if path.suffix.lower() in SUFFIXES and not any(part.startswith(".") for part in path.relative_to(folder).parts):
            yield path
