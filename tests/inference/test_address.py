"""The address of a model server, and whether a server that does not answer is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from voiceagent.errors import ConfigError
from voiceagent.inference.address import KEY_VARIABLE, ServerOptions, address_of, keys_of_environment
from voiceagent.inference.circuit import FAILURES, OPEN_S, Circuit


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("grpc://127.0.0.1:8001", "127.0.0.1:8001"),
        ("grpc://127.0.0.1", "127.0.0.1:8001"),
        ("grpc://[::1]:9", "[::1]:9"),
        ("grpcs://models.example:443", "dns:///models.example:443"),
        ("unix:///run/models.sock", "unix:/run/models.sock"),
    ],
)
def test_an_address_is_read(url: str, target: str) -> None:
    address = address_of(ServerOptions(url=url), "stt engine remote")
    assert (address.target, address.has_tls) == (target, url.startswith("grpcs"))


@pytest.mark.parametrize(
    "url",
    [
        "",
        "http://127.0.0.1:1",
        "grpc://",
        "grpc://a:b",
        "grpc://host/path",
        "grpc://host:1?key=x",
        "grpc://me:word@host:1",
        "unix:relative",
    ],
)
def test_what_is_no_address_is_refused_and_no_secret_is_told(url: str) -> None:
    with pytest.raises(ConfigError, match=r"^stt engine remote: ") as refused:
        address_of(ServerOptions(url=url), "stt engine remote")
    assert "word" not in str(refused.value)


def test_certificates_are_read_where_there_is_tls(tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    file.write_bytes(b"pem")
    assert address_of(ServerOptions(url="grpcs://host:1", ca=str(file)), "tts engine remote").ca == b"pem"
    for options in (ServerOptions(url="grpc://host:1", ca=str(file)), ServerOptions(url="grpcs://host:1", ca="/nowhere.pem")):
        with pytest.raises(ConfigError, match="ca is"):
            address_of(options, "tts engine remote")


def test_keys_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "new-key-of-24-letters, old-key-of-24-letters,")
    assert keys_of_environment(KEY_VARIABLE) == ("new-key-of-24-letters", "old-key-of-24-letters")
    assert address_of(ServerOptions(url="grpc://host"), "stt").key == "new-key-of-24-letters"


def test_after_failures_in_a_row_a_server_is_asked_once_in_a_while() -> None:
    circuit = Circuit()
    for _ in range(FAILURES - 1):
        circuit.failed(100.0)
    assert circuit.admits(100.0)
    circuit.failed(100.0)
    assert not circuit.admits(100.0 + OPEN_S * 0.9)
    assert circuit.admits(100.0 + OPEN_S)
    assert not circuit.admits(100.0 + OPEN_S)
    circuit.worked()
    assert circuit.admits(100.0 + OPEN_S)
