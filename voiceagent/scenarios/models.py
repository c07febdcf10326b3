"""The language model behind callers that are played, and behind the judge: any server of OpenAI's Chat Completions."""

from __future__ import annotations

from collections.abc import Sequence

import openai

from voiceagent.errors import ConfigError
from voiceagent.scenarios.scenario import Persona

OVER = "GOODBYE"
PLAY = (
    "You play a person on the telephone. {persona} What you want: {goal} Write only what this person says next, one or two short "
    "spoken sentences. When you have what you want, or cannot get it, write " + OVER + "."
)
JUDGE = "You judge a telephone conversation. Answer the question with one word, yes or no."
MAX_TOKENS = 200

Conversation = Sequence[tuple[str, str]]
"""The speaker of each line, `caller` or `agent`, and the words."""


class ScenarioModel:
    """One model of one server."""

    def __init__(self, url: str, model: str, api_key: str) -> None:
        self._client = openai.AsyncOpenAI(base_url=url, api_key=api_key or "none", max_retries=2, timeout=60.0)
        self._model = model

    async def close(self) -> None:
        """Close its connections."""
        await self._client.close()

    async def next_words(self, persona: Persona, so_far: Conversation) -> str:
        """The words that the person says next; empty when they are done. Raises ConfigError."""
        head = PLAY.format(persona=persona.persona, goal=persona.goal)
        messages = [("assistant" if who == "caller" else "user", words) for who, words in so_far]
        text = await self._asked(head, messages or [("user", "(The agent has answered the call.)")])
        return text.replace(OVER, "").strip() if OVER not in text or text.replace(OVER, "").strip(" .!") else ""

    async def judgement(self, question: str, so_far: Conversation) -> str:
        """The judge's answer, which begins with yes where the judge agrees. Raises ConfigError."""
        told = "\n".join(f"{who}: {words}" for who, words in so_far)
        return await self._asked(JUDGE, [("user", f"{told}\n\nQuestion: {question}")])

    async def _asked(self, head: str, messages: Sequence[tuple[str, str]]) -> str:
        try:
            answer = await self._client.chat.completions.create(
                model=self._model,
                temperature=0.0,
                max_tokens=MAX_TOKENS,
                messages=[{"role": "system", "content": head}, *({"role": who, "content": words} for who, words in messages)],  # type: ignore[list-item]
            )
        except openai.OpenAIError as error:
            raise ConfigError(f"the model of the scenarios failed ({' '.join(str(error).split())}); check --model-url") from error
        return answer.choices[0].message.content or ""
