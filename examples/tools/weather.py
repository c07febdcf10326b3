"""A web service that the agent calls as a webhook: `POST /weather` with `{"city": …, "day": …}` answers a made-up forecast."""

from __future__ import annotations

import hashlib

from aiohttp import web

PORT = 9100


async def weather(request: web.Request) -> web.Response:
    """The same forecast for the same words. What it cannot answer it says in `error`, which the agent tells the caller."""
    asked = await request.json()
    city, day = str(asked.get("city", "")), str(asked.get("day") or "today")
    if city.lower() == "atlantis":
        return web.json_response({"error": "There is no weather in Atlantis."}, status=422)
    number = hashlib.sha256(f"{city}|{day}".lower().encode()).digest()[0]
    forecast = {"day": day, "weather": ["sunny", "cloudy", "rainy", "windy"][number % 4], "temperature": 5 + number % 25}
    return web.json_response({"city": city, **forecast} if city else forecast)


def app() -> web.Application:
    """The service."""
    service = web.Application()
    service.router.add_post("/weather", weather)
    return service


if __name__ == "__main__":
    web.run_app(app(), host="127.0.0.1", port=PORT)
