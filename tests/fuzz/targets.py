"""What is fuzzed of a call: its offer, and all that comes to its socket, from strangers and from the peer that holds the keys."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

import pylibsrtp
from hypothesis import strategies as st

from tests.fuzz.live_call import STRANGER, LiveCall, only_loopback
from tests.fuzz.mutation import changed_bytes, changed_lines
from tests.fuzz.packets import with_rtcp_lengths, with_rtp_version, with_sctp_header, with_stun_length, with_stun_proof
from tests.fuzz.target import Finding, Target, corpus, words
from tests.media.conftest import MediaServer
from voiceagent.client.caller import Caller
from voiceagent.errors import MediaError
from voiceagent.media.webrtc.session_description import read_offer
from voiceagent.media.webrtc.webrtc_leg import WebRtcLeg


class ReadOffer(Target):
    """`read_offer`, which every offer passes first."""

    name, examples = "sdp", 3000

    def inputs(self) -> st.SearchStrategy[bytes]:
        return changed_lines(corpus("sdp"), words("sdp"))

    async def feed(self, data: bytes) -> None:
        try:
            said = read_offer(data.decode("utf-8", "replace")).text
        except MediaError as error:
            check_line(str(error))
        else:
            if len(said) > 2 * len(data) + 1000:
                raise Finding(f"an offer of {len(data)} bytes became {len(said)}")


class AnswerOffer(Target):
    """`WebRtcLeg.answer`: a connection is made for each offer that can be served, and leaves nothing."""

    name, examples, max_cpu_s = "sdp", 400, 1.0

    def inputs(self) -> st.SearchStrategy[bytes]:
        return changed_lines(corpus("sdp"), words("sdp"))

    def __init__(self) -> None:
        self._stack = ExitStack()

    async def open(self) -> None:
        self._stack.enter_context(only_loopback())

    async def close(self) -> None:
        self._stack.close()

    async def feed(self, data: bytes) -> None:
        try:
            leg, answer = await WebRtcLeg.answer(data.decode("utf-8", "replace"))
        except MediaError as error:
            check_line(str(error))
        else:
            await leg.close()
            if not answer.startswith("v=0"):
                raise Finding(f"the answer is {answer[:80]!r}")
        for _ in range(50):  # aiortc ends some tasks a little after it has closed
            if len(asyncio.all_tasks()) == 1:
                return
            await asyncio.sleep(0.01)


def check_line(message: str) -> None:
    """A refusal is one line that a person can read. Raises Finding."""
    if "\n" in message or len(message) > 2000:
        raise Finding(f"a refusal of {len(message)} characters and {message.count(chr(10))} line ends: {message[:200]!r}")


class CallTarget(Target):
    """A target that is a part of a connected call."""

    new_tasks = 6  # a peer's check makes one that asks back, and SCTP's streams have timers

    def __init__(self) -> None:
        self.call = LiveCall()

    def inputs(self) -> st.SearchStrategy[bytes]:
        return changed_bytes(corpus(self.name))

    async def open(self) -> None:
        await self.call.open()

    async def close(self) -> None:
        await self.call.close()

    async def feed(self, data: bytes) -> None:
        await self.call.renew()
        await self.take(data)
        self.call.ends_rightly()
        self.call.within_bounds()

    async def take(self, data: bytes) -> None:
        """Give the call one input."""
        raise NotImplementedError


class StrangersStun(CallTarget):
    """STUN from an address that is not the peer's, without the call's password."""

    name, examples = "stun", 1500

    async def take(self, data: bytes) -> None:
        await self.call.receive(data, STRANGER)
        await self.call.receive(with_stun_length(data), STRANGER)
        self.call.stays_up()


class PeersStun(CallTarget):
    """STUN from the peer's address, signed with the call's password."""

    name, examples = "stun", 1000

    async def take(self, data: bytes) -> None:
        signed = with_stun_proof(data, self.call.ice.local_password)
        await self.call.receive(signed, self.call.peer)
        await self.call.receive(with_stun_proof(data, self.call.ice.remote_password or ""), self.call.peer)


class StrangersRecords(CallTarget):
    """DTLS records, and whatever is no protocol, from an address that is not the peer's."""

    name, examples = "dtls", 1500

    async def take(self, data: bytes) -> None:
        await self.call.receive(data, STRANGER)
        self.call.stays_up()


class PeersRecords(CallTarget):
    """The same from the peer's address, which whoever is on the path can write into a datagram."""

    name, examples = "dtls", 1500

    async def take(self, data: bytes) -> None:
        await self.call.receive(data, self.call.peer)


class Rtp(CallTarget):
    """RTP under the call's keys."""

    name, examples = "rtp", 2000

    async def take(self, data: bytes) -> None:
        try:
            packet = self.call.peer_dtls._tx_srtp.protect(with_rtp_version(data))
        except (pylibsrtp.Error, TypeError, ValueError):  # what SRTP cannot carry does not come
            return
        await self.call.receive(packet, self.call.peer)


class Rtcp(CallTarget):
    """RTCP under the call's keys."""

    name, examples = "rtcp", 2000

    async def take(self, data: bytes) -> None:
        for packet in (data, with_rtcp_lengths(data)):
            try:
                protected = self.call.peer_dtls._tx_srtp.protect_rtcp(packet)
            except (pylibsrtp.Error, TypeError, ValueError):
                continue
            await self.call.receive(protected, self.call.peer)


class Sctp(CallTarget):
    """SCTP under the call's keys."""

    name, examples = "sctp", 1500

    async def take(self, data: bytes) -> None:
        packet = with_sctp_header(data, self.call.sctp._local_verification_tag)
        if not packet or self.call.peer_dtls.state != "connected":
            return
        try:
            await self.call.peer_dtls._send_data(packet[:1200])
        except ConnectionError:
            return
        for _ in range(3):  # over the real sockets of both ends
            await asyncio.sleep(0)
            await self.call.settle()


class Handshake(Target):
    """Records of strangers while a call is set up: it comes up all the same."""

    name, examples, max_cpu_s, new_tasks = "dtls", 80, 2.0, 4

    def __init__(self) -> None:
        self.server = MediaServer()
        self._stack = ExitStack()

    def inputs(self) -> st.SearchStrategy[bytes]:
        return changed_bytes(corpus("dtls"))

    async def open(self) -> None:
        self._stack.enter_context(only_loopback())
        await self.server.start()

    async def close(self) -> None:
        await self.server.stop()
        self._stack.close()

    async def feed(self, data: bytes) -> None:
        before = len(self.server.legs)
        caller = Caller(self.server.url, connect_timeout_s=4.0)
        connecting = asyncio.create_task(caller.connect())
        try:
            while not connecting.done():
                for leg in self.server.legs[before:]:
                    transport = leg._peer.transport
                    if transport.dtls.state in ("new", "connecting"):
                        for protocol in transport.gatherer._connection._protocols:
                            protocol.datagram_received(data, STRANGER)
                await asyncio.sleep(0.002)
            await connecting
        except MediaError as error:
            raise Finding(f"the call did not come up: {error}") from error
        finally:
            await caller.hangup()
            for leg in self.server.legs[before:]:
                await leg.close()
            await self.server.finish()
