"""Reports to the operator's own server how a telephone call went, once it is over: one signed POST of JSON a call, tried again
for a while where it is not taken. The transcript is in it only where the settings ask for it."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import logging
import time
from collections.abc import Callable, Mapping

import httpx2
import msgspec

from voiceagent.addresses import shown
from voiceagent.call.observer import RunningCall
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.events import Event
from voiceagent.errors import ConfigError
from voiceagent.json_types import JsonObject
from voiceagent.latency.budgets import Miss
from voiceagent.latency.spans import TurnReport
from voiceagent.server.calls.call_ids import new_call_id
from voiceagent.settings.telephone import ResultSettings
from voiceagent.store.personal_data import PersonalData, Redactor
from voiceagent.task_owner import TaskOwner
from voiceagent.telephone.features.answering_machine import Screening
from voiceagent.telephone.features.phone_feature import PhoneFeature
from voiceagent.telephone.features.recording import Recording
from voiceagent.telephone.messages import CallFacts
from voiceagent.telephone.phone_leg import CALLER_HUNG_UP, PhoneLeg
from voiceagent.untrusted_json import read_json

log = logging.getLogger(__name__)


MAX_WAITING = 256
"""Results that wait to be sent, those that are tried again among them; then the oldest is let go."""
SENDERS = 4
BACK_OFF_S = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""Waits after each attempt that failed; after the last of them a result is given up."""
TIMEOUT_S = 10.0
CLOSING_S = 3.0
"""Longest wait of the server's end for results that are still to be sent."""
MAX_LINES = 1000
"""The most lines of a transcript; later ones are left out."""
AGAIN = (408, 425, 429)
"""Statuses below 500 that may change; after any other one of 4xx a result is given up at once."""
SIGNATURE = "Voiceagent-Signature"


class CallResults:
    """Sends results. Use it between `open` and `close`."""

    def __init__(
        self,
        settings: ResultSettings,
        environment: Mapping[str, str],
        dropped: Callable[[str], None] = lambda queue: None,
        back_off_s: tuple[float, ...] = BACK_OFF_S,
    ) -> None:
        """`dropped` counts what is lost. Raises ConfigError where there is an address and no secret."""
        self.settings = settings
        self._secret = environment.get(settings.secret_env, "").strip().encode()
        if settings.url and not self._secret:
            raise ConfigError(f"telephony.results: url needs ${settings.secret_env}, by which results are signed")
        self._dropped = dropped
        self._back_off_s = back_off_s
        self._queue: asyncio.Queue[bytes] = asyncio.Queue(MAX_WAITING)
        self._sending = 0
        self._senders = TaskOwner()
        self._client: httpx2.AsyncClient | None = None

    async def open(self) -> None:
        """Begin to send, where there is an address."""
        if self.settings.url:
            self._client = httpx2.AsyncClient(timeout=TIMEOUT_S, follow_redirects=False)
            for _ in range(SENDERS):
                self._senders.start_alone(self._send_all(), "call results")

    async def close(self) -> None:
        """Send the waiting results, for a moment; the rest are logged and lost."""
        if self._client is None:
            return
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._queue.join(), CLOSING_S)
        if left := self._queue.qsize() + self._sending:
            log.warning("%d call results were not delivered before the server's end", left)
        await self._senders.close()
        await self._client.aclose()

    def put(self, result: JsonObject) -> None:
        """A call is over."""
        if self._queue.full():
            self._queue.get_nowait()
            self._queue.task_done()
            self._lost("too many wait")
        self._queue.put_nowait(msgspec.json.encode(result))

    def unanswered(self, facts: CallFacts, reason: str) -> None:
        """Nobody took a call that we made. `reason`: see `messages.Unanswered`."""
        if self.settings.url:
            self.put({**_ended(new_call_id(), facts, time.time(), reason), "answered_by": "no_answer"})

    async def _send_all(self) -> None:
        while True:
            body = await self._queue.get()
            self._sending += 1
            try:
                await self._deliver(body)
            except Exception:
                log.exception("a call's result could not be sent")
            finally:
                self._sending -= 1
                self._queue.task_done()

    async def _deliver(self, body: bytes) -> None:
        for wait_s in (*self._back_off_s, None):
            problem, may_change = await self._post(body)
            if not problem:
                return
            if wait_s is None or not may_change:
                break
            await asyncio.sleep(wait_s)
        self._lost(problem)

    async def _post(self, body: bytes) -> tuple[str, bool]:
        """Sends the result once. Returns the error, empty for none, and True if another attempt may succeed."""
        assert self._client is not None
        headers = {"Content-Type": "application/json", SIGNATURE: signature(body, self._secret, int(time.time()))}
        try:
            response = await self._client.post(self.settings.url, content=body, headers=headers)
        except httpx2.HTTPError as error:
            return type(error).__name__, True
        if response.is_success:
            return "", False
        status = response.status_code
        return f"status {status}", status >= 500 or status in AGAIN

    def _lost(self, why: str) -> None:
        self._dropped("call results")
        log.warning("a call's result was not taken by %s (%s); it is lost", shown(self.settings.url), why)


