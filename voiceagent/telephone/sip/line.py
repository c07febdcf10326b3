"""The server's line to a SIP trunk or PBX, through Janus. It is kept up as long as the server runs. If Janus or the trunk goes
away, one line in the log says so, and the line is tried again until it is back."""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from voiceagent.addresses import shown
from voiceagent.errors import ConfigError, MediaError
from voiceagent.json_types import JsonObject
from voiceagent.media.webrtc.ports import ANY_PORT, MediaPorts, NoPortError
from voiceagent.server.calls.admission import RETRY_AFTER_S
from voiceagent.server.calls.call_ids import new_call_id
from voiceagent.server.calls.calls import NO_PORT, Calls, StartCall
from voiceagent.server.calls.quotas import Client
from voiceagent.server.http.problems import Problem
from voiceagent.settings.telephone import CallWebhookSettings, SipSettings, TransferTarget, check_uri
from voiceagent.task_owner import TaskOwner, running
from voiceagent.telephone.messages import CallFacts, Unanswered
from voiceagent.telephone.sip import janus_messages as janus
from voiceagent.telephone.sip.call import SETTLES_S, CallRefused, SipCall
from voiceagent.telephone.sip.incoming_calls import RingingCall, RingingCalls, WebhookError, incoming_call, secret_bytes, send
from voiceagent.telephone.sip.janus_client import SIP_PATIENCE, GatewayError, JanusClient, SipPatience
from voiceagent.telephone.sip.janus_messages import CREDENTIALS, Account, registration_cause
from voiceagent.telephone.sip.sip_leg import SipLeg

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Trunk:
    """The settings of a trunk, with the secrets from the environment."""

    settings: SipSettings
    account: Account
    gateway_secret: str = field(repr=False)
    webhook_secret: bytes = field(default=b"", repr=False)

    @classmethod
    def from_settings(cls, settings: SipSettings, environment: Mapping[str, str] = os.environ) -> Trunk:
        """Raises ConfigError where a registration has no password, or the webhook no secret."""
        password = environment.get(settings.password_env, "").strip()
        if settings.register and not password:
            raise ConfigError(
                f"telephony.sip: {settings.account} needs ${settings.password_env}, its password; see docs/telephony.md"
            )
        user = settings.user or re.split("[:@]", settings.account)[1]
        account = Account(
            settings.account,
            user,
            password,
            settings.proxy,
            settings.display_name,
            settings.expires_s,
            settings.register,
        )
        signs = b"" if settings.webhook is None else _webhook_secret(settings.webhook, environment)
        return cls(settings, account, environment.get(settings.gateway_secret_env, "").strip(), signs)


def _webhook_secret(settings: CallWebhookSettings, environment: Mapping[str, str]) -> bytes:
    secret = environment.get(settings.secret_env, "").strip()
    if not secret:
        raise ConfigError(f"telephony.sip.webhook: url needs ${settings.secret_env}, by which webhooks are signed")
    try:
        return secret_bytes(secret)
    except ValueError as error:
        raise ConfigError(f"telephony.sip.webhook: ${settings.secret_env} cannot be used: {error}") from error


FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 30.0
"""Waits before Janus, or the trunk, is tried again: each is twice the one before."""
REFUSED_WAIT_S = 300.0
"""The wait after wrong credentials: trunks shut out who goes on with them."""
REGISTER_TIMEOUT_S = 40.0
"""Longer than SIP waits for an answer (32 s by RFC 3261 §17.1.1.2)."""
STABLE_S = 30.0
"""The least length of a session that was no failure. The next one is tried at once."""
FORGETS_S = 0.2
"""The time that Janus needs to reset its line after a call. An invitation sent by that line meanwhile has no audio, and phones
reject it."""
PROBLEMS = {404: "unknown_number", 410: "unknown_number", 484: "unknown_number", 604: "unknown_number"} | {
    486: "busy",
    600: "busy",
    603: "declined",
    408: "no_answer",
    480: "no_answer",
    487: "no_answer",
}

_NUMBER = re.compile(r"tel:(\+?[0-9*#.()-]{1,40})")
"""An address of the telephone network (RFC 3966)."""

CLIENT = Client("telephone sip", is_telephone=True)


class NotTakenError(Problem):
    """Nobody took a call that we made."""


