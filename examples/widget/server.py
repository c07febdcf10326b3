"""A shop's own server: one page with the call button, and the client secret that each call needs. The key stays here."""

import json
import os
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

AGENT = os.environ.get("VOICEAGENT_URL", "http://localhost:8080")
SHOP = os.environ.get("SHOP_URL", "http://localhost:8000")
PAGE = Path(__file__).with_name("index.html").read_text().replace("AGENT", AGENT)
PAGE = PAGE.replace("WEBSOCKET", AGENT.replace("http", "ws", 1))


class Shop(BaseHTTPRequestHandler):
    """Answers the shop's pages and their buttons."""

    def do_GET(self) -> None:
        """Show the page."""
        self.answer(PAGE.encode(), "text/html; charset=utf-8")

    def do_POST(self) -> None:
        """Give the button of this shop's page, and of no other, a secret for one call."""
        if self.headers.get("Origin") != SHOP:
            return self.send_error(403)
        wanted = {"expires_after": {"anchor": "created_at", "seconds": 60}, "voiceagent": {"origin": SHOP, "once": True}}
        headers = {"Authorization": f"Bearer {os.environ['VOICEAGENT_KEY']}"}
        request = urllib.request.Request(f"{AGENT}/v1/realtime/client_secrets", json.dumps(wanted).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                self.answer(json.dumps({"value": json.load(response)["value"]}).encode(), "application/json")
        except OSError as error:
            self.send_error(502, f"no client secret: {error}"[:200])

    def answer(self, body: bytes, kind: str) -> None:
        """Send it."""
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    ThreadingHTTPServer(("localhost", urlsplit(SHOP).port or 80), Shop).serve_forever()
