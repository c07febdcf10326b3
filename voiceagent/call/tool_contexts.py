"""The call, as its tools see it: makes the context of each run, takes what a tool asks of its call, and keeps what tools keep."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import msgspec

from voiceagent.call.cards import CallCards
from voiceagent.call.scope import CallScope
from voiceagent.conversation import events as ev
from voiceagent.conversation.state import State
from voiceagent.guard.checks import Guards
from voiceagent.tools.call_context import CallContext, CallOrigin, SaidLine
from voiceagent.tools.call_tools import CallTools
from voiceagent.tools.tool import ToolError

log = logging.getLogger(__name__)

TOOL_LINES = "tool lines"
MAX_STATE_BYTES = 65_536
TRANSFER = "transfer"
NO_EFFECT = 'A tool with effect="none" may run before its turn is over, so it neither transfers nor ends the call.'
NOBODY = "The caller cannot be transferred to {to}; {known}."


class ToolContexts:
    """One per call."""

    def __init__(
        self,
        scope: CallScope,
        tools: CallTools,
        guards: Guards,
        state: Callable[[], State],
        leg: str,
        origin: CallOrigin,
        client_parameters: Callable[[], Mapping[str, object]],
        cards: CallCards,
    ) -> None:
        """`state` returns the turn engine's, and `client_parameters` what the client says of itself by now."""
        self.cards = cards
        """Their numbers are given to tools, and taken out of what tools say and keep."""
        self._scope = scope
        self._tools = tools
        self._guards = guards
        self._state = state
        self._leg = leg
        self._origin = origin
        self._client_parameters = client_parameters
        self._began = datetime.now(UTC)
        self._kept = _kept(tools.agents.new_state(), state().kept)
        self._written = msgspec.json.encode(self._kept)
        self._loop = asyncio.get_running_loop()

    def take_over(self, guards: Guards) -> None:
        """Another agent goes on with the call. Its tools get what was kept, if they keep their state in the same form."""
        self._guards = guards
        self._kept = _kept(self._tools.agents.new_state(), self._written.decode())

    def of(self, name: str, reply_id: int, call_id: str, speculative_id: int = -1) -> CallContext[object]:
        """The context of a run of the tool of this name. `call_id` is the model's request; `speculative_id` names a run that
        begins before its turn is committed."""
        state = self._state()
        return CallContext(
            call_id=self._scope.call_id,
            leg=self._leg,
            caller=self._origin.caller,
            called=self._origin.called,
            parameters=self._origin.parameters,
            client_parameters=self._client_parameters(),
            language=state.spoken.code,
            started_at=self._began,
            said=_said(state),
            state=self._kept,
            requests=_Requests(self, (reply_id, call_id), speculative_id, has_effect=self._has_effect(name)),
        )

    def _has_effect(self, name: str) -> bool:
        return self._tools.policy(name).effect != "none"

    def ended(self, name: str, orders: Mapping[str, object]) -> None:
        """A run of the tool of this name has ended: note what it has changed of the state, and take what its result asks of the
        call."""
        try:
            written = msgspec.json.encode(self._kept)
        except (TypeError, ValueError) as error:
            log.warning("call %s: what its tools keep is no JSON and is not logged: %s", self._scope.call_id, error)
            written = self._written
        if len(written) > MAX_STATE_BYTES:
            log.warning("call %s: what its tools keep has over %d bytes and is not logged", self._scope.call_id, MAX_STATE_BYTES)
        elif written != self._written:
            self._written = written
            self._scope.post(ev.CallStateKept(self._scope.now_ms(), self.cards.hide_known(written.decode())))
        if orders and not self._has_effect(name):
            log.warning("call %s: %s", self._scope.call_id, NO_EFFECT)
            return
        if end := orders.get("end_call"):
            self.post(ev.EndRequested(self._scope.now_ms(), end[:300] if isinstance(end, str) else ""))
        if isinstance(to := orders.get(TRANSFER), str):
            try:
                self.transfer(to)
            except ToolError as error:
                log.warning("call %s: %s", self._scope.call_id, error)

    def post(self, event: ev.Event) -> None:
        """Feed an event, from any thread."""
        self._loop.call_soon_threadsafe(self._scope.post, event)

    def say(self, event: ev.ProgressMade) -> None:
        """Have a tool's line said if the guard lets it pass. From any thread."""
        self._loop.call_soon_threadsafe(lambda: self._scope.tasks.start(TOOL_LINES, self._say(event)))

    async def _say(self, event: ev.ProgressMade) -> None:
        checks = self._guards.output
        if checks and (await checks.output("", event.text, last=True)).blocked:
            log.warning("call %s: a tool's line was withheld by a guard", self._scope.call_id)
            return
        self._scope.post(event)

    def transfer(self, to: str) -> None:
        """See `CallContext.transfer`."""
        tool = next((tool for tool in self._tools.legs if tool.name == TRANSFER), None)
        names = tool.parameters["properties"]["to"]["enum"] if tool is not None else []
        if to not in names:
            known = f"there are: {', '.join(names)}" if names else "this call cannot be transferred"
            raise ToolError(NOBODY.format(to=to, known=known))
        self.post(ev.TransferRequested(self._scope.now_ms(), to))

    def end(self, reason: str) -> None:
        """See `CallContext.end`."""
        self.post(ev.EndRequested(self._scope.now_ms(), reason))

    def now_ms(self) -> float:
        """The time on the call's clock."""
        return self._scope.now_ms()


class _Requests:
    """The requests of one run to its call."""

    def __init__(self, contexts: ToolContexts, run: tuple[int, str], speculative_id: int, *, has_effect: bool) -> None:
        """`run` is the reply and the model's request."""
        self._contexts = contexts
        self._run = run
        self._speculative_id = speculative_id
        self._has_effect = has_effect

    def say(self, text: str) -> None:
        line = self._contexts.cards.hide_known(text)
        self._contexts.say(ev.ProgressMade(self._contexts.now_ms(), *self._run, line, self._speculative_id))

    def transfer(self, to: str) -> None:
        self._require_effect()
        self._contexts.transfer(to)

    def end(self, reason: str) -> None:
        self._require_effect()
        self._contexts.end(reason)

    def _require_effect(self) -> None:
        if not self._has_effect:
            raise ToolError(NO_EFFECT)


def _kept(fresh: object, left: str) -> object:
    """The tools' state: as another server has left it, if it is of the same kind."""
    try:
        return msgspec.json.decode(left, type=type(fresh)) if left else fresh
    except msgspec.MsgspecError as error:
        log.warning("what tools kept at another server cannot be read here: %s", error)
        return fresh


def _said(state: State) -> tuple[SaidLine, ...]:
    """The words of both sides so far, with those that the live reply answers."""
    lines = [
        SaidLine("caller" if message.role == "user" else "agent", message.content)
        for message in state.memory.history
        if message.role in ("user", "assistant") and message.content
    ]
    reply = state.reply
    if reply is not None and reply.assumed_text:
        lines.append(SaidLine("caller", reply.assumed_text))
    if reply is not None and reply.heard:
        lines.append(SaidLine("agent", reply.heard))
    return tuple(lines)
