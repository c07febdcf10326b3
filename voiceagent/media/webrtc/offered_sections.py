"""The media sections of an SDP offer (RFC 8866 §5.14), and which of them a call serves: one audio section with Opus, and one data
channel. aiortc reads only these, so nothing else in an offer can fail. Every other section (video, text, images, a second audio
section) is answered at its place with port 0, which refuses it (RFC 3264 §6)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from voiceagent.errors import MediaError

MAX_SECTIONS = 64

_MEDIA = re.compile(r"m=(?P<kind>[!-~]+) (?P<port>\d{1,5})(?:/\d+)? (?P<protocol>[!-~]+)(?P<formats>(?: [!-~]+)+)\s*$", re.ASCII)
_DIRECTION = re.compile(r"a=(sendrecv|sendonly|recvonly|inactive)\s*$")
_RTPMAP = re.compile(r"a=rtpmap:(\d{1,3}) ([^/\s]+)/(\d+)", re.ASCII)
_OF_FORMAT = re.compile(r"a=(?:rtpmap|fmtp|rtcp-fb):(\d+)\s", re.ASCII)
_BUNDLE = "a=group:BUNDLE"
_TRANSPORT: Final = ("a=ice-ufrag:", "a=ice-pwd:", "a=fingerprint:", "a=setup:")
_CANDIDATE: Final = "a=candidate:"


@dataclass(frozen=True, slots=True)
class Section:
    """A media section: its `m=` line in parts, and the lines after it."""

    kind: str
    port: int
    protocol: str
    formats: tuple[str, ...]
    lines: tuple[str, ...]

    @property
    def mid(self) -> str:
        """Its name; empty if it has none."""
        return next((line[6:].strip() for line in self.lines if line.startswith("a=mid:")), "")

    @property
    def is_offered(self) -> bool:
        """True when it may be accepted. Port 0 refuses it, unless the section only has its bundle's port (RFC 9143 §6)."""
        return self.port != 0 or any(line.strip() == "a=bundle-only" for line in self.lines)

    @property
    def carries_data(self) -> bool:
        """True for a data channel (RFC 8841), also in the form of its drafts."""
        return self.kind == "application" and self.protocol.upper().endswith("DTLS/SCTP") and self.is_offered

    @property
    def codecs(self) -> dict[str, str]:
        """The codecs' names by payload type."""
        named = {match[1]: match[2] for match in map(_RTPMAP.match, self.lines) if match}
        return {each: named[each] for each in self.formats if each in named}

    @property
    def opus_types(self) -> tuple[str, ...]:
        """The payload types of Opus."""
        rates = {match[1]: match[3] for match in map(_RTPMAP.match, self.lines) if match}
        return tuple(each for each, name in self.codecs.items() if name.lower() == "opus" and rates[each] == "48000")

    def values(self, name: str) -> tuple[str, ...]:
        """The lines of one attribute."""
        return tuple(line for line in self.lines if line.startswith(name))

    def with_opus_alone(self) -> Section:
        """The section without its other codecs."""
        types = self.opus_types
        kept = [line for line in self.lines if not (match := _OF_FORMAT.match(line)) or match[1] in types]
        return Section(self.kind, self.port, self.protocol, types, tuple(kept))

    def with_transport_of(self, tagged: Section, session: Sequence[str]) -> Section:
        """The section with what it lacks of its bundle's transport. It may leave that to the section which its group names first
        (RFC 9429 §5.2.1)."""
        missing = [name for name in _TRANSPORT if not self.values(name) and not any(line.startswith(name) for line in session)]
        more = [line for name in missing for line in tagged.values(name)]
        if not self.values(_CANDIDATE) and self.values("a=ice-ufrag:") in ((), tagged.values("a=ice-ufrag:")):
            more += tagged.values(_CANDIDATE)
        return Section(self.kind, self.port, self.protocol, self.formats, (*self.lines, *more))

    def with_direction(self, default: str) -> Section:
        """The section with its direction written: a missing one is the session's (RFC 8866 §6.7). aiortc does not know that."""
        if self.kind == "application" or any(map(_DIRECTION.match, self.lines)):
            return self
        return Section(self.kind, self.port, self.protocol, self.formats, (*self.lines, default))

    def written(self) -> Iterator[str]:
        """Its lines."""
        yield f"m={self.kind} {self.port} {self.protocol} {' '.join(self.formats)}"
        yield from self.lines

    def refused(self) -> Iterator[str]:
        """The lines of an answer that refuses it."""
        yield f"m={self.kind} 0 {self.protocol} {' '.join(self.formats)}"
        yield "c=IN IP4 0.0.0.0"
        if self.mid:
            yield f"a=mid:{self.mid}"
        yield "a=inactive"


