"""Checks of this machine, and advice for what does not work. Each check looks at one thing that the server needs, and reports it
in one line. The last one of the agent starts it as `serve` does, so that both refuse the same."""

from __future__ import annotations

from collections.abc import Iterator

from voiceagent.doctor.agent import AGENT
from voiceagent.doctor.finding import Check, Finding, Served, Settings
from voiceagent.doctor.machine import PLACES, PROGRAMS
from voiceagent.errors import VoiceAgentError
from voiceagent.redaction import redacted

CHECKS = (*PROGRAMS, *AGENT, *PLACES)
"""The checks in the order in which they are reported."""


def examine(settings: Settings) -> Iterator[Finding]:
    """Run every check in turn; none raises. A mistake is reported once: checks that depend on a failed one are left out."""
    served = Served(settings)
    failed: set[str] = set()
    told: set[str] = set()
    for check in CHECKS:
        if failed.intersection(check.needs):
            failed.add(check.name)
            continue
        for finding in _findings(check, served):
            if finding.status == "fail":
                failed.add(check.name)
            if finding.status == "ok" or finding.detail not in told:
                yield finding
            told.add(finding.detail)


def _findings(check: Check, served: Served) -> Iterator[Finding]:
    try:
        for status, detail, advice in check.run(served):
            yield Finding(check.name, status, redacted(detail), redacted(advice))
    except VoiceAgentError as error:
        # Such a message ends with what to do.
        yield Finding(check.name, "fail", redacted(" ".join(str(error).split())))
    except (OSError, ImportError, ValueError) as error:
        detail = redacted(f"{type(error).__name__}: {' '.join(str(error).split())}")
        yield Finding(check.name, "fail", detail, "install voiceagent again (in a checkout: make clean setup)")
