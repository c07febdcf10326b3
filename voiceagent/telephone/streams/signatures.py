"""Checks who sent a webhook, by each vendor's documents. All compare in constant time. Webhooks with a signed time are refused
when they are older than five minutes. Not every vendor signs the query of the URL: `Vendor.signs_query` says which do."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit, urlunsplit

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from voiceagent.json_types import JsonObject
from voiceagent.untrusted_json import read_json

MAX_AGE_S = 300.0
MAX_FIELDS = 256


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """A request, as its sender made it."""

    method: str
    url: str
    """The URL with the scheme and host that the vendor was given, and the query."""
    headers: Mapping[str, str]
    """Their names in lower case."""
    body: bytes
    now_s: float
    """Unix time."""

    def form(self) -> list[tuple[str, str]]:
        """The body's fields, in order. Raises ValueError for a body that is no form."""
        return parse_qsl(self.body.decode(), keep_blank_values=True, max_num_fields=MAX_FIELDS)

    def query(self) -> list[tuple[str, str]]:
        """The parameters of the URL, in order. Raises ValueError for too many."""
        return parse_qsl(urlsplit(self.url).query, keep_blank_values=True, max_num_fields=MAX_FIELDS)

    def is_old(self, time_s: str) -> bool:
        """True if a signed time is no number, or too far from now."""
        try:
            return not abs(self.now_s - float(time_s)) <= MAX_AGE_S
        except ValueError:
            return True


Check = Callable[[SignedRequest, str], str]
"""Returns what the secret has signed in a webhook, as the digits of a hash. Two webhooks of one signature have the same. Empty if
the signature is missing or wrong. May raise ValueError for a webhook that cannot be read."""


def twilio(webhook: SignedRequest, secret: str) -> str:
    """Base64 of HMAC-SHA1 over the URL and the form's fields by name (twilio.com/docs/usage/security)."""
    return _twilios(webhook, secret, webhook.headers.get("x-twilio-signature", ""))


def signalwire(webhook: SignedRequest, secret: str) -> str:
    """Twilio's signature under its own header, or hexadecimal HMAC-SHA1 or HMAC-SHA256 over the URL and the raw body."""
    given = webhook.headers.get("x-signalwire-signature", "") or webhook.headers.get("x-twilio-signature", "")
    whole = webhook.url.encode() + webhook.body
    stronger = webhook.headers.get("x-signalwire-sha256-signature", "")
    is_whole = _same(given, _hmac(secret, whole, "sha1").hex()) or _same(stronger, _hmac(secret, whole, "sha256").hex())
    return _digest(whole) if is_whole else _twilios(webhook, secret, given)


def telnyx(webhook: SignedRequest, secret: str) -> str:
    """Ed25519 over `time|body`. The secret is Telnyx' public key, which is none. A GET has no body: nothing of it is signed."""
    time_s = webhook.headers.get("telnyx-timestamp", "")
    if webhook.method != "POST" or webhook.is_old(time_s):
        return ""
    signed = f"{time_s}|".encode() + webhook.body
    try:
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(secret)[-32:])
        signature = base64.b64decode(webhook.headers.get("telnyx-signature-ed25519", ""))
        key.verify(signature, signed)
    except (InvalidSignature, binascii.Error, ValueError):
        return ""
    return _digest(signed)


def plivo(webhook: SignedRequest, secret: str) -> str:
    """Version 3: Base64 of HMAC-SHA256 over the URL, the fields by name, and a nonce. Commas separate several signatures."""
    parts = urlsplit(webhook.url)
    signed = urlunsplit((parts.scheme, parts.netloc, parts.path, "", ""))
    fields = webhook.form() if webhook.method == "POST" else []
    query = "&".join(f"{name}={value}" for name, value in sorted(webhook.query()))
    if query or fields:
        signed += f"?{query}"
    if query and fields:
        signed += "."
    signed += "".join(f"{name}{value}" for name, value in sorted(fields))
    signed += f".{webhook.headers.get('x-plivo-signature-v3-nonce', '')}"
    expected = base64.b64encode(_hmac(secret, signed.encode(), "sha256")).decode()
    given = webhook.headers.get("x-plivo-signature-v3", "").split(",")
    return _digest(signed.encode()) if any(_same(one, expected) for one in given) else ""