@dataclass(frozen=True, slots=True)
class OfferedSections:
    """An offer, cut into its session's lines and its sections."""

    session: tuple[str, ...]
    sections: tuple[Section, ...]

    @property
    def direction(self) -> str:
        """The direction of sections that have none, as a line."""
        return next((line.strip() for line in self.session if _DIRECTION.match(line)), "a=sendrecv")

    @property
    def bundles(self) -> list[list[str]]:
        """The names of the sections that share a transport, group by group."""
        return [line.split()[1:] for line in self.session if line.split()[:1] == [_BUNDLE]]

    def served(self) -> list[int]:
        """The places of the sections that are served. Raises MediaError if none is audio with Opus."""
        audio = [place for place, section in enumerate(self.sections) if section.kind == "audio" and section.is_offered]
        if not audio:
            found = _listed([section.kind for section in self.sections]) or "nothing"
            raise MediaError(f"the offer has no audio (it offers {found}); expected one m=audio section: add a microphone track")
        opus = [place for place in audio if self.sections[place].opus_types]
        if not opus:
            codecs = _listed([name for place in audio for name in self.sections[place].codecs.values()]) or "no codec"
            raise MediaError(f"the offer has no Opus (it offers {codecs}); expected opus/48000")
        both = [place for place in opus if "a=sendrecv" in self.sections[place].with_direction(self.direction).lines]
        data = [place for place, section in enumerate(self.sections) if section.carries_data]
        return sorted([*(both or opus)[:1], *data[:1]])

    def only(self, places: Sequence[int], *, opus_alone: bool = True) -> str:
        """The offer with these sections alone, and without other codecs if `opus_alone`."""
        kept = [self._complete(self.sections[place], opus_alone) for place in places]
        session = [line for line in self.session if line.split()[:1] != [_BUNDLE]]
        groups = self._groups([section.mid for section in kept])
        return _joined([*session, *groups[:1], *(line for section in kept for line in section.written())])

    def answered(self, places: Sequence[int], answer: str) -> str:
        """The answer to the whole offer, from the answer to those sections alone."""
        session, parts = _cut(answer)
        accepted = dict(zip(places, parts, strict=True))
        lines = [line for line in session if not line.startswith(_BUNDLE)]
        lines += self._groups([self.sections[place].mid for place in places])
        for place, section in enumerate(self.sections):
            if place in accepted:
                head, *rest = accepted[place]
                media, port, _, formats = head.split(" ", 3)
                lines += [f"{media} {port} {section.protocol} {formats}", *rest]
            else:
                lines += section.refused()
        return _joined(lines)

    def _complete(self, section: Section, opus_alone: bool) -> Section:
        group = next((mids for mids in self.bundles if section.mid in mids), [])
        tagged = next((other for other in self.sections if other.mid and other.mid in group[:1]), section)
        whole = section.with_direction(self.direction).with_transport_of(tagged, self.session)
        return whole.with_opus_alone() if opus_alone and section.kind == "audio" else whole

    def _groups(self, mids: Sequence[str]) -> list[str]:
        left = [[mid for mid in group if mid in mids] for group in self.bundles]
        return [f"{_BUNDLE} {' '.join(group)}" for group in left if group]


def read_sections(text: str) -> OfferedSections:
    """Cut an offer. Raises MediaError for a section that cannot be read, too many of them, or names that do not fit."""
    session, parts = _cut(text)
    if len(parts) > MAX_SECTIONS:
        raise MediaError(f"the offer has {len(parts)} media sections; expected at most {MAX_SECTIONS}")
    sections = []
    for head, *rest in parts:
        match = _MEDIA.match(head)
        if match is None:
            raise MediaError(f"the SDP is malformed ({head.strip()[:40]!r}); expected m=<media> <port> <protocol> <formats>")
        sections.append(
            Section(match["kind"], int(match["port"]), match["protocol"], tuple(match["formats"].split()), tuple(rest))
        )
    offer = OfferedSections(tuple(session), tuple(sections))
    mids = [section.mid for section in sections if section.mid]
    if len(set(mids)) != len(mids):
        raise MediaError(f"the offer's sections are named {_listed(mids)}; expected a different a=mid for each")
    unknown = [mid for group in offer.bundles for mid in group if mid not in mids]
    if unknown:
        raise MediaError(f"the offer bundles {_listed(unknown)}, which it does not hold; expected only its own a=mid names")
    return offer


def _cut(text: str) -> tuple[list[str], list[list[str]]]:
    """The lines before the first section, and those of each section."""
    session: list[str] = []
    parts: list[list[str]] = []
    for line in text.strip().splitlines():
        if line.startswith("m="):
            parts.append([line])
        else:
            (parts[-1] if parts else session).append(line)
    return session, parts


def _listed(names: Sequence[str]) -> str:
    return ", ".join(name[:20] for name in names[:20])


def _joined(lines: Sequence[str]) -> str:
    return "\r\n".join(lines) + "\r\n"
