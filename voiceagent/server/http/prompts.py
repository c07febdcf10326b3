"""`GET /v1/calls/{id}/prompts`: each prompt of a running call as the language model got it, as an event stream. It is for the
operator who began the call with that key. Prompts hold the instructions and what was said, so nothing keeps them: an operator
sees those that are sent while it watches."""

from __future__ import annotations

from aiohttp import web

from voiceagent.media.outgoing_events import TOO_SLOW
from voiceagent.server.calls.prompt_watches import MAX_WATCHERS, PromptWatches
from voiceagent.server.calls.quotas import CLIENT
from voiceagent.server.http.app import CALLS, ApplicationPart
from voiceagent.server.http.event_stream import SlowReaderError, StreamClosedError, stream_for_key
from voiceagent.server.http.problems import Problem

RETRY_AFTER_S = 5


class PromptsPart(ApplicationPart):
    """The part of the application that shows prompts."""

    def __init__(self, watches: PromptWatches) -> None:
        self._watches = watches

    def add_routes(self, app: web.Application) -> None:
        """See `ApplicationPart`."""
        app.router.add_get("/v1/calls/{id}/prompts", self._prompts)

    async def _prompts(self, request: web.Request) -> web.StreamResponse:
        client, call_id = request[CLIENT], request.match_info["id"]
        if not client.is_operator:
            told = "Only an operator may see prompts, of its own calls; `voiceagent keys add NAME --operator` makes a key."
            raise Problem(403, "operator_only", told)
        request.app[CALLS].joinable(call_id, client)
        if len(self._watches) >= MAX_WATCHERS:
            told = f"{MAX_WATCHERS} watch prompts of this server already, as many as may; close one."
            raise Problem(429, "too_many_monitors", told, retry_after_s=RETRY_AFTER_S)
        monitor, stream = self._watches.follow(call_id), stream_for_key(request)
        try:
            await stream.begin()
            while lines := await stream.awaited(monitor.take()):
                await stream.send(lines)
            return await stream.end({"type": "prompts.closed", "reason": monitor.closed} if monitor.closed else None)
        except SlowReaderError:
            return await stream.end({"type": "prompts.closed", "reason": TOO_SLOW})
        except StreamClosedError as closed:
            return await stream.end({"type": "prompts.closed", "reason": str(closed)})
        except ConnectionError:
            return stream.response
        finally:
            self._watches.leave(call_id, monitor)
