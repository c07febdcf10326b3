"""Records a call where the operator has it so: both sides, on one clock, into a file that is written while the call goes on. The
caller is informed first, and may refuse where the settings let them."""

from __future__ import annotations

import asyncio
import logging
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.format import HEARD_HZ, PLAYED_HZ
from voiceagent.audio.resample import StreamResampler
from voiceagent.call.observer import RunningCall
from voiceagent.conversation import events as ev
from voiceagent.conversation.actions import Action, ReplyEnded
from voiceagent.json_types import JsonObject
from voiceagent.latency.spans import LegKind
from voiceagent.media.leg import InboundFrame, Leg, LegWrapper
from voiceagent.settings.agent import AgentConfig
from voiceagent.settings.telephone import RecordingSettings
from voiceagent.task_owner import TaskOwner
from voiceagent.telephone.features.phone_feature import PhoneFeature
from voiceagent.telephone.features.recording_file import SUFFIXES, CallTimeline, RecordingFile, open_recording
from voiceagent.telephone.phone_leg import PhoneLeg
from voiceagent.tools.schemas import ArgumentSchema, SchemaTool
from voiceagent.tools.tool import RunScope, Tool, ToolPolicy
from voiceagent.turn_taking.language import Language, bare_words
from voiceagent.turn_taking.languages import language

log = logging.getLogger(__name__)


BEHIND_S = 0.5
"""The age before which audio is not written yet: the agent's may be dropped."""
LATE_S = 6.0
"""The delay up to which the caller's missing audio may come, all at once: its place is not written before."""
ANNOUNCED_AGAIN = 2
"""The number of times that an announcement is repeated if the caller talked over it."""
STOP_RECORDING = "stop_recording"


@dataclass(frozen=True, slots=True)
class RecordingTimes:
    """The times of writing, in seconds."""

    written_every_s: float = 1.0
    stalled_s: float = 30.0
    """The delay of a disk that ends the recording."""
    finished_s: float = 10.0
    """Longest wait of a call's end for the recording to be written."""


RECORDING_TIMES = RecordingTimes()


