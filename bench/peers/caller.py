"""The headless caller for both sides: voiceagent's own, and the same one with the signalling of Pipecat's SmallWebRTC transport.
Everything else (jitter buffer, Opus, the time lines of what was said and heard) is one code."""

from __future__ import annotations

import aiohttp

from voiceagent.client.caller import Caller
from voiceagent.client.signalling import SignallingAnswer
from voiceagent.errors import MediaError


class SmallWebRtcCaller(Caller):
    """Calls a Pipecat bot: the offer goes as JSON to `/api/offer`, no candidate follows it."""

    async def _answer_to(self, offer: str) -> SignallingAnswer:
        target = f"{self.url}/api/offer"
        try:
            async with (
                aiohttp.ClientSession() as session,
                session.post(target, json={"sdp": offer, "type": "offer"}) as response,
            ):
                if response.status != 200:
                    raise MediaError(f"{target}: the server refused the call ({response.status}): {await response.text():.200}")
                return SignallingAnswer(response.status, str((await response.json())["sdp"]), "")
        except (aiohttp.ClientError, KeyError, ValueError) as error:
            raise MediaError(f"{target}: no answer ({error or type(error).__name__}); expected a JSON object with SDP") from error
