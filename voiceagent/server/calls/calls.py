"""The calls that are up. Each runs in a task that this owner awaits. However a call ends, its leg is closed, its place is given
back and its end is counted."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol, runtime_checkable

import msgspec

from voiceagent.call.journal import Journal
from voiceagent.conversation.handover import HANDED_OVER
from voiceagent.errors import MediaError, VoiceAgentError
from voiceagent.latency.spans import LegKind
from voiceagent.media.leg import Leg, Sideband
from voiceagent.media.playout import Playout
from voiceagent.media.resumable_leg import ConnectionLeg, ResumableLeg
from voiceagent.media.webrtc.ports import NoPortError
from voiceagent.realtime.fixed_settings import LEFT
from voiceagent.server.access.client_secrets import IssuedSecret
from voiceagent.server.calls.admission import RETRY_AFTER_S, YOUNG_S, Admission
from voiceagent.server.calls.call_ids import call_of_token, new_call_id, new_resume_token
from voiceagent.server.calls.journal import JournalledCall, ServerJournal
from voiceagent.server.calls.pressure import CallsUp
from voiceagent.server.calls.quotas import NOBODY, CallPlace, Client, ClientQuotas
from voiceagent.server.calls.waiting_calls import ENCODER, NotYetError, WaitingCall, WaitingCalls
from voiceagent.server.http.problems import Problem
from voiceagent.server.monitoring.metrics import Metrics
from voiceagent.store.waiting_calls import seal_key, token_hash
from voiceagent.task_owner import TaskOwner, running

log = logging.getLogger(__name__)

NOT_RESUMABLE = "The resume token is wrong, was used, or its call is over; begin a new call."
RECEIVED_S = 60.0
"""A connection that has lasted for so long has brought its client the next token. One that is gone was noticed by then."""
AGAIN_S = 1
"""A client whose call cannot be taken up yet tries again after this time."""

ANSWER_TIMEOUT_S = 10.0
MINUTES_CHECKED_S = 5.0
"""The interval at which a call is charged to its client's minutes."""
NO_PORT = "This server has no port left for another call's audio; call again in a moment."
LOST_LEAST_S = 5.0
"""The time that a lost call keeps its place whoever calls."""
GIVE_WAY_S = 2.0
"""The longest wait for the end of a call that gives way."""
GAVE_WAY = "gave_way"
"""The reason of the end of a lost call whose place another one got."""
QUOTA_USED = "quota_used"
"""The reason of the end of a call whose client has no minutes left."""
TAKEN_OVER = "taken_over"
"""The reason of the end of a call that another server carries now, because it took this one for dead."""
KEY_REVOKED = "key_revoked"
"""The reason of the end of a call whose key, or that of its client secret, was revoked."""


class CallHandle(Protocol):
    """A call that was answered."""

    async def run(self) -> str:
        """Carry the call to its end; returns why it ended, as a slug."""
        ...

    def hang_up(self, reason: str) -> None:
        """Ask the call to end soon. May be called at any time, also twice."""
        ...


@runtime_checkable
class JoinableCall(Protocol):
    """A call whose events others may take part in."""

    async def join(self, sideband: Sideband) -> None:
        """Let another client take part, until it leaves or the call ends."""
        ...


@runtime_checkable
class LeavingCall(Protocol):
    """A call whose agent can take leave."""

    def take_leave(self, reason: str) -> None:
        """Have the agent end the call after its reply or a goodbye, unless the caller objects."""
        ...


@runtime_checkable
class ResumableCall(Protocol):
    """A call that outlives its connection."""

    @property
    def is_over(self) -> bool:
        """True once its clients were told of its end: nothing may follow that."""
        ...

    def offer_resumption(self, token: str, after: str = "") -> None:
        """Tell the client this token when the call begins. `after` is the last event that the client of a call got that another
        server has left."""
        ...

    async def hand_over(self) -> object | None:
        """Stop here; returns what another server needs to go on, and then `leave` must be called. None: the call ends anyway."""
        ...

    def leave(self, reason: str = HANDED_OVER) -> None:
        """End a call that was handed over, or that cannot be, for another reason."""
        ...

    def draining(self, timeout_s: float) -> None:
        """Tell the client that the server is about to end."""
        ...

    def connection_lost(self, alive_ms: float) -> None:
        """The client's connection is lost. `alive_ms`: see `ConnectionLeg`."""
        ...

    def caller_returns(self) -> None:
        """The client has presented its token, and its new connection is being made."""
        ...

    def connection_replaced(self) -> None:
        """Another connection is about to take the place of one that is up, which is then lost."""
        ...

    def resumed(self, token: str, after: str) -> None:
        """The client is back. `after` is the id of the last event that it got; empty if it does not say. `token` is its next."""
        ...