class Recording(PhoneFeature):
    """The recording of one call."""

    def __init__(
        self,
        settings: RecordingSettings,
        folder: Path,
        tasks: TaskOwner,
        words: Language,
        times: RecordingTimes = RECORDING_TIMES,
    ) -> None:
        """`words` are those of the agent's language. `tasks` outlive the call: a disk may stall."""
        self._settings = settings
        self._times = times
        self._folder = folder
        self._deleted = words.sayings.recording_deleted
        self._stop_description = words.phone.stop_recording
        self._tasks = tasks
        self._on_refused: Callable[[], None] = lambda: None
        self._connected: Callable[[], Awaitable[bool]]
        self._call: RunningCall | None = None
        self._path: Path | None = None
        self._file: RecordingFile | None = None
        self._timeline = CallTimeline()
        self._down = StreamResampler(PLAYED_HZ, HEARD_HZ, quality="QQ")
        self._clock = asyncio.get_running_loop().time
        self._began_s = self._written_s = self._clock()
        self._is_on = True
        self._is_told = False
        """True while the clients know that the call is recorded."""
        self._refused = False
        self._writing: asyncio.Task[None] | None = None
        self._deleting: asyncio.Task[None] | None = None
        self._finishing: asyncio.Task[None] | None = None
        self._again = ANNOUNCED_AGAIN
        self._is_announced = not settings.announcement

    def refusable_by(self, leg: PhoneLeg) -> None:
        """Let the leg's caller refuse by the key of the settings, and have the leg remember it."""
        self._on_refused = leg.refuse_recording
        leg.on_key(self._settings.refuse_key, self.refuse)

    def begin(self, call: RunningCall) -> None:
        """Record the call."""
        self._call = call
        self._path = self._folder / f"{call.call_id}{SUFFIXES[self._settings.format]}"
        self._began_s = self._written_s = self._clock()
        self._writing = self._tasks.start(self._write(self._path), "recording")

    def change(self, agent: AgentConfig) -> AgentConfig:
        """The agent, with the announcement before the greeting."""
        greeting = f"{self._settings.announcement} {agent.phrases.text('greeting') or ''}".strip()
        return msgspec.structs.replace(agent, phrases=agent.phrases.with_greeting(greeting))

    def wrap(self, leg: Leg) -> RecordedLeg:
        """The leg, with both sides recorded."""
        self._connected = leg.wait_connected
        leg.playout.on_taken = self._on_taken
        leg.playout.on_recalled = self._on_recalled
        return RecordedLeg(leg, self)

    def tools(self) -> Sequence[Tool]:
        """The tool `stop_recording`, where the caller may refuse."""
        if not self._settings.may_refuse:
            return ()
        return (StopRecording(partial(self.refuse, says=False), self._stop_description, self._deleted),)

    @property
    def file_name(self) -> str:
        """The file name of the recording; empty where there is none."""
        return self._path.name if self._path is not None and self._file is not None and not self._refused else ""

    def file(self) -> str:
        """The path of the recording; empty where there is none."""
        return str(self._path.resolve()) if self._path is not None and self.file_name else ""

    def refuse(self, *, says: bool = True) -> None:
        """The caller does not want to be recorded: the recording is deleted, and no more is kept."""
        if not self._refused:
            self._refused, self._is_on = True, False
            self._tell(is_recorded=False)
            self._on_refused()
            self._deleting = self._tasks.start(self._delete(says=says), "deleting a recording")

    def _tell(self, *, is_recorded: bool) -> None:
        """Have the call's clients show it. A call that was never recorded has nothing to show."""
        if self._call is not None and is_recorded != self._is_told:
            self._is_told = is_recorded
            self._call.tell_recording(is_recorded=is_recorded)

    # --- the audio ---

    def hear(self, frame: InboundFrame) -> None:
        """Take what the caller said. Silence that stands for what did not arrive leaves its place to it."""
        if not self._may_keep():
            return
        if frame.concealed and not frame.pcm.any():
            self._timeline.miss("caller")
        else:
            self._timeline.put("caller", frame.pcm, self._now)

    async def finish(self) -> None:
        """The call is over; the file is complete then, unless the disk stalls."""
        was_on, self._is_on = self._is_on, False
        self._finishing = self._tasks.start(self._finish(was_on=was_on), "end of a recording")
        await asyncio.wait((self._finishing,), timeout=self._times.finished_s)
        if not self._finishing.done():
            log.error("the recording %s is not complete after %g s: the disk stalls", self.file_name, self._times.finished_s)

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
        """True while the recording is on. It is stopped if the disk stalls, so that audio does not pile up: nothing can end the
        thread that writes."""
        if self._is_on and self._clock() - self._written_s > self._times.stalled_s:
            self._stop(f"the disk is {self._times.stalled_s:g} s behind")
        return self._is_on

    def _on_taken(self, frame: NDArray[np.int16]) -> None:
        if self._may_keep():
            self._timeline.put("agent", self._down.process(frame), self._now)

    def _on_recalled(self) -> None:
        self._timeline.drop_agent(self._now)

    @property
    def _now(self) -> int:
        """The time since the call began, in samples."""
        return int((self._clock() - self._began_s) * HEARD_HZ)

    @property
    def _settled(self) -> int:
        """The time before which nothing more changes."""
        heard = self._timeline.caller_end or self._now
        return min(self._now - int(BEHIND_S * HEARD_HZ), max(heard, self._now - int(LATE_S * HEARD_HZ)))

    # --- the announcement ---

    def stepped(self, event: ev.Event, actions: tuple[Action, ...]) -> None:
        """See to it that the announcement is heard: a caller may speak over it."""
        for action in actions:
            if isinstance(action, ReplyEnded) and not self._is_announced and not self._refused:
                self._is_announced = " ".join(bare_words(self._settings.announcement)) in " ".join(bare_words(action.heard))
                if not self._is_announced and action.status == "completed" and self._again and self._call is not None:
                    self._again -= 1
                    self._call.feed(ev.Announce(self._call.now_ms(), self._settings.announcement))

    # --- the file ---

    async def _write(self, path: Path) -> None:
        if not await self._connected():
            return
        self._written_s = self._clock()
        if why := await _to_its_end(partial(self._open, path)):
            self._stop(why)
        elif self._is_on:
            self._tell(is_recorded=True)
        while self._is_on:
            await asyncio.sleep(self._times.written_every_s)
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
        """Runs in a thread. Returns the reason why nothing is recorded, or nothing."""
        try:
            self._file = open_recording(path, self._settings.format, HEARD_HZ)
        except OSError as error:
            return f"{path} cannot be written ({error.strerror})"
        return ""

    def _append(self, file: RecordingFile, pcm: NDArray[np.int16]) -> str:
        """Runs in a thread. Returns the reason why no more is recorded, or nothing."""
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
        self._tell(is_recorded=False)
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


class RecordedLeg(LegWrapper):
    """Implements `Leg`: the caller's audio goes to the recording, too."""

    def __init__(self, leg: Leg, recording: Recording) -> None:
        super().__init__(leg)
        self._recording = recording

    async def frames(self) -> AsyncIterator[InboundFrame]:
        """See `Leg`."""
        async for frame in self._leg.frames():
            self._recording.hear(frame)
            yield frame

    async def close(self) -> None:
        """See `Leg`. Then the recording's file is complete, unless the disk stalls."""
        await self._leg.close()
        self.playout.on_taken = self.playout.on_recalled = None
        await self._recording.finish()


class StopRecording(SchemaTool):
    """`stop_recording`: the caller has said that they do not want to be recorded. The recording so far is deleted."""

    def __init__(self, refuse: Callable[[], None], description: str, deleted: str) -> None:
        """`refuse` ends the recording and deletes it; `deleted` is the result for the language model then."""
        arguments = ArgumentSchema({"type": "object", "properties": {}})
        super().__init__(STOP_RECORDING, description, ToolPolicy("idempotent"), arguments)
        self._refuse = refuse
        self._deleted = deleted

    async def run(self, given: JsonObject, scope: RunScope) -> object:
        """Refuse the recording."""
        self._refuse()
        return {"status": self._deleted}


async def _to_its_end(work: Callable[[], str]) -> str:
    """Run it in a thread, and leave no thread at work behind, even if this is cancelled."""
    running = asyncio.get_running_loop().run_in_executor(None, work)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait((running,))
        raise


# --- the recordings of a server ---------------------------------------------------------------------------------------

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
