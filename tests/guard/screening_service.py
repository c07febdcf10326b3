"""A screening service on loopback, written from the documents of Lakera Guard's `POST /v2/guard`, with faults on request."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web

FLAGGED = {"jane@example.com": "pii/email", "ignore all previous": "prompt_attack", "casino": "custom/gambling"}
DETECTORS = sorted({*FLAGGED.values(), "unknown_links"})


class ScreeningService:
    """Flags a few phrases. `does` is `answers` or a fault; `asked` are the bodies that came."""

    def __init__(self, does: str = "answers", key: str = "", takes_s: float = 0.0) -> None:
        self.does, self.key, self.takes_s = does, key, takes_s
        self.asked: list[dict[str, Any]] = []
        self.connections: set[object] = set()
        self.at_once = self.most_at_once = 0
        self.elsewhere = 0
        self.app = web.Application()
        self.app.router.add_post("/v2/guard", self._guard)
        self.app.router.add_post("/elsewhere", self._elsewhere)

    async def _elsewhere(self, request: web.Request) -> web.Response:
        self.elsewhere += 1
        return web.json_response({"flagged": False})

    async def _guard(self, request: web.Request) -> web.StreamResponse:
        self.connections.add(request.transport)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            return await self._answer(request)
        finally:
            self.at_once -= 1

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(body := await request.json())
        if self.key and request.headers.get("Authorization") != f"Bearer {self.key}":
            return web.json_response({"error": {"code": "unauthorized", "message": "Invalid API key"}}, status=401)
        if self.takes_s:
            await asyncio.sleep(self.takes_s)
        match self.does:
            case "hangs":
                await asyncio.Event().wait()
            case "redirects":
                raise web.HTTPTemporaryRedirect("/elsewhere")
            case "fails":
                return web.Response(status=500, text=body["messages"][0]["content"])
            case "writes HTML":
                return web.Response(text="<html>", content_type="text/html")
            case "leaves out the verdict":
                return web.json_response({"breakdown": []})
            case "writes a string":
                return web.json_response({"flagged": "no"})
            case "floods":
                return web.json_response({"flagged": False, "payload": "x" * 1_000_000})
            case "drips":
                return await _drip(request)
            case "names nonsense":
                found = [{"detector_type": f"{'x' * 50}\n{n}", "detected": True} for n in range(99)]
                return web.json_response({"flagged": True, "breakdown": found})
        return web.json_response(verdict(body))


async def _drip(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    while True:
        await response.write(b" ")
        await asyncio.sleep(0.01)


def verdict(body: dict[str, Any]) -> dict[str, Any]:
    text = body["messages"][-1]["content"].lower()
    hit = {detector for phrase, detector in FLAGGED.items() if phrase in text}
    answer: dict[str, Any] = {"flagged": bool(hit), "metadata": {"request_uuid": "8b2b6c1c-9f7a-4f8a-9c2d-8a44ca72e975"}}
    if body.get("breakdown"):
        answer["breakdown"] = [
            {"detector_type": each, "detected": each in hit, "message_id": 0, "project_id": "p", "policy_id": "q"}
            for each in DETECTORS
        ]
    if body.get("payload"):
        answer["payload"] = []
    return answer
