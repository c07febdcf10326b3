"""Prints which published models the turns cannot be heard without; nothing where all are here."""

from __future__ import annotations

from models.train.turns.hear import HEARD_BY
from voiceagent.errors import ModelError
from voiceagent.models.registry import require

if __name__ == "__main__":
    try:
        require(HEARD_BY)
    except ModelError as error:
        print(error)