@runtime_checkable
class TellingCall(Protocol):
    """A call that tells what it would leave for another server."""

    def keep_journal(self, journal: Journal) -> None:
        """Tell this journal, from the beginning of the call on."""
        ...


Answer = Callable[[str], Awaitable[tuple[Leg, str]]]
"""Answers an SDP offer: the leg and the SDP answer. Raises MediaError for an offer that cannot be used."""

StartCall = Callable[[Leg, str, dict[str, object]], CallHandle]
"""Makes the call of a leg, from its id and the session settings that came with the offer."""


@dataclass(slots=True)
class _Up:
    """A call that is up."""

    call_id: str
    handle: CallHandle
    leg: Leg
    place: CallPlace
    task: asyncio.Task[None] = field(init=False)
    """Carries the call to its end."""
    ours: object = None
    """The server's own part of its session settings."""
    resume_hash: bytes = b""
    """The hash of the token that resumes it. Empty: it cannot be resumed."""
    went_on_from: str = ""
    """The call that it was at another server."""
    used_hash: bytes = b""
    """The hash of the token with which the client came back after a loss. It may lose the new connection before the next token
    has come."""
    renewed_s: float = 0.0
    """The time at which the latest token was sent, on the event loop's clock."""
    seal_key: bytes = b""
    """The key that seals the call for another server."""
    journalled: JournalledCall | None = None
    """The call, as it is kept for the case that this server is killed."""
    joining: asyncio.Task[None] | None = None
    """Waits until a new connection, which is to take the place of the last one, is up."""

    gives_way: bool = False
    """True once it ends, so that another call gets its place."""

    @property
    def may_be_resumed(self) -> bool:
        """True until its end was told. It is freed after that, which takes a moment."""
        return not (isinstance(self.handle, ResumableCall) and self.handle.is_over)

    @property
    def may_give_way(self) -> bool:
        """True unless it does, or its caller is coming back."""
        return not self.gives_way and (self.joining is None or self.joining.done())

    def is_resumed_by(self, token: str) -> bool:
        """True for its latest token, and for the one before as long as the latest may not have come."""
        given = token_hash(token)
        if secrets.compare_digest(given, self.resume_hash):
            return True
        lost_s = self.leg.lost_s if isinstance(self.leg, ResumableLeg) else None
        lasted_s = (asyncio.get_running_loop().time() if lost_s is None else lost_s) - self.renewed_s
        return lasted_s < RECEIVED_S and secrets.compare_digest(given, self.used_hash)

    def new_token(self, used: str = "") -> str:
        """A token that resumes the call. `used`: the one with which the client came back after a loss; empty if it did not."""
        token = new_resume_token(self.call_id)
        self.used_hash, self.renewed_s = token_hash(used) if used else b"", asyncio.get_running_loop().time()
        self.resume_hash, self.seal_key = token_hash(token), seal_key(token)
        if self.journalled is not None:
            self.journalled.opens_by(self.resume_hash, self.seal_key)
        return token


class _Answered:
    """An offer, which is answered once its call has a place."""

    def __init__(self, answer: Answer, offer: str) -> None:
        self.sdp = ""
        """The answer, once there is one."""
        self._answer = answer
        self._offer = offer

    async def make_leg(self) -> Leg:
        """The leg that the offer gets. Raises Problem."""
        leg, self.sdp = await self._answer(self._offer)
        return leg


