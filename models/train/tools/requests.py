"""What callers say for a tool, and the arguments that it is to be called with."""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from models.train.tools.families import Made
from models.train.tools.values import Drawn
from models.train.tools.yaml_data import cap, read

OWN_SENTENCES = (
    "the name is",
    "my name is",
    "my number is",
    "it's ",
    "it is ",
    "I have",
    "there is",
    "we are",
    "we will be",
    "and please",
)
"""Fragments that begin so stand behind the others, after a comma."""


@dataclass(frozen=True)
class Request:
    """A caller's words, and what is in them by slot."""

    said: str
    values: Mapping[str, Drawn]
    made: Made

    @property
    def arguments(self) -> dict[str, Any]:
        """Of the right call."""
        found = {}
        for param in self.made.params:
            if param.key in self.values:
                value = self.values[param.key][1]
                whole = param.schema.get("type") == "integer" and isinstance(value, str) and value.isdigit()
                found[param.name] = int(value) if whole else value
        return found


def finish(text: str, rng: random.Random, question: bool = False) -> str:
    """A sentence as Whisper writes it: mostly whole, sometimes without a mark or with a filler in front."""
    talk = read("talk")
    text = cap(re.sub(r"\s+", " ", text).strip(" ,"))
    if rng.random() < 0.16:
        head = rng.choice(talk["before"])
        keeps = text.split()[0] in ("I", "I'd", "I'm", "I've", "I'll") or head.endswith(". ")
        text = head + (text if keeps else text[0].lower() + text[1:])
    if rng.random() < 0.05:
        said = text.split(" ")
        at = rng.randrange(1, len(said)) if len(said) > 2 else 1
        text = " ".join([*said[:at], rng.choice(talk["fillers"]), *said[at:]])
    if text[-1] not in ".?!":
        text += "?" if question else "."
    return text.rstrip(".?") if rng.random() < 0.06 else text


def fill(template: str, made: Made, spoken: Mapping[str, str]) -> str:
    """A wording with its object and what is said for its slots."""
    text = template.replace("{o}", made.object).replace("{O}", cap(made.object))
    for key, words in spoken.items():
        text = text.replace("{" + key + "}", words)
    return text


def request(made: Made, rng: random.Random, only: Collection[str] | None = None) -> Request | None:
    """What a caller says for this tool: with the slots `only`, else with all it needs and some of what it takes besides. None
    where no wording fits."""
    chosen = [key for key in dict.fromkeys(p.key for p in made.params) if key in only] if only is not None else _some(made, rng)
    family = made.family
    wordings = [
        (text, ending) for texts, ending in ((family.cores, ""), (family.questions, "?"), (family.sayings, ".")) for text in texts
    ]
    fitting = [pair for pair in wordings if _slots_in(pair[0]) <= set(chosen)]
    if not fitting:
        return None
    values = {key: made.slot(key).draw(rng) for key in chosen}
    template, ending = rng.choice(fitting)
    core = fill(template, made, {key: spoken for key, (spoken, _) in values.items()})
    fragments = [made.slot(key).fragment(values[key][0], rng) for key in chosen if key not in _slots_in(template)]
    return Request(_sentence(core, ending, _tail(fragments, rng), rng), values, made)


def _some(made: Made, rng: random.Random) -> list[str]:
    chosen = [p.key for p in made.params if p.required or rng.random() < 0.55]
    return chosen if chosen or not made.params else [rng.choice(made.params).key]


def _slots_in(template: str) -> set[str]:
    return set(re.findall(r"{(\w+)}", template)) - {"o", "O"}


def _tail(fragments: list[str], rng: random.Random) -> str:
    rng.shuffle(fragments)
    fragments.sort(key=lambda one: one.startswith((*OWN_SENTENCES, "because")))
    return "".join((", " if one.startswith((*OWN_SENTENCES, "paying")) else " ") + one for one in fragments)


def _sentence(core: str, ending: str, tail: str, rng: random.Random) -> str:
    """`core` with what follows, as it is where it has an ending, else in a caller's form of asking."""
    if tail and ending != "?" and rng.random() < 0.07:
        return finish(f"{cap(tail.strip(' ,'))}, {core}", rng)
    if ending:
        return finish(core + tail, rng, ending == "?")
    text = rng.choice(read("talk")["asking"]).replace("{}", core + tail)
    return finish(text, rng, text.endswith("?"))