def vonage(webhook: SignedRequest, secret: str) -> str:
    """A JSON web token (RFC 7519) signed with HS256. Its claims hold the time, and SHA-256 of the payload: of the body, or for a
    GET of the query as a JSON object, in its order and without spaces (Vonage's support article 19033783342876)."""
    scheme, _, token = webhook.headers.get("authorization", "").partition(" ")
    parts = token.strip().split(".")
    if scheme.lower() != "bearer" or len(parts) != 3:
        return ""
    signed = f"{parts[0]}.{parts[1]}".encode(errors="replace")
    if not hmac.compare_digest(_of_base64url(parts[2]), _hmac(secret, signed, "sha256")):
        return ""
    header, claims = _claims(parts[0]), _claims(parts[1])
    if header.get("alg") != "HS256" or webhook.is_old(str(claims.get("iat", ""))):
        return ""
    payload = webhook.body if webhook.method == "POST" else msgspec.json.encode(dict(webhook.query()))
    return _digest(signed) if _same(str(claims.get("payload_hash", "")), hashlib.sha256(payload).hexdigest()) else ""


def jambonz(webhook: SignedRequest, secret: str) -> str:
    """`t=time,v1=signature`: the digits of HMAC-SHA256 over `time.body`. A GET reports nothing of the call."""
    pairs = [part.partition("=") for part in webhook.headers.get("jambonz-signature", "").split(",")[:8]]
    time_s = next((value for name, _, value in pairs if name.strip() == "t"), "")
    if webhook.method != "POST" or webhook.is_old(time_s):
        return ""
    signed = f"{time_s}.".encode() + webhook.body
    expected = _hmac(secret, signed, "sha256").hex()
    return _digest(signed) if any(_same(value, expected) for name, _, value in pairs if name.strip() == "v1") else ""


def basic(webhook: SignedRequest, secret: str) -> str:
    """The user and the password in the URL that the vendor was given, `user:password` (RFC 7617)."""
    scheme, _, given = webhook.headers.get("authorization", "").partition(" ")
    is_right = scheme.lower() == "basic" and _same(given.strip(), base64.b64encode(secret.encode()).decode())
    return _digest(webhook.url.encode() + b" " + webhook.body) if is_right else ""


def _twilios(webhook: SignedRequest, secret: str, given: str) -> str:
    fields = sorted(set(webhook.form())) if webhook.method == "POST" else []
    signed = "".join(f"{name}{value}" for name, value in fields)
    urls = _with_and_without_port(webhook.url)
    expected = [base64.b64encode(_hmac(secret, (url + signed).encode(), "sha1")).decode() for url in urls]
    return _digest((webhook.url + signed).encode()) if any(_same(given, one) for one in expected) else ""


def _with_and_without_port(url: str) -> Sequence[str]:
    """Some of Twilio's backends sign the URL with the scheme's own port. Others leave out any port."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    bare = host.rpartition(":")[0] if parts.port else host
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return [urlunsplit(parts._replace(netloc=one)) for one in dict.fromkeys((host, bare, f"{bare}:{port}"))]


def _hmac(secret: str, signed: bytes, algorithm: str) -> bytes:
    return hmac.new(secret.encode(), signed, algorithm).digest()


def _digest(signed: bytes) -> str:
    return hashlib.sha256(signed).hexdigest()


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.strip().encode(errors="replace"), expected.encode())


def _of_base64url(text: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        return b""


def _claims(part: str) -> JsonObject:
    try:
        claims = read_json(_of_base64url(part))
    except ValueError:
        return {}
    return claims if isinstance(claims, dict) else {}
