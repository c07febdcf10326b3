"""What a vendor's webhook tells of a call: the same few facts under each one's names."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

from voiceagent.errors import MediaError
from voiceagent.telephony.json_stream import decoded, parameters_of, text
from voiceagent.telephony.messages import CallFacts
from voiceagent.telephony.signatures import MAX_FIELDS, Webhook
from voiceagent.telephony.vendors import Vendor

DIRECTION = ("Direction", "direction")
"""Of the call: `inbound`, or something like `outbound-api`. Where a vendor does not tell, the operator may in the address."""


def facts_of(webhook: Webhook, vendor: Vendor) -> CallFacts:
    """Who calls whom. What the operator wrote into the query of the webhook's address, or of the stream's that comes without
    one, are parameters of the call. Raises MediaError and ValueError for a body that cannot be read."""
    query = dict(parse_qsl(urlsplit(webhook.url).query, keep_blank_values=True, max_num_fields=MAX_FIELDS))
    in_body = webhook.method == "POST"
    fields: Mapping[str, object] = _body(webhook) if in_body else query
    own = query if in_body or vendor.answer is None else {}
    told = () if in_body else (vendor.caller, vendor.called, vendor.call_id)
    return CallFacts(
        text(fields.get(vendor.caller)),
        text(fields.get(vendor.called)),
        text(fields.get(vendor.call_id)),
        parameters_of({name: value for name, value in own.items() if name not in told}),
        any(text(said.get(name)).lower().startswith("outbound") for said in (fields, query) for name in DIRECTION),
    )


def _body(webhook: Webhook) -> Mapping[str, object]:
    if webhook.body.lstrip()[:1] != b"{":
        return dict(webhook.form())
    try:
        return decoded(webhook.body.decode())
    except UnicodeDecodeError as error:
        raise MediaError(f"a body that is not UTF-8 at byte {error.start}") from error
