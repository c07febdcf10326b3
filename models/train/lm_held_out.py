"""Draws the fixed list that `python -m bench bundled` measures the language model on: requests, alone and in turn 2 to 4 of a
dialogue, whose slot values no training has seen together (`domain.is_held_out`), each with the tool call that is right. The
list is committed; it is drawn anew only when the domain changes.

    python -m models.train.lm_held_out --out bench/bundled/held_out/lm.jsonl
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

from models.train.lm_dialogues import Message, held_out_conversation

SINGLE, EACH_DIALOGUE_LENGTH = 300, 100
DIALOGUE_TURNS = (2, 3, 4)


def _entry(name: str, messages: list[Message]) -> dict[str, object]:
    """The conversation up to the caller's last words, and the call that answers them."""
    last_user = max(index for index, message in enumerate(messages) if message["role"] == "user")
    (call,) = messages[last_user + 1]["tool_calls"]
    function = call["function"]
    return {"set": name, "messages": messages[: last_user + 1], "tool": function["name"], "arguments": function["arguments"]}


def draw(seed: int) -> list[dict[str, object]]:
    """All entries of the list."""
    rng = random.Random(seed)
    entries = [_entry("single", held_out_conversation(rng, 1)) for _ in range(SINGLE)]
    for turns in DIALOGUE_TURNS:
        entries += [_entry("dialogue", held_out_conversation(rng, turns)) for _ in range(EACH_DIALOGUE_LENGTH)]
    return entries


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the .jsonl to write")
    parser.add_argument("--seed", type=int, default=20261121)
    options = parser.parse_args()
    entries = draw(options.seed)
    options.out.write_text("".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries), encoding="utf-8")
    print(f"{options.out}: {len(entries)} entries")


if __name__ == "__main__":
    main()