def signature(body: bytes, secret: bytes, at_s: int) -> str:
    """`t=…,v1=…`: HMAC-SHA256 over the time, a full stop and the body."""
    digest = hmac.new(secret, f"{at_s}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at_s},v1={digest}"


def _ended(call_id: str, facts: CallFacts, began_s: float, reason: str) -> JsonObject:
    """The result of a call in which nothing was said."""
    return {
        "type": "call.ended",
        "call_id": call_id,
        "vendors_id": facts.vendors_id,
        "direction": "outbound" if facts.outbound else "inbound",
        "caller": facts.caller,
        "called": facts.called,
        "parameters": dict(facts.parameters),
        "began_at": round(began_s, 3),
        "duration_s": 0.0,
        "reason": reason,
        "turns": 0,
        "tools": [],
    }


class ResultOf(PhoneFeature):
    """Hands in the result of one call."""

    def __init__(
        self,
        results: CallResults,
        leg: PhoneLeg,
        recording: Recording | None = None,
        redactor: Redactor | None = None,
        screening: Screening | None = None,
    ) -> None:
        self._screening = screening
        self._redactor = redactor if redactor is not None else PersonalData().of_call()
        self._recording = recording
        self._results = results
        self._leg = leg
        self._call_id = ""
        self._facts = leg.facts
        self._began_s = time.time()
        self._last_ms = 0.0
        self._reason = ""
        self._turns = 0
        self._tools: list[str] = []
        self._said: list[dict[str, str]] = []
        self._detail, self._state = "", b""
        self._values: dict[str, str] = {}
        self._withholds = not results.settings.transcript

    def begin(self, call: RunningCall) -> None:
        """Note which call it is."""
        self._call_id = call.call_id

    def stepped(self, event: Event, actions: tuple[act.Action, ...]) -> None:
        """Note the events that are reported afterwards."""
        self._last_ms = max(self._last_ms, event.at_ms)
        if isinstance(event, ev.CallStateKept):
            self._state = event.state.encode()
        for action in actions:
            match action:
                case act.ToolStarted(name=name, arguments=arguments) if len(self._tools) < MAX_LINES:
                    self._tools.append(name)
                    self._redactor.note_tool(name, arguments)
                case act.ValueCollected(name, "confirmed", value, kind) if len(self._values) < MAX_LINES:
                    self._values[name] = value
                    self._redactor.note_value(kind, value)
                case act.CallerFinal(text=text):
                    self._say("caller", text)
                case act.ReplyEnded(heard=heard):
                    self._say("agent", heard)
                case act.End(reason, detail):
                    self._reason, self._detail = reason, detail

    def _say(self, who: str, text: str) -> None:
        if text and not self._withholds and len(self._said) < MAX_LINES:
            self._said.append({"who": who, "text": text})

    def measured(self, report: TurnReport, misses: tuple[Miss, ...]) -> None:
        """Count the turn."""
        self._turns += 1

    def ended(self) -> None:
        """Hand it in."""
        result = _ended(self._call_id, self._facts, self._began_s, self._reason or "failed") | {
            "duration_s": round(self._last_ms / 1000, 1),
            "turns": self._turns,
            "tools": self._tools,
        }
        if self._screening is not None:
            result["answered_by"] = self._screening.answered_by
            if self._screening.put_through_to:
                result["put_through_to"] = self._screening.put_through_to
        if self._detail:
            result["reason_detail"] = self._redactor.mask(self._detail)
        if self._values:
            result["values"] = self._redactor.masked(self._values)
        if self._state:
            result["state"] = self._redactor.masked(read_json(self._state))
        if self._leg.has_hung_up_waiting:
            result["transfer"] = CALLER_HUNG_UP
        if self._recording is not None and self._recording.file_name:
            result["recording"] = self._recording.file_name
        self._results.put(result if self._withholds else {**result, "transcript": self._redactor.masked(self._said)})
