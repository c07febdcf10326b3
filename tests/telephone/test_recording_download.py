"""Recordings by HTTP: complete ones, to those who may read what is said in calls."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from aiohttp.typedefs import Handler

from voiceagent.server.access.key_file import KeyKind
from voiceagent.server.calls.monitors import CallFeeds
from voiceagent.server.calls.quotas import CLIENT, Client
from voiceagent.server.http.problems import answer_problems
from voiceagent.settings.telephone import RecordingSettings
from voiceagent.telephone.features.recording_download import RecordingDownloadPart

CALL_ID = f"rtc_{'0a' * 12}"
SOUND = b"RIFF" + bytes(1000)


@asynccontextmanager
async def asked(
    base: Path, path: str, *, kind: KeyKind = "monitor", folder: str = "kept", running: tuple[str, ...] = ()
) -> AsyncIterator[aiohttp.ClientResponse]:
    """The answer to a request by a key of this kind."""

    @web.middleware
    async def admit(request: web.Request, handler: Handler) -> web.StreamResponse:
        request[CLIENT] = Client("key 1", kind)
        return await handler(request)

    (base / "kept").mkdir(exist_ok=True)
    (base / "kept" / f"{CALL_ID}.opus").write_bytes(SOUND)
    (base / "secret.wav").write_bytes(b"not a recording")
    settings = RecordingSettings(folder=folder, announcement="This call is recorded.") if folder else RecordingSettings()
    app = web.Application(middlewares=[answer_problems, admit])
    feeds = CallFeeds(lambda queue: None)
    for call_id in running:
        feeds.begin(call_id)
    RecordingDownloadPart(settings, str(base), feeds).add_routes(app)
    async with TestServer(app) as server, aiohttp.ClientSession() as session, session.get(server.make_url(path)) as response:
        yield response


async def test_a_monitor_gets_the_recording_of_a_call_that_is_over(tmp_path: Path) -> None:
    async with asked(tmp_path, f"/v1/calls/{CALL_ID}/recording") as response:
        assert (response.status, await response.read()) == (200, SOUND)
        assert (response.headers["Content-Type"], response.headers["Cache-Control"]) == ("audio/ogg", "no-store")


@pytest.mark.parametrize("kind", ["client", "operator"])
async def test_nobody_else_does(tmp_path: Path, kind: KeyKind) -> None:
    async with asked(tmp_path, f"/v1/calls/{CALL_ID}/recording", kind=kind) as response:
        assert (response.status, (await response.json())["error"]["code"]) == (403, "monitor_only")


async def test_a_call_that_runs_has_no_complete_recording(tmp_path: Path) -> None:
    async with asked(tmp_path, f"/v1/calls/{CALL_ID}/recording", running=(CALL_ID,)) as response:
        assert (response.status, (await response.json())["error"]["code"]) == (409, "call_running")
        assert response.headers["Retry-After"] == "1"


@pytest.mark.parametrize("call_id", ["rtc_1", f"rtc_{'b' * 24}", "..%2Fsecret", "%2E%2E%2Fsecret"])
async def test_what_is_no_recorded_call_is_not_there(tmp_path: Path, call_id: str) -> None:
    async with asked(tmp_path, f"/v1/calls/{call_id}/recording") as response:
        assert response.status == 404


async def test_a_server_that_records_nothing_has_none(tmp_path: Path) -> None:
    async with asked(tmp_path, f"/v1/calls/{CALL_ID}/recording", folder="") as response:
        assert (response.status, (await response.json())["error"]["code"]) == (404, "recording_not_found")
