"""The caller's audio in a call. It takes the caller's frames and posts onsets, pauses, partial transcripts and endpoints as
events of the turn engine. Silence reaches only the VAD. The turn engine sets how long a pause may last (`SetEndpointing`). The
pause is measured here, in received audio."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace

import msgspec
import numpy as np
from numpy.typing import NDArray

from voiceagent.audio import voice_processing
from voiceagent.audio.format import FRAME_MS, HEARD_FRAME_SAMPLES
from voiceagent.audio.levels import Limiter
from voiceagent.audio.prosody import prosody_of
from voiceagent.audio.wordlike import LEAD_MS, MAX_SOUND_SAMPLES, words_chance
from voiceagent.call.cards import CallCards
from voiceagent.call.scope import CallScope
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.errors import EngineError
from voiceagent.guard.checks import Admitted, Checks, admit
from voiceagent.latency.spans import LegKind
from voiceagent.media.audio_cleaner import NOT_INSTALLED
from voiceagent.media.leg import InboundFrame, Leg
from voiceagent.realtime.settings import NoiseReduction
from voiceagent.settings.agent import AgentConfig, TurnSettings
from voiceagent.stt.engine import SttEngine
from voiceagent.stt.stream import UtteranceTranscriber
from voiceagent.turn_taking.patience import ExpectedValue
from voiceagent.vad.detector import DetectorOptions, SpeechDetector, SpeechOnset, SpeechProgress

log = logging.getLogger(__name__)

PREROLL_MS = 400.0
"""Audio before the onset that is also transcribed. Silero finds a soft first word up to 300 ms late."""
PAUSE_MS = 100.0
"""Silence from which on a pause is reported. Words contain shorter silences."""
EARLY_MS = 60.0
"""Silence after which a machine with free capacity already decodes the utterance. If it becomes a pause, its words are known
sooner."""
EARLY_LOAD = 0.5
"""The engines' load, 0 to 1, below which it does so. If speech goes on, the decode was for nothing."""
PARTIAL_SHARE = 0.3
"""The share of a caller's speaking time that partial decodes may take. If a decode costs much, or waits for those of other calls,
the next one comes later."""
FEWER = 3.0
"""The interval between partial decodes while there are fewer of them, as a multiple of the usual one."""
OVERLAP_SHARE = 0.6
"""`PARTIAL_SHARE` for speech over the agent, where the first words are urgent."""
OVERLAP_INTERVAL_MS = 80.0
"""The shortest interval between partial decodes for speech over the agent."""
OVERLAP_FROM_MS = 140.0
"""The length of it that is decoded first. Recognisers make anything of less, and the next decode would come later."""
OVERLAP_MS = 2000.0
"""The length of speech over the agent that is decoded this way."""
PROSODY_FRAMES = 75
"""The last 1.5 s of audio, whose prosody is measured at a pause."""
LEAST_COMMITTED_MS = 100.0
"""A client cannot end an utterance that is shorter."""
KEPT_FRAMES = 400
"""The last 8 s of audio, for the turn judges."""
SAMPLES_PER_MS = 16
WORDS_JUDGED_MS = 40.0
"""The shortest interval at which speech over the agent is judged by its sound. A judgement takes a millisecond or more of all
calls' time, and frames may come in bursts."""
OWNER = "hearing"