GetStartCall = Callable[[], StartCall]
"""Starts a call. Raises Problem while no call can be taken."""


@dataclass(frozen=True, slots=True)
class SipService:
    """The trunk of a line, and the ports and time limits of its calls."""

    trunk: Trunk
    ports: MediaPorts = ANY_PORT
    patience: SipPatience = SIP_PATIENCE
    check_session: Callable[[JsonObject], None] = lambda session: None
    """Raises Problem for settings that a call cannot have."""


def soonest(free: Sequence[SipCall], master: SipCall, now_s: float) -> SipCall:
    """The line for a call that we make: the one whose last call Janus will have forgotten first. Among equals it is not the
    master, to which Janus gives the next call that comes in. `now_s` is the loop's clock."""
    return min(free, key=lambda line: (max(line.freed_s + FORGETS_S, now_s), line is master))


class SipLine:
    """Made inside the event loop; `run` is a task of the server."""

    def __init__(
        self,
        service: SipService,
        calls: Calls,
        start_call: GetStartCall,
        unanswered: Unanswered = lambda facts, reason: None,
    ) -> None:
        """`unanswered` is called for each call that `dial` makes and nobody takes."""
        self.trunk = service.trunk
        self._unanswered = unanswered
        self.registered = asyncio.Event()
        self.ringing = RingingCalls()
        self._check_session = service.check_session
        self._patience = service.patience
        self._calls = calls
        self._start_call = start_call
        self._registration: asyncio.Future[janus.Registered | janus.RegistrationFailed] | None = None
        self._unregistered = asyncio.Event()
        self._freed = asyncio.Event()
        self._tasks = TaskOwner()
        self._lines = [
            SipCall(self.trunk.settings, service.ports, self._tasks, self._call_colleague, self._freed.set, service.patience)
            for _ in range(self.trunk.settings.calls)
        ]
        self._told = ""

    async def run(self) -> None:
        """Keep the line up until cancelled."""
        loop = asyncio.get_running_loop()
        wait_s = FIRST_WAIT_S
        try:
            while True:
                began_s = loop.time()
                try:
                    await self._session()
                except GatewayError as error:
                    self._tell(str(error))
                if loop.time() - began_s >= STABLE_S:
                    wait_s = FIRST_WAIT_S
                await asyncio.sleep(wait_s)
                wait_s = min(2 * wait_s, LONGEST_WAIT_S)
        finally:
            await self._tasks.close()

    async def dial(self, uri: str, session: JsonObject, client: Client) -> str:
        """Call somebody. Returns the call's id once they have taken the call. Raises Problem."""
        try:
            check_uri(uri, "to", "sip:200@pbx.example.org")
        except ValueError as error:
            raise Problem(400, "invalid_address", f"{error}.", param="to") from error
        try:
            return await self._place(uri, session, self._start_call(), client, self.trunk.settings.ring_timeout_s)
        except NotTakenError as error:
            self._unanswered(CallFacts(self.trunk.account.uri, uri, outbound=True), error.code)
            raise

    async def _call_colleague(self, target: TransferTarget, start_call: StartCall) -> str:
        """See `CallColleague`."""
        return await self._place(target.to, {}, start_call, CLIENT, target.ring_timeout_s)

    async def _place(self, uri: str, session: JsonObject, start_call: StartCall, client: Client, ring_timeout_s: float) -> str:
        line = await self._free()
        if line is None:
            raise Problem(503, "no_line", f"All {len(self._lines)} lines are busy, or the trunk is not there; see the log.")

        async def make_leg() -> SipLeg:
            try:
                return await line.dial(uri, ring_timeout_s)
            except CallRefused as error:
                status = 404 if PROBLEMS.get(error.code) == "unknown_number" else 409
                raise NotTakenError(status, PROBLEMS.get(error.code, "call_failed"), f"{error}.") from error
            except NoPortError as error:
                raise Problem(503, "no_media_port", NO_PORT, retry_after_s=RETRY_AFTER_S) from error
            except (MediaError, GatewayError) as error:
                raise Problem(502, "call_failed", f"{error}.") from error

        line.reserve(places=True)
        try:
            return await self._calls.begin(make_leg, session, start_call, client)
        finally:
            line.free()

    async def _free(self) -> SipCall | None:
        """A handle that carries no call, perhaps in a moment; None where there is none."""
        try:
            async with asyncio.timeout(2 * SETTLES_S):
                while any(line.handle is not None for line in self._lines):
                    self._freed.clear()
                    free = [line for line in self._lines if line.handle is not None and not line.is_busy]
                    if not free:
                        await self._freed.wait()
                        continue
                    now_s = asyncio.get_running_loop().time()
                    line = soonest(free, self._lines[0], now_s)
                    wait_s = line.freed_s + FORGETS_S - now_s
                    if wait_s <= 0:
                        return line
                    await asyncio.sleep(wait_s)
        except TimeoutError:
            pass
        return None

    async def _session(self) -> None:
        """Run one session at Janus, from its beginning to its end. Raises GatewayError."""
        settings = self.trunk.settings
        async with JanusClient(settings.gateway, self.trunk.gateway_secret, self._patience) as client:
            try:
                for line in self._lines:
                    line.handle = await client.attach(partial(self._on_event, line))
                async with (
                    running(self._stay_registered(), "sip registration") as registering,
                    running(client.lost(), "janus lost") as lost,
                ):
                    await asyncio.wait((registering, lost), return_when=asyncio.FIRST_COMPLETED)
                    if registering.done():
                        registering.result()
                    raise GatewayError(lost.result())
            finally:
                self.registered.clear()
                for line in self._lines:
                    line.lost()

    async def _stay_registered(self) -> None:
        """Register; Janus renews that. Begin anew whenever it failed to. Raises GatewayError."""
        wait_s = FIRST_WAIT_S
        while True:
            outcome = await self._register()
            if isinstance(outcome, janus.Registered):
                wait_s = FIRST_WAIT_S
                await self._add_helpers(outcome.master_id)
                self._now_registered()
                self._unregistered.clear()
                await self._unregistered.wait()
                self.registered.clear()
            else:
                account = self.trunk.account
                variable = self.trunk.settings.password_env
                self._tell(registration_cause(account.uri, outcome.code, outcome.reason, variable))
                wait_s = REFUSED_WAIT_S if outcome.code in CREDENTIALS else wait_s
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, LONGEST_WAIT_S)

    async def _register(self) -> janus.Registered | janus.RegistrationFailed:
        self._registration = asyncio.get_running_loop().create_future()
        master = self._lines[0].handle
        if master is None:
            raise GatewayError("the connection to Janus was lost")
        await master.send(janus.register(self.trunk.account))
        try:
            async with asyncio.timeout(REGISTER_TIMEOUT_S):
                return await self._registration
        except TimeoutError:
            return janus.RegistrationFailed(408, "no answer")
        finally:
            self._registration = None

    async def _add_helpers(self, master_id: int) -> None:
        for line in self._lines[1:]:
            if line.handle is not None:
                await line.handle.send(janus.register_helper(self.trunk.account, master_id))

    def _now_registered(self) -> None:
        self.registered.set()
        account = self.trunk.account
        how = "is registered" if account.registers else "makes calls without a registration"
        log.log(logging.WARNING if self._told else logging.INFO, "%s %s%s", account.uri, how, " again" if self._told else "")
        self._told = ""

    def _tell(self, problem: str) -> None:
        """Log one line for each new problem, and none while it lasts."""
        if problem != self._told:
            log.error("%s; it is tried again", problem)
        self._told = problem

    def _on_event(self, line: SipCall, event: janus.Event) -> None:
        match event:
            case janus.Registered() if line is self._lines[0]:
                self._settle(event)
            case janus.RegistrationFailed():
                self._settle(event)
            case janus.Failed(code, reason) if self._registration is not None and line is self._lines[0]:
                self._settle(janus.RegistrationFailed(code, reason))
            case janus.Incoming():
                line.rang()
                self._tasks.start_alone(self._answer(line, event), "sip call")
            case _:
                line.on_event(event)

    def _settle(self, event: janus.Registered | janus.RegistrationFailed) -> None:
        if self._registration is not None:
            if not self._registration.done():
                self._registration.set_result(event)
        elif isinstance(event, janus.RegistrationFailed):
            variable = self.trunk.settings.password_env
            self._tell(registration_cause(self.trunk.account.uri, event.code, event.reason, variable))
            self._unregistered.set()

    async def _answer(self, line: SipCall, incoming: janus.Incoming) -> None:
        caller = incoming.facts.caller
        if line.places:  # Janus does not know yet that we are about to call somebody on it
            self._calls.metrics.calls_refused.add("no_line")
            log.warning("a call of %s was refused: its line was just taken for a call that is being made", caller)
            await line.decline(janus.BUSY)
            return
        line.reserve()
        webhook = self.trunk.settings.webhook
        if webhook is not None:
            await self._ask(RingingCall(line, incoming), webhook)
            return
        with suppress(Problem):
            await self._take(line, incoming, {}, CLIENT)

    async def accept(self, call_id: str, session: JsonObject, client: Client) -> None:
        """Take a call that waits for the operator's program. It is the client's from now on. Raises Problem."""
        ringing = self.ringing.find(call_id)
        self._start_call()  # the tools are known once this succeeds
        self._check_session(session)
        ringing.settle()
        await self._take(ringing.line, ringing.incoming, session, client, call_id)

    async def refer(self, call_id: str, uri: str, client: Client) -> None:
        """Transfer a client's call to an address. Returns once somebody has taken it there. Raises Problem."""
        leg = self._calls.leg_of(call_id, client)
        line = next((line for line in self._lines if line.leg is leg), None)
        if line is None or not isinstance(leg, SipLeg):
            raise Problem(409, "no_sip_call", f"The call {call_id[:40]!r} is none of SIP and cannot be referred.", param="id")
        if number := _NUMBER.fullmatch(uri):
            uri = f"sip:{number[1]}@{self.trunk.account.uri.rpartition('@')[2]};user=phone"
        try:
            check_uri(uri, "target_uri", "sip:200@pbx.example.org or tel:+15550100")
        except ValueError as error:
            raise Problem(400, "invalid_address", f"{error}.", param="target_uri") from error
        if why := await line.refer(leg, uri):
            raise Problem(409, "refer_failed", f"The call was not transferred: {why}. It goes on.")

    async def reject(self, call_id: str, code: int) -> None:
        """Refuse a call that waits for the operator's program. Raises Problem."""
        ringing = self.ringing.find(call_id)
        ringing.settle()
        await self._refuse(ringing, "rejected", "the operator's program rejected it", code)

    async def _ask(self, ringing: RingingCall, webhook: CallWebhookSettings) -> None:
        """Have the operator's program decide over a call that rings."""
        line, call_id = ringing.line, new_call_id()
        line.on_over = lambda: ringing.settle("its caller gave up")
        self.ringing.add(call_id, ringing)
        body = incoming_call(call_id, ringing.incoming.headers)
        self._tasks.start_alone(self._send(ringing, webhook.url, body), "sip webhook")
        why = await ringing.wait(webhook.accept_timeout_s)
        self.ringing.remove(call_id)
        if why:
            await self._refuse(ringing, "not_accepted", why, janus.NOT_THERE)

    async def _send(self, ringing: RingingCall, url: str, body: bytes) -> None:
        try:
            await send(url, self.trunk.webhook_secret, body, lambda: not ringing.is_settled)
        except WebhookError as error:
            ringing.settle(f"{shown(url)}: {error}")

    async def _refuse(self, ringing: RingingCall, reason: str, why: str, code: int) -> None:
        self._calls.metrics.calls_refused.add(reason)
        log.warning("a call of %s was refused: %s", ringing.incoming.facts.caller, why)
        if ringing.line.rings:
            await ringing.line.decline(code)
        ringing.line.free()

    async def _take(
        self, line: SipCall, incoming: janus.Incoming, session: JsonObject, client: Client, call_id: str = ""
    ) -> None:
        """Take a call that rings. Raises Problem; then the call was refused."""

        async def make_leg() -> SipLeg:
            return await line.take(incoming)

        try:
            await self._calls.begin(make_leg, session, self._start_call(), client, lambda: line.rings, call_id=call_id)
        except (Problem, MediaError, GatewayError) as error:
            problem = error if isinstance(error, Problem) else Problem(502, "call_failed", f"{error}.")
            self._calls.metrics.calls_refused.add(problem.code)
            log.warning("a call of %s was refused: %s", incoming.facts.caller, error)
            if line.rings:
                await line.decline(janus.BUSY if problem.status == 429 else janus.UNAVAILABLE)
            line.free()
            raise problem from error
