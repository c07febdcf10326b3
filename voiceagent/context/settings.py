"""The entries under `context:` in agent.yaml: folders of documents, and sources of other packages."""

from __future__ import annotations

from typing import Annotated

import msgspec


class ContextEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One source: a folder, or a plugin by its name."""

    folder: str = ""
    """A folder of documents to index; relative to agent.yaml."""
    source: str = ""
    """A plugin: an entry point of the group `voiceagent.context`."""
    options: dict[str, object] = {}
    """Options for the plugin."""
    chunks: Annotated[int, msgspec.Meta(ge=1, le=20)] = 3
    """The most chunks that one query takes from it."""
    deadline_ms: Annotated[int, msgspec.Meta(ge=1, le=60_000)] = 500
    """Chunks that it has not found by then are not waited for."""

    def __post_init__(self) -> None:
        if bool(self.folder) == bool(self.source):
            raise ValueError("an entry of `context` names either `folder` or `source`")
        if self.folder and self.options:
            raise ValueError("options go with `source`; a folder has none")

    @property
    def label(self) -> str:
        """Its name in messages."""
        return self.folder or self.source
