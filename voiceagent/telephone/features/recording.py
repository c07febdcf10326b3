"""Records a call where the operator has it so: both sides, on one clock, into a file that is written while the call goes on. The
caller is told first, and may refuse where the settings let them."""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.format import HEARD_HZ, PLAYED_HZ
from voiceagent.audio.resample import StreamResampler
from voiceagent.call.observer import CallObserver, FedCall
from voiceagent.conversation import events as ev
from voiceagent.conversation.actions import Action, ReplyEnded
from voiceagent.media.leg import InboundFrame, Leg, LegWrapper
from voiceagent.settings.telephone import RecordingSettings
from voiceagent.telephone.features.call_timeline import CallTimeline
from voiceagent.telephone.features.recording_file import SUFFIXES, RecordingFile, open_recording
from voiceagent.turn_taking.language import bare_words

log = logging.getLogger(__name__)

WRITTEN_EVERY_S = 1.0
BEHIND_S = 0.5
"""What is younger is not written yet: the agent's may be dropped."""
LATE_S = 6.0
"""The caller's audio that is missing may come late, all at once: so long its place is not written yet."""
MAX_WAITING_S = 30.0
"""A disk that is behind by so much ends the recording."""
FINISHED_S = 10.0
"""So long a call's end waits for its file."""
ANNOUNCED_AGAIN = 2
"""So often an announcement that the caller spoke over is said again."""


