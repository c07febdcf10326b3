"""A tool that is one HTTP request: the checked arguments are posted as a JSON object; the JSON answer is the result."""

from __future__ import annotations

import httpx2

from voiceagent.errors import ConfigError
from voiceagent.tools.schemas import ArgumentSchema, SchemaTool
from voiceagent.tools.settings import WebhookSettings, checked_url, headers_from
from voiceagent.tools.tool import NAME, RunScope, ToolError, ToolSource, check_policy
from voiceagent.untrusted_json import read_loose_json

MAX_ANSWER_BYTES = 262_144
MAX_REDIRECTS = 3
MAX_PROBLEM_CHARACTERS = 300
CONNECT_TIMEOUT_S = 5.0
CALL = "call"
"""The call's facts in the body, where the settings ask for them."""


class WebhookTool(SchemaTool):
    """Posts to one address. Use it between `open` and `close`."""

    def __init__(self, settings: WebhookSettings) -> None:
        """Raises ConfigError."""
        owner = f"webhook {settings.name}"
        if not NAME.fullmatch(settings.name):
            raise ConfigError(f"{owner}: expected a name of letters, digits, _ and - (at most 64)")
        try:
            arguments = ArgumentSchema(settings.parameters, own_patterns=True)
        except ValueError as error:
            raise ConfigError(f"{owner}: parameters: {error}") from error
        super().__init__(settings.name, settings.description, settings.policy(), arguments)
        check_policy(settings.name, self.policy, self.parameters["properties"])
        self._tells_call = settings.call
        if settings.call and CALL in self.parameters["properties"]:
            raise ConfigError(f"{owner}: `call: true` puts the call into the body as {CALL!r}; give that parameter another name")
        self._url = checked_url(owner, settings.url)
        self._headers = headers_from(owner, settings.headers_env)
        self._client: httpx2.AsyncClient | None = None

    def open(self) -> None:
        """Open the connections. The run sets how long a request may take."""
        timeout = httpx2.Timeout(None, connect=CONNECT_TIMEOUT_S)
        self._client = httpx2.AsyncClient(headers=self._headers, timeout=timeout, follow_redirects=False)

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def run(self, given: dict[str, object], scope: RunScope) -> object:
        """Post the arguments, and the call's facts as headers. Raises ToolError for every answer that is not JSON with a status
        of success."""
        if self._client is None:
            raise ToolError(f"The tool {self.name} is not available.")
        body = {**given, CALL: scope.call.facts} if self._tells_call else given
        request = self._client.build_request("POST", self._url, json=body, headers=scope.call.headers)
        try:
            for _ in range(MAX_REDIRECTS + 1):
                response = await self._client.send(request, stream=True)
                try:
                    answer = await _read(response)
                finally:
                    await response.aclose()
                following = response.next_request
                if following is None:
                    return self._result(response, answer)
                if following.method != "POST" or not _same_place(request.url, following.url):
                    raise ToolError(f"The tool {self.name} was sent to another place, which is not followed.")
                request = following
        except httpx2.HTTPError as error:
            raise ToolError(f"The tool {self.name} cannot be reached: {type(error).__name__}.") from error
        raise ToolError(f"The tool {self.name} was redirected too often.")

    def _result(self, response: httpx2.Response, body: bytes | None) -> object:
        if body is None:
            raise ToolError(f"The tool {self.name} answered with more than {MAX_ANSWER_BYTES} bytes.")
        try:
            answer = read_loose_json(body) if body.strip() else None
        except ValueError as error:
            if response.is_success:
                kind = response.headers.get("content-type", "no content type").split(";")[0][:60]
                raise ToolError(f"The tool {self.name} answered with {kind}, expected JSON.") from error
            answer = None
        if response.is_success:
            return answer
        why = answer.get("error") if isinstance(answer, dict) else None
        if isinstance(why, str) and why.strip():
            raise ToolError(why.strip()[:MAX_PROBLEM_CHARACTERS])
        raise ToolError(f"The tool {self.name} failed with HTTP status {response.status_code}.")


class WebhookSource(ToolSource):
    """The source of one webhook."""

    def __init__(self, settings: WebhookSettings) -> None:
        """Raises ConfigError."""
        self._tool = WebhookTool(settings)
        super().__init__([self._tool])

    async def open(self) -> None:
        """Be ready for requests."""
        self._tool.open()

    async def close(self) -> None:
        """Close the connections."""
        await self._tool.close()


async def _read(response: httpx2.Response) -> bytes | None:
    """The body; None when it is too long."""
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > MAX_ANSWER_BYTES:
            return None
    return bytes(body)


def _same_place(one: httpx2.URL, other: httpx2.URL) -> bool:
    return (one.scheme, one.host, one.port) == (other.scheme, other.host, other.port)
