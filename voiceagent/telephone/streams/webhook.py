"""Reads a vendor's webhook: the same few facts of a call, under each vendor's names. Only what the vendor signs is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from voiceagent.errors import MediaError
from voiceagent.telephone.messages import CallFacts
from voiceagent.telephone.streams.json_stream import decoded, parameters_of, text
from voiceagent.telephone.streams.signatures import SignedRequest
from voiceagent.telephone.streams.vendors import Vendor

DIRECTION = ("Direction", "direction")
"""The fields with a call's direction: `inbound`, or something like `outbound-api`. Not every vendor sends one."""


def facts_of(webhook: SignedRequest, vendor: Vendor, own_numbers: Sequence[str] = ()) -> CallFacts:
    """Reads the facts of a call: the caller, the called and the parameters. The query of the webhook's address holds the
    operator's parameters, if the vendor signs it. The same holds for a stream that comes without a webhook. A call from one of
    `own_numbers` is outbound, whatever the vendor says. Raises MediaError and ValueError for a body that cannot be read."""
    in_body = webhook.method == "POST"
    query = dict(webhook.query()) if vendor.signs_query or not in_body else {}
    fields = fields_of(webhook)
    own = query if in_body or vendor.answer is None else {}
    told = () if in_body else (vendor.caller, vendor.called, vendor.call_id)
    caller = text(fields.get(vendor.caller))
    is_ours = bool(_digits(caller)) and _digits(caller) in map(_digits, own_numbers)
    return CallFacts(
        caller,
        text(fields.get(vendor.called)),
        text(fields.get(vendor.call_id)),
        parameters_of({name: value for name, value in own.items() if name not in told}),
        is_ours or any(text(said.get(name)).lower().startswith("outbound") for said in (fields, query) for name in DIRECTION),
    )


def fields_of(webhook: SignedRequest) -> Mapping[str, object]:
    """The fields of its body, or of its query if it has no body. Raises MediaError and ValueError for what cannot be read."""
    return _body(webhook) if webhook.method == "POST" else dict(webhook.query())


def unsigned_parameters(webhook: SignedRequest, vendor: Vendor) -> int:
    """The number of parameters of the address that the vendor does not sign. They are left out."""
    return 0 if vendor.signs_query or webhook.method != "POST" else len(webhook.query())


def _digits(number: str) -> str:
    """A telephone number without its + and separators, as vendors write it differently."""
    return "".join(character for character in number if character.isdigit())


def _body(webhook: SignedRequest) -> Mapping[str, object]:
    if webhook.body.lstrip()[:1] != b"{":
        return dict(webhook.form())
    try:
        return decoded(webhook.body.decode())
    except UnicodeDecodeError as error:
        raise MediaError(f"a body that is not UTF-8 at byte {error.start}") from error