class Calls:
    """Answers, keeps and ends calls."""

    def __init__(
        self,
        answer: Answer,
        admission: Admission,
        quotas: ClientQuotas,
        metrics: Metrics,
        knows: Callable[[Client], bool] = lambda client: True,
        waiting: WaitingCalls | None = None,
        client_of: Callable[[tuple[str, str]], Client | None] = lambda owner: Client(owner[0]),
        journal: ServerJournal | None = None,
    ) -> None:
        """`knows` returns False once a client's key was revoked. `waiting` are the calls that other servers have left, and
        `client_of` finds the client of one; None: its key is not known here. `journal` keeps the calls for the case that this
        server is killed."""
        self._waiting = waiting
        self._journal = journal
        self._client_of = client_of
        self.metrics = metrics
        self._knows = knows
        self._admission = admission
        self._quotas = quotas
        self._answer = answer
        self._up: dict[str, _Up] = {}
        admission.pressure.calls_up = self._calls_up
        self._tasks = TaskOwner()

    def __len__(self) -> int:
        return len(self._up)

    async def answer(
        self,
        offer: str,
        session: dict[str, object],
        start_call: StartCall,
        client: Client = NOBODY,
        is_there: Callable[[], bool] = lambda: True,
    ) -> tuple[str, str]:
        """Answer a client's offer and start its call: the call's id and the SDP answer. Raises Problem."""
        answered = _Answered(self._leg, offer)
        call_id = await self.begin(answered.make_leg, session, start_call, client, is_there)
        return call_id, answered.sdp

    async def begin(
        self,
        make_leg: Callable[[], Awaitable[Leg]],
        session: dict[str, object],
        start_call: StartCall,
        client: Client = NOBODY,
        is_there: Callable[[], bool] = lambda: True,
        *,
        is_written: bool = False,
        call_id: str = "",
    ) -> str:
        """Take a place for a client's call, perhaps after a wait, during which `is_there` says whether the caller still is, make
        its leg and start it: the call's id, a new one unless `call_id` is given. `is_written`: it has no audio. Raises Problem,
        also what `make_leg` raises."""
        with client.beginning(session) as asked:
            await self._make_room(client)
            place = await self._quotas.begin(client)
            try:
                await self._admission.admit(is_there, is_written=is_written)
            except BaseException:
                place.release()
                raise
            try:
                await place.connect()
                if not is_there():
                    raise Problem(503, "gone", "Nobody waits for this call any more, or the server has begun to drain.")
                leg = await make_leg()
                if not self._knows(client):
                    await leg.close()
                    raise Problem(401, "invalid_api_key", "The key was revoked while the call waited; send another one.")
                leg = ResumableLeg(leg) if isinstance(leg, ConnectionLeg) else leg
                call_id = call_id or new_call_id()
                try:
                    handle = start_call(leg, call_id, asked)
                except BaseException:
                    await leg.close()
                    raise
            except BaseException:
                self._admission.release(is_written=is_written)
                place.release()
                raise
        self._carry(_Up(call_id, handle, leg, place, asked.get("voiceagent")))
        return call_id

    async def _make_room(self, client: Client) -> None:
        """Let the call give way whose connection was lost first, the client's own or any, where a new one would find no place."""
        if await self._quotas.has_all(client):
            await self._give_way(up for up in self._up.values() if up.place.client.name == client.name)
        if self._admission.is_full:
            await self._give_way(self._up.values())

    async def _give_way(self, calls: Iterable[_Up]) -> None:
        until_s = asyncio.get_running_loop().time() - LOST_LEAST_S
        lost = [
            (up.leg.lost_s, up)
            for up in calls
            if isinstance(up.leg, ResumableLeg) and up.leg.lost_s is not None and up.leg.lost_s <= until_s and up.may_give_way
        ]
        if lost:
            _, first = min(lost, key=lambda pair: pair[0])
            first.gives_way = True
            first.handle.hang_up(GAVE_WAY)
            await asyncio.wait((first.task,), timeout=GIVE_WAY_S)

    def _carry(self, up: _Up, after: str = "", token: str = "") -> None:
        """Run a call. `token`: its client came back with this one, and has got all events up to `after`."""
        call_id, handle, leg = up.call_id, up.handle, up.leg
        self._up[call_id] = up
        if isinstance(handle, ResumableCall) and isinstance(leg, ResumableLeg):
            leg.on_slow = lambda: self.reader_was_slow(leg.kind, call_id)
            leg.on_lost, leg.on_replaced = handle.connection_lost, handle.connection_replaced
            if self._journal is not None and isinstance(handle, TellingCall):
                up.journalled = self._journalled(self._journal, up, leg)
                handle.keep_journal(up.journalled)
            handle.offer_resumption(up.new_token(token), after)
        self.metrics.call_started(leg.kind)
        up.task = self._tasks.start(self._run(call_id, up), f"call {call_id}")

    def _journalled(self, journal: ServerJournal, up: _Up, leg: ResumableLeg) -> JournalledCall:
        def taken() -> None:
            log.warning("call %s ends here: another server took it, because this one seemed to be dead", up.call_id)
            leg.goes_elsewhere()
            if isinstance(up.handle, ResumableCall):
                up.handle.leave(TAKEN_OVER)

        return JournalledCall(journal, up.call_id, partial(_waiting_call, up), lambda: leg.may_come_back, taken)

    async def resumable_by(self, token: str) -> Client | None:
        """The client whose call the token resumes, here or as another server has left it; None for a token that is wrong, was
        used, or whose call is over. Raises Problem for a call that another server carries."""
        up = self._of_token(token)
        if up is not None or self._waiting is None:
            return None if up is None else up.place.client
        call = await _found(self._waiting, token)
        return None if call is None else self._client_of_waiting(call)

    def _client_of_waiting(self, call: WaitingCall) -> Client | None:
        client = self._client_of(call.owner)
        if client is None or call.origin is None:
            return client
        return replace(client, kind="client", secret=IssuedSecret(call.owner, b"{}", (), b"{}", call.origin, True, 0.0))

    def _of_token(self, token: str) -> _Up | None:
        call_id = call_of_token(token)
        up = self._up.get(call_id) or next((each for each in self._up.values() if each.went_on_from == call_id), None)
        return up if up is not None and up.is_resumed_by(token) else None

    async def resume(
        self,
        token: str,
        make_leg: Callable[[], Awaitable[Leg]],
        after: str,
        starter: Callable[[], StartCall] | None = None,
    ) -> str:
        """Let a client go on with its call over a new connection, once that is up: the call's id. Then it gets another token.
        `starter` gives what starts a call that another server has left. Raises Problem, also what these two raise."""
        up = self._of_token(token)
        if up is None and self._waiting is not None and starter is not None:
            return await self._go_on(self._waiting, token, make_leg, after, starter)
        if up is None or not up.may_be_resumed:
            raise Problem(401, "invalid_api_key", NOT_RESUMABLE)
        leg = await make_leg()
        if not isinstance(leg, ConnectionLeg) or not isinstance(up.leg, ResumableLeg) or leg.kind is not up.leg.kind:
            await leg.close()
            raise _other_transport(up.leg.kind)
        if isinstance(up.handle, ResumableCall):
            up.handle.caller_returns()
        if up.joining is not None:
            up.joining.cancel()
        up.joining = self._tasks.start(self._join(up, leg, token, after), f"resuming of call {up.call_id}")
        return up.call_id

    async def _go_on(
        self,
        waiting: WaitingCalls,
        token: str,
        make_leg: Callable[[], Awaitable[Leg]],
        after: str,
        starter: Callable[[], StartCall],
    ) -> str:
        """Go on with a call that another server has left. Here it is a new one."""
        call = await _found(waiting, token)
        client = None if call is None else self._client_of_waiting(call)
        if call is None or client is None:
            raise Problem(401, "invalid_api_key", NOT_RESUMABLE)
        start_call = starter()
        leg = await make_leg()
        if not isinstance(leg, ConnectionLeg) or leg.kind is not call.leg:
            await leg.close()
            raise _other_transport(call.leg)
        call_id = new_call_id()
        going_on = self._begin_again(waiting, token, leg, call_id, client, start_call, after)
        self._tasks.start(going_on, f"call {call_id} of another server")
        return call_id

    async def _begin_again(
        self,
        waiting: WaitingCalls,
        token: str,
        leg: ConnectionLeg,
        call_id: str,
        client: Client,
        start_call: StartCall,
        after: str,
    ) -> None:
        is_taken = False
        try:
            call = await waiting.take(token, call_id) if await leg.wait_connected() else None
            if call is not None:
                ours = call.session.get("voiceagent")
                session = {**call.session, "voiceagent": {**(ours if isinstance(ours, dict) else {}), LEFT: bytes(call.left)}}
                whole = ResumableLeg(leg)
                handle = start_call(whole, call_id, session)
                self._admission.readmit()
                up = _Up(call_id, handle, whole, self._quotas.take_again(client), ours, went_on_from=call_of_token(token))
                self._carry(up, after, token)
                self.metrics.calls_resumed[leg.kind] += 1
                is_taken = True
        except VoiceAgentError as error:
            log.error("a call of another server cannot go on: %s", error)
        finally:
            if not is_taken:
                leg.replaced()
                await leg.close()

    async def hand_over(self) -> None:
        """The server stops. Leave the calls whose clients can come back to another server."""
        resumable = [
            (up, up.handle, up.leg)
            for up in self._up.values()
            if isinstance(up.handle, ResumableCall) and isinstance(up.leg, ResumableLeg) and up.leg.may_come_back
        ]
        if self._waiting is None or not resumable:
            return
        self.tell_draining(0.0)
        places = {up.call_id: up.journalled.leave() for up, *_ in resumable if up.journalled is not None}
        left = await asyncio.gather(*(handle.hand_over() for _, handle, _ in resumable), return_exceptions=True)
        for failure in left:
            if isinstance(failure, Exception):
                log.error("a call cannot be left to another server", exc_info=failure)
        pairs = zip(resumable, left, strict=True)
        kept = [(*each, found) for each, found in pairs if found is not None and not isinstance(found, BaseException)]
        carried = {up.resume_hash: place for up, *_ in kept if (place := places.get(up.call_id)) is not None}
        calls = [(up.resume_hash, up.seal_key, _waiting_call(up, found)) for up, _, _, found in kept]
        is_kept = await self._waiting.keep(calls, carried)
        for _, handle, leg, _ in kept:
            leg.goes_elsewhere()
            handle.leave(*(() if is_kept else ("server_stopping",)))

    async def _join(self, up: _Up, leg: ConnectionLeg, token: str, after: str) -> None:
        is_taken = False
        try:
            if not await leg.wait_connected() or self._of_token(token) is not up or not up.may_be_resumed:
                return
            if isinstance(up.leg, ResumableLeg) and isinstance(up.handle, ResumableCall):
                is_taken, was_lost = True, up.leg.seems_lost
                up.leg.take(leg)
                self.metrics.calls_resumed[leg.kind] += 1
                up.handle.resumed(up.new_token(token if was_lost else ""), after)
        finally:
            if not is_taken:
                leg.replaced()
                await leg.close()

    def reader_was_slow(self, transport: str, call_id: str) -> None:
        """A connection to a call's events was closed because its client does not read."""
        self.metrics.slow_readers.add(transport)
        log.warning("call %s: its events over %s are not read in time, so the connection is closed", call_id, transport)

    def _calls_up(self) -> CallsUp:
        places = [up.place for up in self._up.values()]
        settled = sum(place.is_older_than(YOUNG_S) for place in places)
        return CallsUp(connected=sum(place.is_connected for place in places), settled=settled)

    def hang_up(self, call_id: str, client: Client = NOBODY) -> None:
        """End a call of this client. Raises Problem (404) when the client has no such call."""
        self._of(call_id, client).handle.hang_up("hangup")

    def may_end(self, call_id: str, client: Client) -> bool:
        """True for a call that is up and that this client may end."""
        up = self._up.get(call_id)
        return up is not None and client.may_end(up.place.client)

    def take_leave(self, call_id: str, reason: str, client: Client = NOBODY) -> None:
        """Have the agent take leave in a call of this client. Raises Problem (404) when the client has no such call."""
        handle = self._of(call_id, client).handle
        if isinstance(handle, LeavingCall):
            handle.take_leave(reason)

    def leg_of(self, call_id: str, client: Client = NOBODY) -> Leg:
        """The leg of a call of this client. Raises Problem (404) when the client has no such call."""
        return self._of(call_id, client).leg

    def _of(self, call_id: str, client: Client) -> _Up:
        up = self._up.get(call_id)
        if up is None or not client.may_end(up.place.client):
            raise Problem(404, "call_not_found", f"There is no call {call_id[:40]!r}; it is over or never was.", param="id")
        return up

    def joinable(self, call_id: str, client: Client = NOBODY) -> JoinableCall:
        """A call of this client that is up. Raises Problem (404) when the client has no such call."""
        up = self._up.get(call_id)
        if up is None or not client.may_join(up.place.client) or not isinstance(up.handle, JoinableCall):
            raise Problem(404, "call_not_found", f"There is no call {call_id[:40]!r}; it is over or never was.", param="call_id")
        return up.handle

    def audible(self, client: Client, call_id: str = "") -> tuple[Playout, asyncio.Task[None]]:
        """The agent's voice in a WebRTC call of this client, the newest unless `call_id` names one, and the task that ends with
        the call. Raises Problem (404) when the client has no such call."""
        for up in reversed(self._up.values()):
            is_it = up.call_id == call_id if call_id else up.place.client.owner == client.owner
            if is_it and up.leg.kind is LegKind.WEBRTC and client.may_join(up.place.client):
                return up.leg.playout, up.task
        named = f"WebRTC call {call_id[:40]!r}" if call_id else "WebRTC call of this key"
        raise Problem(404, "call_not_found", f"There is no {named} to listen to; begin it first.", param="call_id")

    def hang_up_of(self, owner: tuple[str, str]) -> None:
        """End the calls of a key that was revoked, and those of its client secrets."""
        for up in list(self._up.values()):
            if up.place.client.owner == owner:
                up.handle.hang_up(KEY_REVOKED)

    def tell_draining(self, timeout_s: float) -> None:
        """Tell every client that the server ends when its calls have, and its call after this time at the latest."""
        for up in self._up.values():
            if isinstance(up.handle, ResumableCall):
                up.handle.draining(timeout_s)

    def hang_up_all(self) -> None:
        """Tell every caller that the server stops, and let the calls end."""
        for up in list(self._up.values()):
            up.handle.hang_up("server_stopping")

    async def over(self) -> None:
        """Return once no call is up."""
        await self._tasks.finished()

    async def close(self, grace_s: float) -> None:
        """Hang up all calls and wait for them; those that have not ended after `grace_s` are cancelled."""
        self.hang_up_all()
        await self._tasks.finished(grace_s)
        await self._tasks.close()

    async def answer_again(
        self, offer: str, token: str, after: str, starter: Callable[[], StartCall] | None = None
    ) -> tuple[str, str]:
        """Answer the offer of a client that resumes its call: see `resume`."""
        answered = _Answered(self._leg, offer)
        return await self.resume(token, answered.make_leg, after, starter), answered.sdp

    async def _leg(self, offer: str) -> tuple[Leg, str]:
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                return await self._answer(offer)
        except NoPortError as error:
            log.warning("a call was refused: %s", error)
            raise Problem(503, "no_media_port", NO_PORT, retry_after_s=RETRY_AFTER_S) from error
        except MediaError as error:
            raise Problem(400, "invalid_offer", str(error), param="sdp") from error
        except TimeoutError as error:
            raise Problem(504, "answer_timeout", f"The offer was not answered within {ANSWER_TIMEOUT_S:.0f} s.") from error

    async def _watch(self, up: _Up) -> None:
        """Wait until the call is connected, then charge its client's minutes."""
        if not await up.leg.wait_connected():
            return
        up.place.connected()
        if up.journalled is not None:
            up.journalled.keep()
        while up.place.has_minutes:
            await asyncio.sleep(MINUTES_CHECKED_S)
            if not await up.place.charge():
                up.handle.hang_up(QUOTA_USED)
                return

    async def _run(self, call_id: str, up: _Up) -> None:
        reason = "failed"
        try:
            async with running(self._watch(up), f"watch of call {call_id}"):
                reason = await up.handle.run()
        except asyncio.CancelledError:
            reason = "server_stopping"
            raise
        except VoiceAgentError as error:
            log.error("call %s failed: %s", call_id, error)
        except Exception:
            log.exception("call %s failed", call_id)
        finally:
            self._up.pop(call_id, None)
            if up.journalled is not None:
                up.journalled.end()
            self._admission.release(is_written=up.leg.kind is LegKind.TEXT)
            up.place.release()
            self.metrics.call_ended(reason)
            self.metrics.leg_ended(up.leg.counters, up.leg.drops)
            log.info("call %s of %s is over: %s", call_id, up.place.client.name or "nobody known", reason)
            try:
                await up.leg.close()
            except Exception:
                log.exception("call %s: its connection broke as it was closed", call_id)


async def _found(waiting: WaitingCalls, token: str) -> WaitingCall | None:
    try:
        return await waiting.find(token)
    except NotYetError as error:
        raise Problem(503, "not_resumable_yet", str(error), retry_after_s=AGAIN_S) from error


def _waiting_call(up: _Up, left: object) -> WaitingCall:
    client = up.place.client
    given = getattr(left, "settings", {})
    session = {**given, **({"voiceagent": up.ours} if isinstance(up.ours, dict) else {})}
    origin = None if client.secret is None else client.secret.origin
    return WaitingCall(up.leg.kind, client.owner, origin, session, msgspec.Raw(ENCODER.encode(left)))


def _other_transport(kind: LegKind) -> Problem:
    return Problem(409, "other_transport", f"The call came by {kind}; resume it in the same way.")
