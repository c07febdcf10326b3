"""The judge by meaning: the agent's own language model, which has read the caller's words anyway. It estimates how likely a
sentence, or the turn, ends behind these words rather than goes on. The recogniser's closing marks are removed first, because it
writes them behind anything."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from voiceagent.errors import ConfigError
from voiceagent.llm.endings import SENTENCE_FINAL
from voiceagent.turn_judges.judge import JudgedPause

NAME = "meaning"
CLAUSE_MARKS = frozenset(
    ",;:\u00b7\u055d\u060c\u061b\u07f8\u1363\u1364\u1365\u1366\u1802\u1808\u3001\ufe50\ufe51\ufe54\uff0c\uff1a\uff1b\uff64"
)
"""Marks that separate clauses (Unicode's Terminal_Punctuation without Sentence_Terminal, for the scripts that recognisers
write)."""


class Meaning:
    """Implements `TurnJudge`."""

    name = NAME
    needs_words = True

    async def judge(self, pause: JudgedPause) -> float | None:
        """See `TurnJudge.judge`: None without words, and if the language model cannot tell."""
        words = without_closing_marks(pause.messages[-1].content) if pause.messages else ""
        if not words or pause.language_model is None:
            return None
        asked = (*pause.messages[:-1], replace(pause.messages[-1], content=words))
        return await pause.language_model.ending_chance(asked, pause.tools)

    @property
    def problems(self) -> dict[str, int]:
        """See `TurnJudge.problems`. Problems of the language model are reported by the model itself."""
        return {}

    async def close(self) -> None:
        """See `TurnJudge.close`. The language model belongs to others, so it stays open."""


def without_closing_marks(text: str) -> str:
    """The text without the marks and dashes at its end."""
    end = len(text)
    while end and _closes(text[end - 1]):
        end -= 1
    return text[:end]


def _closes(character: str) -> bool:
    return (
        character.isspace() or character in SENTENCE_FINAL or character in CLAUSE_MARKS or unicodedata.category(character) == "Pd"
    )


def create(path: Path | None, options: Mapping[str, object]) -> Meaning:
    """The plugin `meaning` of `voiceagent.turn`; it loads nothing. Raises ConfigError."""
    if path is not None or options:
        raise ConfigError("turn engine meaning: takes no model and no options; it asks the agent's language model")
    return Meaning()
