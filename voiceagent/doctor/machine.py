"""Checks of the machine: its programs, the bundled models, ports and folders."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from voiceagent.audio import opus
from voiceagent.doctor.finding import Check, Found, Served, Status
from voiceagent.models.checksums import check_sums
from voiceagent.resources import bundled_models_dir, web_dir
from voiceagent.server.access.key_ring import keys_of_server
from voiceagent.server.http.tls import SOON, certificate_of
from voiceagent.settings.agent import data_dir, events_address, models_cache_dir, store_address
from voiceagent.store.database import StoreError
from voiceagent.store.redis_streams import RedisStreams
from voiceagent.store.schema import connect

UDP_TIMEOUT_S = 2.0
MIN_CORES = 2
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def _python(served: Served) -> Iterable[Found]:
    return [("ok", f"{platform.python_version()} in {sys.prefix}", "")]


def _processors(served: Served) -> Iterable[Found]:
    cores = len(os.sched_getaffinity(0))
    if cores < MIN_CORES:
        return [("warn", f"{cores} core", "calls will miss their budgets: give the server two cores or more")]
    return [("ok", f"{cores} cores", "")]


def _opus(served: Served) -> Iterable[Found]:
    encoder, decoder = opus.Encoder(), opus.Decoder()
    decoder.decode(encoder.encode(np.zeros(480, np.int16)))
    return [("ok", opus.version(), "")]


def _espeak(served: Served) -> Iterable[Found]:
    from piper.phonemize_espeak import EspeakPhonemizer

    sentences = EspeakPhonemizer().phonemize("en-us", "hello")
    if not any(sentences):
        return [("fail", "espeak-ng found no phonemes in 'hello'", "install piper-tts again")]
    return [("ok", f"piper-tts {importlib.metadata.version('piper-tts')} phonemises", "")]


def _language_model(served: Served) -> Iterable[Found]:
    import onnxruntime_genai

    return [("ok", f"onnxruntime-genai {onnxruntime_genai.__version__}", "")]


def _bundled(served: Served) -> Iterable[Found]:
    problems = check_sums(bundled_models_dir())
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        return [("fail", problems[0] + more, "install voiceagent again; in a checkout: git checkout models/bundled")]
    return [("ok", f"present and unchanged in {bundled_models_dir()}", "")]


def _udp(served: Served) -> Iterable[Found]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as here, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as there:
        here.bind(("127.0.0.1", 0))
        here.settimeout(UDP_TIMEOUT_S)
        there.sendto(b"voiceagent", here.getsockname())
        if here.recv(64) != b"voiceagent":
            return [("fail", "a datagram changed on its way", "look at the machine's firewall")]
    return [("ok", "datagrams pass on the loopback address; callers elsewhere need the server's UDP ports open", "")]


def _keys(served: Served) -> Iterable[Found]:
    keys = keys_of_server(data_dir())
    keys.check_exposure(served.settings.host)
    told = f"{keys.count()} that clients may present" if keys.is_needed else "none: this machine's programs need none"
    return [("ok", told, "")]


def _port(served: Served) -> Iterable[Found]:
    family = socket.AF_INET6 if ":" in served.settings.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((served.settings.host, served.settings.port))
        except OSError as error:
            advice = f"end the program that has it, or choose another: voiceagent serve --port {served.settings.port + 1}"
            return [("fail", f"{served.settings.host}:{served.settings.port} cannot be used ({error.strerror})", advice)]
    return [("ok", f"{served.settings.host}:{served.settings.port} is free", "")]


def _certificate(served: Served) -> Iterable[Found]:
    http = served.agent.http
    certificate = certificate_of(http.tls_cert, http.tls_key, Path(served.agent.base_dir))
    if certificate is None:
        return [("ok", "none: HTTP, for this machine or behind a proxy", "")]
    ends = certificate.ends()
    status: Status = "fail" if ends < datetime.now(UTC) else "warn" if ends < datetime.now(UTC) + SOON else "ok"
    return [(status, f"valid until {ends:%Y-%m-%d %H:%M} UTC", "" if status == "ok" else "renew it")]


def _microphone(served: Served) -> Iterable[Found]:
    if served.settings.host in ("127.0.0.1", "::1", "localhost"):
        return [("ok", "it is the browser's; pages from this machine may use it without HTTPS", "")]
    if served.agent.http.tls_cert:
        return [("ok", "it is the browser's; the server answers by HTTPS", "")]
    advice = "give the server a certificate (http.tls_cert, --tls-cert), or put a proxy with one in front of it"
    return [("warn", f"browsers refuse it to pages from {served.settings.host} without HTTPS", advice)]


def _page(served: Served) -> Iterable[Found]:
    page = web_dir() / "index.html"
    if not page.is_file():
        return [("fail", f"{page} is missing", "install voiceagent again")]
    return [("ok", str(page.parent), "")]


def _data(served: Served) -> Iterable[Found]:
    folder = data_dir()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        advice = "turns will not be kept for `voiceagent report`: make it writable or set $VOICEAGENT_DATA"
        return [("warn", f"{folder} is not writable ({error.strerror})", advice)]
    return [("ok", f"pulled models are in {models_cache_dir()}", "")]


def _store(served: Served) -> Iterable[Found]:
    address = store_address()
    try:
        if address.url:
            connect(address, writes=True).close()
    except StoreError as error:
        return [("warn", str(error), "turns and calls will not be kept: see docs/calls.md")]
    return [("ok", f"turns and calls are kept in {address}", "")]


def _events(served: Served) -> Iterable[Found]:
    address = events_address()
    if address is None:
        return [("ok", "calls' events go to no Redis", "")]
    streams = RedisStreams(address)
    try:
        streams.check()
    except StoreError as error:
        return [("warn", str(error), "events will be missing there: see docs/event-streams.md")]
    finally:
        streams.close()
    return [("ok", f"calls' events go to {address}, where records.keep says so", "")]


def _browser(served: Served) -> Iterable[Found]:
    found = next((path for browser in BROWSERS if (path := shutil.which(browser))), None)
    if found is None:
        return [("warn", "no Chromium", "only the browser tests need it: make browser, or apt-get install chromium")]
    return [("ok", found, "")]


PROGRAMS = (
    Check("Python", _python),
    Check("processors", _processors),
    Check("Opus", _opus),
    Check("espeak-ng", _espeak),
    Check("language model engine", _language_model),
    Check("bundled models", _bundled),
)
PLACES = (
    Check("UDP", _udp),
    Check("keys", _keys),
    Check("port", _port),
    Check("page", _page),
    Check("certificate", _certificate, ("configuration",)),
    Check("microphone", _microphone, ("configuration",)),
    Check("data folder", _data),
    Check("store", _store),
    Check("events", _events),
    Check("browser for tests", _browser),
)
