"""What aiortc and pyOpenSSL import only once a call needs it, imported before the first call: the modules behind a certificate
and a TLS context take up to a tenth of a second, for which the audio of all calls would stand still."""

from __future__ import annotations

import importlib

from aiortc.rtcdtlstransport import RTCCertificate


def prepare() -> None:
    """Takes a while: for a thread."""
    RTCCertificate.generateCertificate()
    importlib.import_module("cryptography.hazmat.primitives.serialization")  # by pyOpenSSL, when a certificate is used
