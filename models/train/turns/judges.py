"""The judge by meaning (`voiceagent.turn_judges.meaning`) asked about many pauses at once: the same prompt and endings as in a
call, but read in one thread and in order, so that what prompts share is read once."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from voiceagent.conversation.history import Message
from voiceagent.llm.chat.prompt import ChatPrompt
from voiceagent.llm.embedded.genai import session_options
from voiceagent.llm.endings import ending_ids, ending_share

INSTRUCTIONS = "You are a friendly voice assistant. Answer in one or two short sentences."
"""Those of an agent that has none of its own (`voiceagent.settings.agent`)."""
MOST_TOKENS = 512


class Meaning:
    """A language model of the embedded engine."""

    def __init__(self, folder: Path) -> None:
        """An onnxruntime-genai folder. Raises ModelError."""
        import onnxruntime_genai as genai

        config = genai.Config(str(folder))
        session = {"intra_op_num_threads": 1, **session_options()}
        config.overlay(json.dumps({"model": {"decoder": {"session_options": session}}}))
        model = genai.Model(config)
        parameters = genai.GeneratorParams(model)
        parameters.set_search_options(max_length=MOST_TOKENS)
        self._generator = genai.Generator(model, parameters)
        self._prompt = ChatPrompt(folder)
        self._ends = ending_ids(self._prompt, ())
        self._read: list[int] = []

    def chance(self, words: str, asked: str) -> float:
        """That a sentence, or the turn, ends behind the words, which have no closing marks."""
        question = [Message("assistant", asked)] if asked else []
        text = self._prompt.open_text([Message("system", INSTRUCTIONS), *question, Message("user", words)], ())
        ids = self._prompt.encode(text)[0][:MOST_TOKENS]
        pairs = enumerate(zip(ids, self._read, strict=False))
        same = min(next((index for index, (one, other) in pairs if one != other), len(self._read)), len(ids) - 1)
        if self._read:
            self._generator.rewind_to(same)
        self._generator.append_tokens(ids[same:])
        self._read = ids
        return ending_share(np.asarray(self._generator.get_output("logits"), np.float32)[0, -1], self._ends)
