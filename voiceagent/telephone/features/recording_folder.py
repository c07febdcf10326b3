"""The recordings of a server: where they are, and how long they are kept."""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path

from voiceagent.media.leg import Leg
from voiceagent.settings.agent import AgentConfig
from voiceagent.settings.telephone import RecordingSettings
from voiceagent.telephone.features.recording import Recording
from voiceagent.telephone.features.recording_file import SUFFIXES

log = logging.getLogger(__name__)

DAY_S = 24 * 3600.0


class Recordings:
    """Makes them, and deletes the old ones. Use it between `open` and `close`."""

    def __init__(self, settings: RecordingSettings, base_dir: str) -> None:
        self.folder = Path(base_dir) / settings.folder if settings.folder else None
        self._settings = settings
        self._deleting: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Delete what is too old, now and daily."""
        if self.folder is not None:
            await asyncio.to_thread(delete_old, self.folder, self._settings.keep_days, time.time())
            self._deleting = asyncio.create_task(self._delete_daily(self.folder), name="old recordings")

    async def close(self) -> None:
        """End that."""
        if self._deleting is not None:
            self._deleting.cancel()
            await asyncio.gather(self._deleting, return_exceptions=True)

    def of(self, leg: Leg, agent: AgentConfig, deleted: str) -> Recording | None:
        """The recording of a call, where calls are recorded; `deleted` is said to who refuses."""
        if self.folder is None:
            return None
        return Recording(leg, agent.telephony.recording, self.folder, deleted)

    async def _delete_daily(self, folder: Path) -> None:
        while True:
            await asyncio.sleep(DAY_S)
            await asyncio.to_thread(delete_old, folder, self._settings.keep_days, time.time())


def delete_old(folder: Path, keep_days: int, now_s: float) -> None:
    """Delete the recordings that are older. What is no recording stays. Raises nothing: what cannot be deleted is told."""
    for suffix in SUFFIXES.values():
        for path in folder.glob(f"rtc_*{suffix}"):
            try:
                if now_s - path.stat().st_mtime > keep_days * DAY_S:
                    path.unlink(missing_ok=True)
                    log.info("the recording %s is deleted: it is older than %d days", path.name, keep_days)
            except OSError as error:
                log.error("the old recording %s cannot be deleted (%s)", path, error.strerror)
