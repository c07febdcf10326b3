"""`yes_no`."""

from __future__ import annotations

from dataclasses import dataclass

from voiceagent.turn_taking.language import bare_words, without_phrases
from voiceagent.turn_taking.languages import language
from voiceagent.turn_taking.request import agrees
from voiceagent.values.dictation import folded
from voiceagent.values.kind import Frame, HeardValue
from voiceagent.values.languages import dictation


@dataclass(frozen=True, slots=True)
class YesNo:
    """A yes or a no. A no may be followed by a correction: "no, it's five"."""

    name: str = "yes_no"

    def hear(self, said: str, so_far: str, frame: Frame) -> HeardValue:
        """A refusal, or else an agreement."""
        known, own = language(frame.language), dictation(frame.language)
        spoken = [word for word in bare_words(said) if word not in known.unfinished.get("filler", ())]
        rest, agreed = without_phrases(spoken, known.yes_phrases | own.agree)
        rest, refused = without_phrases(rest, own.refuse)
        if not spoken or said.rstrip().endswith("?"):
            return HeardValue()
        first = rest[0] if rest else ""
        if refused or first in known.no or folded(first) in own.no:
            return HeardValue("no", about_it=True)
        if agrees(said, known) or agreed or first in known.yes:
            negated = any(word in known.no for word in rest)
            return HeardValue("yes", about_it=True, doubtful=negated)
        if len(spoken) <= 6 and any(word in known.no for word in spoken):
            return HeardValue("no", about_it=True, doubtful=True)
        return HeardValue()

    def confirm(self, value: str, frame: Frame) -> str:
        """The word."""
        own = dictation(frame.language)
        return own.spoken.get(value, value)

    def hint(self, frame: Frame) -> str:
        """Such answers."""
        return dictation(frame.language).hints.get(self.name, "")

    def schema(self) -> dict[str, object]:
        """Yes or no."""
        return {"type": "string", "enum": ["yes", "no"]}
