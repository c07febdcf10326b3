"""The recordings of a server: where they are, and how long they are kept."""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path

from voiceagent.latency.spans import LegKind
from voiceagent.media.leg import Leg
from voiceagent.settings.agent import AgentConfig
from voiceagent.settings.telephone import RecordingSettings
from voiceagent.task_owner import TaskOwner
from voiceagent.telephone.features.recording import RECORDING_TIMES, Recording
from voiceagent.telephone.features.recording_file import SUFFIXES
from voiceagent.telephone.phone_leg import PhoneLeg
from voiceagent.turn_taking.languages import language

log = logging.getLogger(__name__)

DAY_S = 24 * 3600.0


class Recordings:
    """Makes them, and deletes the old ones. Use it between `open` and `close`."""

    def __init__(self, settings: RecordingSettings, base_dir: str) -> None:
        self.folder = Path(base_dir) / settings.folder if settings.folder else None
        self._settings = settings
        self._tasks = TaskOwner()

    async def open(self) -> None:
        """Delete what is too old, now and daily."""
        if self.folder is not None:
            await asyncio.to_thread(delete_old, self.folder, self._settings.keep_days, time.time())
            self._tasks.start_alone(self._delete_daily(self.folder), "old recordings")

    async def close(self) -> None:
        """End that, and recordings that wait for a disk."""
        await self._tasks.close(RECORDING_TIMES.finished_s)

    def of(self, agent: AgentConfig, leg: Leg) -> Recording | None:
        """The recording of a call, where calls by such a leg are recorded and the caller has not refused that."""
        settings = agent.telephony.recording
        phone = leg if isinstance(leg, PhoneLeg) else None
        if self.folder is None or (phone is None and (not settings.browsers or leg.kind is LegKind.TEXT)):
            return None
        if phone is not None and phone.facts.refuses_recording:
            return None
        recording = Recording(settings, self.folder, self._tasks, language(agent.spoken_languages[0]))
        if phone is not None and settings.may_refuse:
            recording.refusable_by(phone)
        return recording

    async def _delete_daily(self, folder: Path) -> None:
        while True:
            await asyncio.sleep(DAY_S)
            await asyncio.to_thread(delete_old, folder, self._settings.keep_days, time.time())


def delete_old(folder: Path, keep_days: int, now_s: float) -> None:
    """Delete the recordings that are older. Other files stay. Raises nothing: a file that cannot be deleted is logged."""
    for suffix in SUFFIXES.values():
        for path in folder.glob(f"rtc_*{suffix}"):
            try:
                if now_s - path.stat().st_mtime > keep_days * DAY_S:
                    path.unlink(missing_ok=True)
                    log.info("the recording %s is deleted: it is older than %d days", path.name, keep_days)
            except OSError as error:
                log.error("the old recording %s cannot be deleted (%s)", path, error.strerror)