class Recording(LegWrapper, CallObserver):
    """Implements `Leg`. `watch` names the call before it runs."""

    def __init__(self, leg: Leg, settings: RecordingSettings, folder: Path, deleted: str) -> None:
        """`deleted` is what a caller is told who has refused."""
        super().__init__(leg)
        self._settings = settings
        self._folder = folder
        self._deleted = deleted
        self.on_refused: Callable[[], None] = lambda: None
        self._call: FedCall | None = None
        self._path: Path | None = None
        self._file: RecordingFile | None = None
        self._timeline = CallTimeline()
        self._down = StreamResampler(PLAYED_HZ, HEARD_HZ, quality="QQ")
        self._clock = asyncio.get_running_loop().time
        self._began_s = self._written_s = self._clock()
        self._is_on = True
        self._refused = False
        self._writing: asyncio.Task[None] | None = None
        self._deleting: asyncio.Task[None] | None = None
        self._finishing: asyncio.Task[None] | None = None
        self._again = ANNOUNCED_AGAIN
        self._is_announced = not settings.announcement
        self.playout.on_taken = self._on_taken
        self.playout.on_recalled = self._on_recalled

    def watch(self, call: FedCall) -> None:
        """The call that is recorded."""
        self._call = call
        self._path = self._folder / f"{call.call_id}{SUFFIXES[self._settings.format]}"
        self._began_s = self._written_s = self._clock()
        self._writing = asyncio.create_task(self._write(self._path), name="recording")

    @property
    def file_name(self) -> str:
        """Of the recording; empty where there is none."""
        return self._path.name if self._path is not None and self._file is not None and not self._refused else ""

    def refuse(self, *, says: bool = True) -> None:
        """The caller does not want to be recorded: what there is is deleted, and no more is kept."""
        if not self._refused:
            self._refused, self._is_on = True, False
            self.on_refused()
            self._deleting = asyncio.create_task(self._delete(says=says), name="deleting a recording")

    # --- the leg ---

    async def frames(self) -> AsyncIterator[InboundFrame]:
        """Those of the leg."""
        async for frame in self._leg.frames():
            if self._may_keep():
                self._keep(frame)
            yield frame

    def _keep(self, frame: InboundFrame) -> None:
        """Put in what was heard. Silence that stands for what did not arrive leaves its place to it."""
        if frame.concealed and not frame.pcm.any():
            self._timeline.miss("caller")
        else:
            self._timeline.put("caller", frame.pcm, self._now)

    async def close(self) -> None:
        """See `Leg`; the file is complete then, unless the disk stalls."""
        await self._leg.close()
        self.playout.on_taken = self.playout.on_recalled = None
        was_on, self._is_on = self._is_on, False
        self._finishing = asyncio.create_task(self._finish(was_on=was_on), name="end of a recording")
        await asyncio.wait((self._finishing,), timeout=FINISHED_S)
        if not self._finishing.done():
            log.error("the recording %s is not complete after %g s: the disk stalls", self.file_name, FINISHED_S)

    async def _finish(self, *, was_on: bool) -> None:
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.gather(self._writing, return_exceptions=True)
            self._writing = None
            if was_on:
                await self._add(self._timeline.take(max(self._now, self._timeline.caller_end)))
            await self._end()
        if self._deleting is not None:
            await asyncio.gather(self._deleting, return_exceptions=True)

    def _may_keep(self) -> bool:
        """Whether it is on. Nothing ends a thread whose disk stalls; what it does not take must not pile up meanwhile."""
        if self._is_on and self._clock() - self._written_s > MAX_WAITING_S:
            self._stop(f"the disk is {MAX_WAITING_S:g} s behind")
        return self._is_on

    def _on_taken(self, frame: NDArray[np.int16]) -> None:
        if self._may_keep():
            self._timeline.put("agent", self._down.process(frame), self._now)

    def _on_recalled(self) -> None:
        self._timeline.drop_agent(self._now)

    @property
    def _now(self) -> int:
        """In samples since the call began."""
        return int((self._clock() - self._began_s) * HEARD_HZ)

    @property
    def _settled(self) -> int:
        """The time before which nothing more changes."""
        heard = self._timeline.caller_end or self._now
        return min(self._now - int(BEHIND_S * HEARD_HZ), max(heard, self._now - int(LATE_S * HEARD_HZ)))

    # --- the observer ---

    def stepped(self, event: ev.Event, actions: tuple[Action, ...]) -> None:
        """See to it that the announcement is heard: a caller may speak over it."""
        for action in actions:
            if isinstance(action, ReplyEnded) and not self._is_announced and not self._refused:
                self._is_announced = " ".join(bare_words(self._settings.announcement)) in " ".join(bare_words(action.heard))
                if not self._is_announced and action.status == "completed" and self._again and self._call is not None:
                    self._again -= 1
                    self._call.feed(ev.Announce(self._call.now_ms(), self._settings.announcement))

    def ended(self) -> None:
        """`close` has freed all."""

    # --- the file ---

    async def _write(self, path: Path) -> None:
        if why := await _to_its_end(partial(self._open, path)):
            self._stop(why)
        while self._is_on:
            await asyncio.sleep(WRITTEN_EVERY_S)
            if self._clock() - self._began_s > self._settings.max_minutes * 60:
                self._stop(f"it has lasted {self._settings.max_minutes} minutes, which is telephony.recording.max_minutes")
            elif self._is_on:
                await self._add(self._timeline.take(self._settled))
                self._written_s = self._clock()

    async def _add(self, pcm: NDArray[np.int16]) -> None:
        if self._file is None or self._refused:
            return
        if why := await _to_its_end(partial(self._append, self._file, pcm)):
            self._stop(why)

    def _open(self, path: Path) -> str:
        """Runs in a thread. Why nothing is recorded, or nothing."""
        try:
            self._file = open_recording(path, self._settings.format, HEARD_HZ)
        except OSError as error:
            return f"{path} cannot be written ({error.strerror})"
        return ""

    def _append(self, file: RecordingFile, pcm: NDArray[np.int16]) -> str:
        """Runs in a thread. Why no more is recorded, or nothing."""
        try:
            free_mb = shutil.disk_usage(self._folder).free >> 20
            if free_mb < self._settings.min_free_mb:
                least = self._settings.min_free_mb
                return f"{self._folder} has {free_mb} MB free, expected {least} or more (telephony.recording.min_free_mb)"
            file.write(pcm)
        except OSError as error:
            return f"{self._folder}: {error.strerror}"
        except Exception as error:  # noqa: BLE001 - whatever an encoder raises ends the recording, and nothing else
            return f"{self._folder}: {error}"
        return ""

    def _stop(self, why: str) -> None:
        self._is_on = False
        log.error("call %s is recorded no further: %s", self._call.call_id if self._call is not None else "?", why)

    async def _end(self) -> None:
        if self._file is None:
            return
        try:
            await asyncio.to_thread(self._file.close)
        except (OSError, ValueError) as error:
            log.error("the recording %s could not be completed: %s", self.file_name, error)

    async def _delete(self, *, says: bool) -> None:
        if self._writing is not None:
            await asyncio.wait((self._writing,))
        if self._path is not None:
            await asyncio.to_thread(self._path.unlink, missing_ok=True)
            log.info("the recording %s is deleted: the caller has refused it", self._path.name)
        if says and self._call is not None:
            self._call.feed(ev.Announce(self._call.now_ms(), self._deleted))


async def _to_its_end(work: Callable[[], str]) -> str:
    """Run it in a thread, and leave no thread at work behind, even if this is cancelled."""
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait((running,))
        raise
