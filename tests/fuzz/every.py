"""All that is fuzzed."""

from __future__ import annotations

from tests.fuzz.sdk_events import SdkEvents
from tests.fuzz.served import ClientEvents, Http
from tests.fuzz.target import Target
from tests.fuzz.targets import (
    AnswerOffer,
    Handshake,
    PeersRecords,
    PeersStun,
    ReadOffer,
    Rtcp,
    Rtp,
    Sctp,
    StrangersRecords,
    StrangersStun,
)

TARGETS: tuple[type[Target], ...] = (
    *(ReadOffer, AnswerOffer, StrangersStun, PeersStun, StrangersRecords, PeersRecords, Handshake, Rtp, Rtcp, Sctp),
    *(Http, ClientEvents, SdkEvents),
)
