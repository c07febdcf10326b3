"""Imports, before the first call, what aiortc and pyOpenSSL import only once a call needs it. The modules behind a certificate
and a TLS context take up to a tenth of a second to import, and the audio of all calls would stall for that time."""

from __future__ import annotations

import importlib

from aiortc.rtcdtlstransport import RTCCertificate


def prepare() -> None:
    """Takes a while, so run it in a thread."""
    RTCCertificate.generateCertificate()
    importlib.import_module("cryptography.hazmat.primitives.serialization")  # by pyOpenSSL, when a certificate is used
