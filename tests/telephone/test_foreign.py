"""Our signatures and dialects beside the vendors' own libraries and Pipecat's serializers, which know nothing of ours. They run
in a Python of their own, which TELEPHONY_PEERS names: `make test-telephony-peers` makes it."""

from __future__ import annotations

import asyncio
import base64
import functools
import json
import os
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import pytest

from tests.docs.blocks import blocks_of
from tests.telephone.peers import PUBLIC_URL, SECRETS, Peer, Request, webhook
from voiceagent.telephone.codec import PhoneDecoder, PhoneEncoder
from voiceagent.telephone.messages import Audio, Digit, Started
from voiceagent.telephone.streams.signatures import SignedRequest
from voiceagent.telephone.streams.vendors import VENDORS

PYTHON = os.environ.get("TELEPHONY_PEERS", "")
needs_peers = pytest.mark.skipif(
    not PYTHON, reason="TELEPHONY_PEERS names no Python with the peers; make test-telephony-peers does"
)
SIGNED = [("twilio", ""), ("twilio", "shop=Bonn&a=2"), ("plivo", ""), ("plivo", "shop=Bonn&a=2")]
STREAMED = ["twilio", "telnyx", "plivo", "exotel", "vonage"]


def received(request: Request) -> SignedRequest:
    """As the server has it."""
    headers = {name.lower(): value for name, value in request.headers.items()}
    return SignedRequest(request.method, PUBLIC_URL + request.path, headers, request.body, 0.0)


@functools.cache
def signed_request(index: int) -> Request:
    """Each call of `webhook` makes another call's, so the one that the library is shown is kept."""
    return webhook(*SIGNED[index])


def signature_case(index: int) -> dict[str, Any]:
    (vendor, _), request = SIGNED[index], signed_request(index)
    name = "X-Twilio-Signature" if vendor == "twilio" else "X-Plivo-Signature-V3"
    return {
        "vendor": vendor,
        "secret": SECRETS[vendor],
        "method": request.method,
        "url": PUBLIC_URL + request.path,
        "fields": dict(parse_qsl(request.body.decode())),
        "nonce": request.headers.get("X-Plivo-Signature-V3-Nonce", ""),
        "signature": request.headers[name],
    }


def messages(vendor: str) -> list[str | bytes]:
    """A start, audio and a key, as the vendor sends them."""
    peer = Peer(None, "", vendor)  # type: ignore[arg-type]
    sent: list[str | bytes] = [json.dumps(message) for message in peer._start()]
    sent += [peer._media(np.arange(peer.rate_hz // 50, dtype=np.int16) * 90) for _ in range(2)]
    pressed: list[str] = []

    class Socket:
        async def send_str(self, message: str) -> None:
            pressed.append(message)

    peer.socket = Socket()  # type: ignore[assignment]
    asyncio.run(peer.press("5"))
    return sent + pressed


def rate_of(vendor: str) -> int:
    return 16_000 if vendor == "vonage" else 8_000


def pcm_of(vendor: str) -> np.ndarray:
    return (np.sin(np.arange(rate_of(vendor) // 50) / 7) * 9_000).astype(np.int16)


def stream_case(vendor: str) -> dict[str, Any]:
    wire = [{"binary": base64.b64encode(one).decode()} if isinstance(one, bytes) else one for one in messages(vendor)]
    pcm = base64.b64encode(pcm_of(vendor).tobytes()).decode()
    return {"vendor": vendor, "rate_hz": rate_of(vendor), "messages": wire, "pcm": pcm}


@functools.cache
def answers() -> dict[str, Any]:
    asked = {
        "signatures": [signature_case(index) for index in range(len(SIGNED))],
        "streams": [stream_case(vendor) for vendor in STREAMED],
    }
    script = Path(__file__).with_name("foreign.py")
    done = subprocess.run([PYTHON, script], input=json.dumps(asked), capture_output=True, text=True, timeout=120, check=True)
    found: dict[str, Any] = json.loads(done.stdout.partition("ANSWERS ")[2])
    return found


@needs_peers
@pytest.mark.parametrize("index", range(len(SIGNED)), ids=lambda index: "-".join(SIGNED[index]))
def test_the_vendors_own_library_signs_as_we_check(index: int) -> None:
    (vendor, _), request = SIGNED[index], signed_request(index)
    answer = answers()["signatures"][index]
    assert answer["taken"] is True
    name = "x-twilio-signature" if vendor == "twilio" else "x-plivo-signature-v3"
    found = received(request)
    theirs = SignedRequest(found.method, found.url, {**found.headers, name: answer["made"]}, found.body, 0.0)
    assert VENDORS[vendor].check(theirs, SECRETS[vendor])


@needs_peers
@pytest.mark.parametrize("vendor", STREAMED)
def test_we_read_and_write_what_pipecat_reads_and_writes(vendor: str) -> None:
    answer = answers()["streams"][STREAMED.index(vendor)]
    stream = VENDORS[vendor].new_stream()
    ours: list[dict[str, str]] = []
    for message in messages(vendor):
        said = stream.read(message)
        if isinstance(said, Started):
            started = said
        if isinstance(said, Audio):
            pcm = PhoneDecoder(started.format, started.format.rate_hz).decode(said.payload)
            ours.append({"audio": base64.b64encode(pcm.tobytes()).decode()})
        else:
            ours.append({"key": said.key} if isinstance(said, Digit) else {})
    assert ours == answer["read"]
    played = stream.audio(PhoneEncoder(started.format, started.format.rate_hz).encode(pcm_of(vendor)))
    if isinstance(played, bytes):
        assert {"binary": base64.b64encode(played).decode()} == answer["played"]
    else:
        assert json.loads(played) == json.loads(answer["played"])
    assert [json.loads(message) for message in stream.clear()] == [json.loads(answer["cleared"])]


@needs_peers
def test_the_tool_of_the_tutorial_is_to_the_model_what_pipecats_function_was(tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "tutorials" / "from-pipecat.md"
    files = {Path(block.file).name: block.text for block in blocks_of(page) if block.file}
    (tmp_path / "bot.py").write_text(files["bot.py"])
    program = "import bot, json; print(json.dumps(bot.order_status.to_default_dict()))"
    ran = subprocess.run([PYTHON, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    theirs = json.loads(ran.stdout.splitlines()[-1])
    namespace: dict[str, Any] = {}
    exec(files["tools.py"], namespace)
    ours = namespace["order_status"]
    assert (theirs["name"], theirs["description"]) == (ours.name, ours.description)
    wanted, had = ours.parameters, theirs["parameters"]
    assert {name: field["type"] for name, field in wanted["properties"].items()} == {
        name: field["type"] for name, field in had["properties"].items()
    }
    assert wanted["required"] == had["required"]
