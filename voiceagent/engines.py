"""The engines of a running server, made from a profile."""

from __future__ import annotations

from dataclasses import dataclass

from voiceagent.llm.engine import LlmEngine
from voiceagent.stt.engine import SttEngine
from voiceagent.tts.engine import TtsEngine


@dataclass(frozen=True, slots=True)
class Engines:
    """Engines are shared by all calls."""

    stt: SttEngine
    llm: LlmEngine
    tts: TtsEngine

    async def close(self) -> None:
        """Free the models."""
        await self.llm.close()
        await self.stt.close()
        await self.tts.close()
