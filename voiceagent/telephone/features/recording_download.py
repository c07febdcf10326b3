"""`GET /v1/calls/{id}/recording`: the recording of a call that is over, for those who may read what is said in calls."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from aiohttp import hdrs, web

from voiceagent.server.calls.monitors import CallFeeds
from voiceagent.server.calls.quotas import CLIENT
from voiceagent.server.http.app import ApplicationPart
from voiceagent.server.http.problems import Problem
from voiceagent.settings.telephone import RecordingSettings
from voiceagent.telephone.features.recording_file import SUFFIXES

CALL_ID = re.compile(r"rtc_[0-9a-f]{24}")
TYPES = {".wav": "audio/wav", ".opus": "audio/ogg"}
RETRY_AFTER_S = 1


class RecordingDownloadPart(ApplicationPart):
    """The part of the application that hands out recordings."""

    def __init__(self, settings: RecordingSettings, base_dir: str, feeds: CallFeeds) -> None:
        """`feeds` are those of the calls that run: their recordings are not complete."""
        self._folder = Path(base_dir) / settings.folder if settings.folder else None
        self._feeds = feeds

    def add_routes(self, app: web.Application) -> None:
        """See `ApplicationPart`."""
        app.router.add_get("/v1/calls/{id}/recording", self._recording)

    async def _recording(self, request: web.Request) -> web.StreamResponse:
        if not request[CLIENT].is_monitor:
            raise Problem(
                403, "monitor_only", "Only a monitor may have recordings; `voiceagent keys add NAME --monitor` makes a key."
            )
        call_id = request.match_info["id"]
        if self._feeds.of(call_id) is not None:
            raise Problem(
                409,
                "call_running",
                "The recording is complete once the call is over; ask then.",
                retry_after_s=RETRY_AFTER_S,
            )
        path = await asyncio.to_thread(self._find, call_id) if CALL_ID.fullmatch(call_id) else None
        if path is None:
            raise Problem(404, "recording_not_found", f"No recording of the call {call_id[:40]!r} is kept here.", param="id")
        headers = {hdrs.CONTENT_TYPE: TYPES[path.suffix], hdrs.CACHE_CONTROL: "no-store"}
        return web.FileResponse(path, headers=headers)

    def _find(self, call_id: str) -> Path | None:
        """The file of a call's recording, if there is one."""
        if self._folder is None:
            return None
        paths = (self._folder / f"{call_id}{suffix}" for suffix in SUFFIXES.values())
        return next((path for path in paths if path.is_file()), None)