class Hearing:
    """One per call. `run` consumes the leg's frames. The other public methods carry out actions of the turn engine."""

    def __init__(
        self,
        scope: CallScope,
        engine: SttEngine,
        settings: TurnSettings,
        checks: Checks,
        load: Callable[[], float] = lambda: 0.0,
        settle: Callable[[int, str], Awaitable[None]] | None = None,
        cards: CallCards | None = None,
    ) -> None:
        """`load` gives the engines' load, 0 to 1. `settle` is awaited before an utterance's final words are posted. `cards` takes
        the numbers of cards out of them. Raises ModelError when the VAD's model cannot be loaded."""
        self._cards = cards
        self.language = ""
        """The call's language, if it may change during a call; else empty."""
        self._heard = ""
        """The language of the caller's last words, as the recogniser heard it."""
        self.engine = engine
        """The recogniser of the next utterances."""
        self._settings = settings
        self._clock = scope.clock
        self._tasks = scope.tasks
        self._post = scope.post
        self._engine_used = scope.engine_used
        self._checks = checks
        self._settle = settle
        self._load = load
        self._detector = SpeechDetector(DetectorOptions(preroll_ms=PREROLL_MS))
        self._utterance_id = 0
        self._transcriber: UtteranceTranscriber | None = None
        """The transcriber of the latest utterance, even after its end."""
        self._is_open = False
        self._attended = -1
        """The utterance that is spoken over the agent's reply."""
        self._recent: deque[NDArray[np.int16]] = deque(maxlen=KEPT_FRAMES)
        self._utterance_samples = 0
        """The length of the latest utterance, with its preroll and its pauses."""
        self._sound_samples = 0
        """The latest utterance from `LEAD_MS` before its onset on, with its pauses."""
        self._voiced_ms = 0.0
        self._words = ""
        self._wordless = False
        """True when the open utterance was decoded in its pause, and nothing was understood."""
        self._since_partial_ms = self._partial_cost_ms = 0.0
        self._decoding = False
        self._pause_id = 0
        self._paused = self._eager_due = self._early = False
        self._paused_from_ms = 0.0
        """The end of the speech before the pause. Speech may go on so softly that no short silence is behind it. Then another
        pause begins, with its words."""
        self._endpointing: act.SetEndpointing | None = None
        self._last_voiced_ms = -1.0
        self._uplink_ms = 0.0
        self._vad_ms = 0.0
        self._words_judged_ms = 0.0
        self._words_chance: float | None = None
        self._is_manual = False
        """True while the client ends the utterances."""
        self.fewer_partials = False
        """True while partial decodes are rarer, and no decode begins before its pause does."""

    def take_over(self, checks: Checks) -> None:
        """Another agent goes on with the call: check the caller's words by its guard."""
        self._checks = checks

    async def run(self, frames: AsyncIterator[InboundFrame]) -> None:
        """Hear until the leg ends, then stop all decodes."""
        try:
            async for frame in frames:
                self._hear(frame)
        finally:
            if self._transcriber is not None:
                await self._transcriber.close()

    def _hear(self, frame: InboundFrame) -> None:
        began = time.perf_counter()
        now_ms = self._clock.now_ms()
        self._recent.append(frame.pcm)
        self._utterance_samples += len(frame.pcm)
        self._sound_samples += len(frame.pcm)
        if self._is_manual:
            self._keep(frame)
            return
        at_ms = self._clock.at_ms(frame.received_ms)
        progress = self._detector.feed(frame.pcm if frame.cleaned is None else frame.cleaned, at_ms, frame.pcm)
        if progress is None:
            return
        self._vad_ms = (time.perf_counter() - began) * 1000.0
        if progress.last_voiced_ms > self._last_voiced_ms:
            self._last_voiced_ms = progress.last_voiced_ms
            self._uplink_ms = max(0.0, now_ms - self._clock.at_ms(frame.received_ms))
        if isinstance(progress, SpeechOnset):
            self._begin(progress)
        elif self._transcriber is not None:
            self._transcriber.feed(frame.pcm, progress.silence_ms)
        if self._is_open and self._transcriber is not None:
            self._voiced_ms = progress.voiced_ms
            self._attend_to(progress)
            self._follow(self._transcriber, progress)

    def _keep(self, frame: InboundFrame) -> None:
        """Add a frame to the utterance that the client will end."""
        if self._transcriber is None or not self._is_open:
            self._utterance_id += 1
            self._transcriber = UtteranceTranscriber(self.engine, language=self.language, heard=self._heard)
            self._transcriber.begin(self._utterance_id, frame.pcm)
            self._is_open, self._words, self._voiced_ms = True, "", 0.0
        else:
            self._transcriber.feed(frame.pcm, 0.0)
        self._voiced_ms += FRAME_MS

    def _attend_to(self, progress: SpeechProgress) -> None:
        """Report speech over the agent's reply frame by frame, while it is new."""
        if self._attended == self._utterance_id and progress.voiced_ms < OVERLAP_MS:
            now_ms = self._clock.now_ms()
            if self._words_chance is None or not 0 <= now_ms - self._words_judged_ms < WORDS_JUDGED_MS:
                self._words_chance = words_chance(self._last_audio(min(self._sound_samples, MAX_SOUND_SAMPLES)))
                self._words_judged_ms = now_ms
            chance = self._words_chance
            self._post(ev.OverlapHeard(now_ms, self._utterance_id, progress.voiced_ms, progress.silence_ms, chance))

    def _follow(self, utterance: UtteranceTranscriber, progress: SpeechProgress) -> None:
        """Check whether the utterance goes on, pauses, or ends."""
        if self._paused and (progress.silence_ms < PAUSE_MS or progress.last_voiced_ms > self._paused_from_ms):
            self._paused, self._endpointing, self._wordless = False, None, False
            self._post(ev.SpeechResumed(self._clock.now_ms(), self._utterance_id))
        if progress.silence_ms < PAUSE_MS:
            if progress.silence_ms >= EARLY_MS:
                self._decode_early(utterance)
            else:
                self._early = False
                self._maybe_partial(utterance)
            return
        if not self._paused:
            self._pause(progress)
        endpointing = self._endpointing
        if endpointing is None:
            return
        silence_ms = progress.silence_ms + FRAME_MS / 2  # rounds to the nearest frame
        if silence_ms >= endpointing.endpoint_ms:
            self._end(progress)
        elif self._eager_due and silence_ms >= endpointing.eager_ms:
            self._eager_due = False
            self._post(ev.SilenceReached(self._clock.now_ms(), self._utterance_id, self._pause_id))

    def _decode_early(self, utterance: UtteranceTranscriber) -> None:
        """Begin the decode that the turn engine asks for if the silence lasts. If speech goes on, it is discarded."""
        long_enough = self._voiced_ms >= self._settings.min_speech_ms
        if self.fewer_partials:
            return
        if not self._early and not self._decoding and long_enough and self._load() < EARLY_LOAD:
            self._early = True
            self._tasks.start(OWNER, self._unasked(utterance))

    async def _unasked(self, utterance: UtteranceTranscriber) -> None:
        with contextlib.suppress(EngineError):  # the decode that is asked for reports the error
            await utterance.final(early=True)

    def _begin(self, onset: SpeechOnset) -> None:
        self._utterance_id += 1
        self._transcriber = UtteranceTranscriber(self.engine, language=self.language, heard=self._heard)
        self._transcriber.begin(self._utterance_id, onset.audio)
        self._utterance_samples = len(onset.audio)
        self._sound_samples = int((self._clock.now_ms() - onset.onset_ms + LEAD_MS) * SAMPLES_PER_MS)
        self._is_open = True
        self._since_partial_ms = 0.0
        self._decoding = self._paused = False
        self._endpointing = None
        self._words = ""
        self._wordless = False
        self._words_chance = None
        self._post(ev.SpeechStarted(self._clock.now_ms(), self._utterance_id, onset.onset_ms))

    def _pause(self, progress: SpeechProgress) -> None:
        self._paused = self._eager_due = True
        self._paused_from_ms = progress.last_voiced_ms
        self._pause_id += 1
        silence_samples = int(progress.silence_ms * SAMPLES_PER_MS)
        spoken = np.concatenate([*self._recent][-PROSODY_FRAMES:])[:-silence_samples]
        sound = spoken[-min(MAX_SOUND_SAMPLES, max(1, self._sound_samples - silence_samples)) :]
        self._post(
            ev.SpeechPaused(
                self._clock.now_ms(),
                self._utterance_id,
                self._pause_id,
                progress.last_voiced_ms,
                progress.voiced_ms,
                prosody_of(spoken),
                self._load(),
                words_chance(sound),
            )
        )

    def _end(self, progress: SpeechProgress) -> None:
        self._close()
        now_ms = self._clock.now_ms()
        self._post(ev.Endpoint(now_ms, self._utterance_id, progress.last_voiced_ms, self._uplink_ms, self._vad_ms))

    def _close(self) -> None:
        """End the open utterance. If nothing was understood in it, the next one may begin with its audio."""
        self._detector.end(has_words=not self._wordless)
        self._is_open = False

    def _maybe_partial(self, transcriber: UtteranceTranscriber) -> None:
        self._since_partial_ms += FRAME_MS
        attended = self._attended == self._utterance_id
        if attended and self._voiced_ms < OVERLAP_FROM_MS:
            return
        urgent = attended and self._voiced_ms < OVERLAP_MS
        interval_ms = float(self._settings.partial_interval_ms)
        if self.fewer_partials and not urgent:
            interval_ms = FEWER * max(interval_ms, self._partial_cost_ms / PARTIAL_SHARE)
        if urgent:
            interval_ms = min(interval_ms, OVERLAP_INTERVAL_MS)
        interval_ms = max(interval_ms, self._partial_cost_ms / (OVERLAP_SHARE if urgent else PARTIAL_SHARE))
        if self._since_partial_ms >= interval_ms and not self._decoding:
            self._since_partial_ms = 0.0
            self._decoding = True
            self._tasks.start(OWNER, self._partial(self._utterance_id, transcriber, urgent=urgent))

    async def _partial(self, utterance_id: int, transcriber: UtteranceTranscriber, *, urgent: bool) -> None:
        try:
            partial = await transcriber.partial(urgent=urgent)
        except EngineError:
            partial = None
        hide = self._cards.hide_partial if self._cards is not None else str
        known = (hide(partial.stable), hide(partial.unstable)) if partial is not None else ("", "")
        readable = await self._checks.partial_input(*known) if partial is not None else known
        if utterance_id == self._utterance_id:
            self._decoding = False
            if partial is not None:
                self._partial_cost_ms = partial.decode_ms
                self._words = f"{partial.stable} {partial.unstable}"
                stable, unstable = readable
                self._post(ev.Transcript(self._clock.now_ms(), utterance_id, stable, unstable, partial.decode_ms))

    def utterance_audio(self) -> NDArray[np.int16]:
        """The latest utterance, at most its last 8 s; mono 16 kHz."""
        return self._last_audio(self._utterance_samples)

    def _last_audio(self, samples: int) -> NDArray[np.int16]:
        frames = [*self._recent][-(samples // HEARD_FRAME_SAMPLES + 1) :]
        return np.concatenate(frames)[-samples:] if frames and samples else np.zeros(0, np.int16)

    # --- what the client asks for ---

    def use(self, *, is_manual: bool, threshold: float | None, padding_ms: float | None) -> None:
        """Find the utterances as the client wants it. `is_manual`: the client ends them. None: as by default."""
        default = DetectorOptions(preroll_ms=PREROLL_MS)
        level = default.threshold if threshold is None else threshold
        self._detector.options = replace(
            default,
            threshold=level,
            sure=max(default.sure, level + 0.1),
            release=min(default.release, level),
            preroll_ms=PREROLL_MS if padding_ms is None else padding_ms,
        )
        if is_manual != self._is_manual:
            self.forget()
            self._is_manual = is_manual

    def commit(self) -> bool:
        """End the utterance here. Returns False if there is none."""
        if not self._is_open or (self._is_manual and self._voiced_ms < LEAST_COMMITTED_MS):
            return False
        now_ms = self._clock.now_ms()
        if self._is_manual:
            self._is_open = False
            self._post(ev.UtteranceCommitted(now_ms, self._utterance_id, max(0.0, now_ms - self._voiced_ms)))
        else:
            self._close()
            self._post(ev.Endpoint(now_ms, self._utterance_id, self._last_voiced_ms, self._uplink_ms, self._vad_ms))
        return True

    def forget(self) -> None:
        """Forget the open utterance."""
        if self._is_manual:
            self._is_open = False
        elif self._is_open:
            self._post(ev.UtteranceCleared(self._clock.now_ms()))

    # --- what the turn engine asks for ---

    def attend(self, utterance_id: int) -> None:
        """The utterance is spoken over the agent's reply. Decode its first words at once."""
        self._attended = utterance_id
        self._since_partial_ms = max(self._settings.partial_interval_ms, OVERLAP_INTERVAL_MS)

    def expect(self, utterance_id: int, value: ExpectedValue) -> None:
        """The utterance may be the value that the agent asked for."""
        if utterance_id == self._utterance_id and self._transcriber is not None:
            self._transcriber.expect(value)

    def set_endpointing(self, endpointing: act.SetEndpointing) -> None:
        """Set how long the pause of the open utterance may last."""
        if endpointing.utterance_id == self._utterance_id:
            self._endpointing = endpointing

    def discard(self, utterance_id: int) -> None:
        """Forget the open utterance."""
        if utterance_id == self._utterance_id and self._is_open:
            self._close()
            if self._transcriber is not None:
                self._transcriber.forget_early_final()

    def transcribe(self, utterance_id: int) -> None:
        """Decode the open utterance in its pause, or the one that has just ended. An utterance that is too short to be speech
        gets no words."""
        if utterance_id == self._utterance_id and self._transcriber is not None:
            self._tasks.start(OWNER, self._decode(utterance_id, self._pause_id, self._transcriber, self._words))

    async def _decode(self, utterance_id: int, pause_id: int, transcriber: UtteranceTranscriber, words: str) -> None:
        text = language = ""
        failed = False
        if self._voiced_ms >= self._settings.min_speech_ms:
            try:
                final = await transcriber.final()
            except EngineError as error:
                self._engine_used("stt", error.kind)
                log.error("the final decode of utterance %d failed, its last partial is used: %s", utterance_id, error)
                text, failed = words, True
            else:
                if final is None:  # speech resumed: the decode is no longer needed
                    return
                self._engine_used("stt", "")
                text, language = final.text, final.language
                self._heard = language if text and language else self._heard
        if utterance_id == self._utterance_id:
            self._wordless = not text
        if self._cards is not None:
            text = self._cards.hide(text)
        admitted = await admit(self._checks, text)
        refusal = refusal_of(admitted)
        if self._settle is not None and refusal is None:
            await self._settle(utterance_id, admitted.text)
        now_ms = self._clock.now_ms()
        guard_ms = admitted.guard_ms
        self._post(ev.FinalTranscript(now_ms, utterance_id, admitted.text, pause_id, refusal, guard_ms, language, failed))


def refusal_of(admitted: Admitted) -> ev.Refusal | None:
    """The turn engine's form of a refusal, if the input guard withheld the words."""
    verdict = admitted.verdict
    return ev.Refusal(verdict.rule, verdict.line) if verdict.blocked else None


def clean(leg: Leg, agent: AgentConfig) -> NoiseReduction:
    """Remove echo and noise from the leg's audio as the operator set it for its kind, and set the loudness of the agent's
    voice on a telephone. Returns what the client may ask for."""
    cleaning = agent.media.cleaning(leg.kind)
    leg.cleaner.use(cleaning)
    if leg.kind is LegKind.TELEPHONE and agent.telephony.gain_db:
        leg.playout.limiter = Limiter(agent.telephony.gain_db)
    return NoiseReduction(cleaning.noise_suppression, "" if voice_processing.is_installed() else NOT_INSTALLED)


async def reduce_noise(leg: Leg, *, wanted: bool | None) -> None:
    """The client asks for noise suppression, or for none. None: it has not changed its mind."""
    if wanted is None:
        return
    with contextlib.suppress(ImportError):  # the cleaner tells, and leaves the audio as it comes
        await asyncio.to_thread(voice_processing.load)
    leg.cleaner.use(msgspec.structs.replace(leg.cleaner.settings, noise_suppression=wanted))
