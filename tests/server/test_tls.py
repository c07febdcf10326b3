"""TLS by files: HTTPS is answered, the files are read again when they change, and mistakes are one line."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from tests.certificates import write_certificate
from tests.fakes import MakeService
from voiceagent.errors import ConfigError
from voiceagent.server.http.app import make_app
from voiceagent.server.http.run import serve
from voiceagent.server.http.tls import HANDSHAKES_AT_ONCE, MAX_HANDSHAKES, Certificate, certificate_of

Serving = Callable[[Certificate], AbstractAsyncContextManager[str]]


@pytest.fixture
async def serving(make_service: MakeService) -> Serving:
    @asynccontextmanager
    async def run(certificate: Certificate) -> AsyncIterator[str]:
        stop = asyncio.Event()
        ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        app = make_app(make_service())
        task = asyncio.create_task(
            serve(app, "127.0.0.1", 0, certificate=certificate, on_ready=ready.set_result, stop=stop), name="server"
        )
        try:
            yield await ready
        finally:
            stop.set()
            await task

    return run


def trusting(certificate: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(certificate))


async def answered(url: str, context: ssl.SSLContext) -> int:
    async with aiohttp.ClientSession() as session, session.get(f"{url}/readyz", ssl=context) as response:
        return response.status


async def test_https_is_answered_and_http_is_not(serving: Serving, tmp_path: Path) -> None:
    certificate, key = write_certificate(tmp_path)
    tls = Certificate(certificate, key)
    assert tls.context.minimum_version == ssl.TLSVersion.TLSv1_2
    async with serving(tls) as url:
        assert url.startswith("https://127.0.0.1:")
        assert await answered(url, trusting(certificate)) == 200
        async with aiohttp.ClientSession() as session:
            with pytest.raises(aiohttp.ClientError):
                await session.get(url.replace("https", "http"))
        assert await answered(url, trusting(certificate)) == 200


async def test_a_new_certificate_is_taken_and_a_broken_one_is_not(
    serving: Serving, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    certificate, key = write_certificate(tmp_path)
    first = trusting(certificate)
    tls = Certificate(certificate, key)
    async with serving(tls) as url:
        renewed, renewed_key = write_certificate(tmp_path, "renewed")
        renewed.replace(certificate)
        await tls.look()
        assert await answered(url, first) == 200, "the certificate is there, and its key is not yet"
        await tls.look()
        assert len([line for line in caplog.messages if "stays as it was" in line]) == 1
        renewed_key.replace(key)
        await tls.look()
        assert await answered(url, trusting(certificate)) == 200
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await answered(url, first)


async def test_silent_connections_hold_nobody_up(serving: Serving, tmp_path: Path) -> None:
    certificate, key = write_certificate(tmp_path)
    async with serving(Certificate(certificate, key)) as url:
        port = int(url.rpartition(":")[2])
        silent = [
            await asyncio.open_connection("127.0.0.1", port) for _ in range(min(int(HANDSHAKES_AT_ONCE), MAX_HANDSHAKES) - 10)
        ]
        async with asyncio.timeout(4):
            assert await answered(url, trusting(certificate)) == 200
        async with asyncio.timeout(15):
            for reader, _ in silent:
                assert await reader.read() == b"", "each is let go"
        for _, writer in silent:
            writer.close()


async def test_a_certificate_that_ends_soon_is_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for days, told in ((90, ""), (3, "ends on"), (-3, "ended on")):
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            await Certificate(*write_certificate(tmp_path, days=days))._remind()
        assert len(caplog.messages) == bool(told)
        assert told in caplog.text


def test_mistakes_are_one_line(tmp_path: Path) -> None:
    certificate, key = write_certificate(tmp_path)
    _, other = write_certificate(tmp_path, "other")
    locked, locked_key = write_certificate(tmp_path, "locked", passphrase=b"word")
    garbage = tmp_path / "garbage.pem"
    garbage.write_text("nothing")
    for files, told in (
        ((certificate, other), "is not the key of the certificate"),
        ((tmp_path / "none.pem", key), "cannot be read"),
        ((certificate, tmp_path / "none.key"), "cannot be read"),
        ((garbage, key), "no certificate"),
        ((certificate, garbage), "no private key"),
        ((certificate, certificate), "no private key"),
        ((locked, locked_key), "passphrase"),
    ):
        with pytest.raises(ConfigError, match=told) as refused:
            Certificate(*files)
        assert "\n" not in str(refused.value)
    with pytest.raises(ConfigError, match="no certificate; name it by --tls-cert"):
        certificate_of("", str(key), tmp_path)
    assert certificate_of("", "", tmp_path) is None


def test_one_file_may_hold_both(tmp_path: Path) -> None:
    certificate, key = write_certificate(tmp_path)
    both = tmp_path / "both.pem"
    both.write_bytes(key.read_bytes() + certificate.read_bytes())
    assert certificate_of("both.pem", "", tmp_path) is not None
