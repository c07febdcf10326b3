"""Run by a Python that has `twilio`, `plivo` and `pipecat-ai`: what they make of webhooks and messages. A JSON object in, one
out."""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from types import SimpleNamespace
from typing import Any


def signed(case: dict[str, Any]) -> dict[str, Any]:
    """The signature of a webhook by the vendor's own library, and whether it takes ours."""
    if case["vendor"] == "twilio":
        from twilio.request_validator import RequestValidator

        validator = RequestValidator(case["secret"])
        made = validator.compute_signature(case["url"], case["fields"])
        return {"made": made, "taken": validator.validate(case["url"], case["fields"], case["signature"])}
    from plivo.utils.signature_v3 import construct_get_url, construct_post_url, get_signature_v3, validate_v3_signature

    url, fields, is_get = case["url"], dict(case["fields"]), case["method"] == "GET"
    base = (construct_get_url(url, {}) if is_get else construct_post_url(url, fields)).decode()
    made = get_signature_v3(case["secret"].encode(), base, case["nonce"].encode()).decode()
    arguments = (case["method"], url, case["nonce"], case["secret"], case["signature"])
    return {"made": made, "taken": validate_v3_signature(*arguments, {} if is_get else fields)}


async def streamed(case: dict[str, Any]) -> dict[str, Any]:
    """What Pipecat reads in a vendor's messages, and what it writes to play audio and to clear."""
    from pipecat.frames.frames import InputAudioRawFrame, InputDTMFFrame, InterruptionFrame, OutputAudioRawFrame
    from pipecat.serializers import exotel, plivo, telnyx, twilio, vonage

    rate = case["rate_hz"]
    made: Any
    if case["vendor"] == "twilio":
        no_hang_up = twilio.TwilioFrameSerializer.InputParams(auto_hang_up=False, sample_rate=rate)
        made = twilio.TwilioFrameSerializer("MZ1", params=no_hang_up)
    elif case["vendor"] == "telnyx":
        no_hang_up_either = telnyx.TelnyxFrameSerializer.InputParams(auto_hang_up=False, sample_rate=rate)
        made = telnyx.TelnyxFrameSerializer("MZ1", "PCMU", "PCMU", params=no_hang_up_either)
    elif case["vendor"] == "plivo":
        made = plivo.PlivoFrameSerializer(
            "MZ1", params=plivo.PlivoFrameSerializer.InputParams(auto_hang_up=False, sample_rate=rate)
        )
    elif case["vendor"] == "exotel":
        made = exotel.ExotelFrameSerializer("MZ1", params=exotel.ExotelFrameSerializer.InputParams(sample_rate=rate))
    else:
        made = vonage.VonageFrameSerializer(params=vonage.VonageFrameSerializer.InputParams(sample_rate=rate))
    await made.setup(SimpleNamespace(audio_in_sample_rate=rate, audio_out_sample_rate=rate))
    read = []
    for message in case["messages"]:
        raw = base64.b64decode(message["binary"]) if isinstance(message, dict) else message
        frame = await made.deserialize(raw)
        if isinstance(frame, InputAudioRawFrame):
            read.append({"audio": base64.b64encode(frame.audio).decode()})
        elif isinstance(frame, InputDTMFFrame):
            read.append({"key": frame.button.value})
        else:
            read.append({})
    pcm = base64.b64decode(case["pcm"])
    played = await made.serialize(OutputAudioRawFrame(audio=pcm, sample_rate=rate, num_channels=1))
    if isinstance(played, bytes):
        played = {"binary": base64.b64encode(played).decode()}
    return {"read": read, "played": played, "cleared": await made.serialize(InterruptionFrame())}


def main() -> None:
    """All cases."""
    asked = json.load(sys.stdin)
    answers = {
        "signatures": [signed(case) for case in asked["signatures"]],
        "streams": [asyncio.run(streamed(case)) for case in asked["streams"]],
    }
    print("ANSWERS " + json.dumps(answers))


if __name__ == "__main__":
    main()
