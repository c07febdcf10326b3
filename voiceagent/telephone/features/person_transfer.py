"""Puts a caller through to a person once the agent has said so: because they asked for one, or because the language model did.
Where nobody takes the call, the turn engine hears of it and the agent goes on."""

from __future__ import annotations

import asyncio
import logging

from voiceagent.call.observer import CallObserver, FedCall
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.telephone.streams.follow_ups import PutThrough

log = logging.getLogger(__name__)


class PuttingThrough(CallObserver):
    """`watch` names the call before it runs."""

    def __init__(self, put_through: PutThrough, usual: str) -> None:
        """`usual` is to whom callers are put through who ask for a person; empty: to nobody."""
        self._put_through = put_through
        self._usual = usual
        self._wanted = ""
        """To whom the language model wants the call to go, after the reply."""
        self._call: FedCall | None = None
        self._running: asyncio.Task[None] | None = None

    def watch(self, call: FedCall) -> None:
        """The call that is put through."""
        self._call = call

    def after_reply(self, name: str) -> None:
        """Put the call through once the present reply is over."""
        self._wanted = name

    def request(self) -> None:
        """The caller pressed the key for a person."""
        if self._call is not None:
            self._call.feed(ev.PersonRequested(self._call.now_ms()))

    def stepped(self, event: ev.Event, actions: tuple[act.Action, ...]) -> None:
        """Begin where the turn engine says so, or the reply is over that the language model ended with it."""
        if any(isinstance(action, act.PutThrough) for action in actions):
            self._begin(self._usual)
        elif self._wanted and any(isinstance(action, act.ReplyEnded) for action in actions):
            self._begin(self._wanted)

    def ended(self) -> None:
        """The call is over, with its transfer."""
        if self._running is not None:
            self._running.cancel()

    def _begin(self, name: str) -> None:
        self._wanted = ""
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run(name), name="putting through")

    async def _run(self, name: str) -> None:
        call = self._call
        try:
            why = await self._put_through(name)
        except Exception:
            log.exception("a caller could not be put through to %s", name)
            why = "it broke"
        if why and call is not None:
            log.warning("call %s: the caller was not put through to %s: %s", call.call_id, name, why)
            call.feed(ev.PutThroughFailed(call.now_ms()))
