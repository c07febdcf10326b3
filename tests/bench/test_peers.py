"""What the comparison with a peer reads off the line, and that both sides run the same engines."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bench.peers.caller import SmallWebRtcCaller
from bench.peers.contestants import Asked, asked_since
from bench.peers.environment import REQUIREMENTS, pipecat_version
from bench.trial import Stop, stop
from voiceagent.audio.levels import VoicedSpan
from voiceagent.errors import MediaError

CONSTRAINTS = Path(__file__).resolve().parents[2] / "constraints.txt"
ENGINES = ("aiortc", "av", "ctranslate2", "faster-whisper", "numpy", "onnxruntime", "openai", "piper-tts", "tokenizers")


def spans(*times_ms: tuple[float, float]) -> list[VoicedSpan]:
    return [VoicedSpan(onset_ms, offset_ms) for onset_ms, offset_ms in times_ms]


def stopped(*times_ms: tuple[float, float]) -> Stop | None:
    return stop(spans(*times_ms), onset_ms=1500, ended_ms=3000)


def test_the_stop_is_the_end_of_what_was_heard_at_the_onset() -> None:
    assert stopped((0, 400), (1000, 1620)) == Stop(120, 120)


def test_who_pauses_and_goes_on_has_not_stopped() -> None:
    assert stopped((1000, 1620), (2100, 2400)) == Stop(900, 900)


def test_an_answer_into_a_pause_of_the_interruption_is_told_apart() -> None:
    assert stopped((1000, 1620), (2200, 2400), (2600, 2700)) == Stop(1200, 120)


def test_the_answer_to_the_interruption_is_not_the_reply_that_it_cut() -> None:
    assert stopped((1000, 1620), (3200, 4000)) == Stop(120, 120)


def test_talking_through_the_interruption_counts_to_its_end() -> None:
    assert stopped((1000, 5000)) == Stop(1500, 1500)


@pytest.mark.parametrize("heard", [[], [(1000.0, 1400.0)], [(1600.0, 2000.0)]])
def test_an_interruption_of_silence_is_none(heard: list[tuple[float, float]]) -> None:
    assert stopped(*heard) is None


def test_requests_are_read_from_where_the_call_began(tmp_path: Path) -> None:
    log = tmp_path / "requests.jsonl"
    log.write_text('{"user": "Before.", "outcome": "finished"}\n', encoding="utf-8")
    began = log.stat().st_size
    with log.open("a", encoding="utf-8") as file:
        file.write('{"user": "Hello.", "outcome": "cancelled"}\n')
    assert asked_since(log, began) == [Asked("Hello.", "cancelled")]


async def test_a_peer_gets_its_offer_as_json_where_it_takes_offers() -> None:
    offers = []

    async def refuse(request: web.Request) -> web.Response:
        offers.append(await request.json())
        return web.Response(status=503, text="full")

    app = web.Application()
    app.router.add_post("/api/offer", refuse)
    async with TestServer(app) as server:
        with pytest.raises(MediaError, match=r"/api/offer: the server refused the call \(503\): full"):
            await SmallWebRtcCaller(str(server.make_url("/"))).connect()
    (offer,) = offers
    assert offer["type"] == "offer"
    assert "m=audio" in offer["sdp"]


def versions(file: Path) -> dict[str, str]:
    return dict(re.findall(r"^([A-Za-z0-9_.-]+)==(\S+)", file.read_text(encoding="utf-8"), re.MULTILINE))


def test_both_sides_run_the_same_engines() -> None:
    ours, theirs = versions(CONSTRAINTS), versions(REQUIREMENTS)
    assert {name: theirs.get(name) for name in ENGINES} == {name: ours[name] for name in ENGINES}
    assert re.fullmatch(r"\d+\.\d+\.\d+", pipecat_version())
