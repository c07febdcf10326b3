"""Calls that SIPp makes: it signals them, and our own telephones (`RtpPhone`) carry their audio."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from bench.phone.rtp import HOST, RtpPhone
from tests.programs import program
from tests.telephone.sip_parts import free_port, process, until

UP_TIMEOUT_S = 10.0
END_TIMEOUT_S = 8.0
RATE = 0.8
"""Calls begun a second: the server lets no more in at a time than it has seen the cost of (`server/calls/admission.py`)."""
_ANSWER = '<recv response="{code}" optional="true"/>'
HANG_UP = (
    "INFO sip:sipp@{host} SIP/2.0\r\nVia: SIP/2.0/UDP {host}:9;branch=z9hG4bK9\r\nFrom: <sip:b@{host}>;tag=1\r\n"
    "To: <sip:sipp@{host}>;tag=2\r\nCall-ID: {call_id}\r\nCSeq: 2 INFO\r\nMax-Forwards: 5\r\nContent-Length: 0\r\n\r\n"
)
"""The request that has SIPp end a call; it is not answered."""


def _in_dialog(method: str, number: int) -> str:
    return f"""<send><![CDATA[
    {method} [next_url] SIP/2.0
    Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]
    [routes]
    From: <sip:sipp@[local_ip]:[local_port]>;tag=[pid]t[call_number]
    To: <sip:[service]@[remote_ip]:[remote_port]>[peer_tag_param]
    Call-ID: [call_id]
    CSeq: {number} {method}
    Max-Forwards: 20
    Content-Length: 0

  ]]></send>"""


SCENARIO = f"""<?xml version="1.0" encoding="ISO-8859-1"?>
<scenario name="a call that the bench ends">
  <send retrans="500"><![CDATA[
    INVITE sip:[service]@[remote_ip]:[remote_port] SIP/2.0
    Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]
    From: <sip:sipp@[local_ip]:[local_port]>;tag=[pid]t[call_number]
    To: <sip:[service]@[remote_ip]:[remote_port]>
    Call-ID: [call_id]
    CSeq: 1 INVITE
    Contact: <sip:sipp@[local_ip]:[local_port]>
    Max-Forwards: 20
    Content-Type: application/sdp
    Content-Length: [len]

    v=0
    o=sipp 1 1 IN IP[local_ip_type] [local_ip]
    s=-
    c=IN IP[media_ip_type] [media_ip]
    t=0 0
    m=audio [field0] RTP/AVP 0 101
    a=rtpmap:0 PCMU/8000
    a=rtpmap:101 telephone-event/8000
    a=ptime:20
  ]]></send>
  {"".join(_ANSWER.format(code=code) for code in (100, 180, 183))}
  <recv response="200" rrs="true"/>
  {_in_dialog("ACK", 1)}
  <recv request="INFO"/>
  {_in_dialog("BYE", 2)}
  <recv response="200"/>
</scenario>
"""


@asynccontextmanager
async def sipp_calls(folder: Path, pbx_port: int, calls: int, rate: float = RATE) -> AsyncIterator[Sequence[RtpPhone]]:
    """Makes this many calls to the agent at the PBX, begun at `rate` a second; yields the telephones, once all have heard from
    the agent."""
    program("sipp", "sip-tester")
    phones = [RtpPhone() for _ in range(calls)]
    (folder / "scenario.xml").write_text(SCENARIO)
    (folder / "ports.csv").write_text("SEQUENTIAL\n" + "".join(f"{phone.port}\n" for phone in phones))
    options = ("-sf", str(folder / "scenario.xml"), "-inf", str(folder / "ports.csv"), "-s", "agent", "-nostdin")
    limits = ("-m", str(calls), "-l", str(calls), "-r", str(round(1000 * rate)), "-rp", "1000000")
    port = free_port()
    where = ("-i", HOST, "-p", str(port), "-mi", HOST, "-cid_str", "call-%u")
    try:
        async with process(folder / "sipp.log", "sipp", f"{HOST}:{pbx_port}", *options, *limits, *where) as sipp:
            try:
                await until(lambda: all(phone.is_up for phone in phones), UP_TIMEOUT_S + calls / rate)
            except TimeoutError:
                up = sum(phone.is_up for phone in phones)
                raise RuntimeError(f"of {calls} calls {up} came up; the server's log says why others did not") from None
            yield phones
            _hang_up(calls, port)
            await asyncio.wait_for(sipp.wait(), END_TIMEOUT_S)
    finally:
        for phone in phones:
            await phone.close()


def _hang_up(calls: int, port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending:
        for number in range(1, calls + 1):
            sending.sendto(HANG_UP.format(host=HOST, call_id=f"call-{number}").encode(), (HOST, port))
