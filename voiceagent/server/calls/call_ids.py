"""The ids of calls and of what opens or resumes one: resume tokens, client secrets, tickets of telephone vendors. In a server of
several workers (`voiceagent serve --workers`), each holds the number of the worker that made it, as four hexadecimal digits, so
that the process in front finds that worker. Their shapes and lengths are the same without workers; then all of it is random."""

from __future__ import annotations

import re
import secrets

CALL_PREFIX, RESUME_PREFIX, SECRET_PREFIX = "rtc_", "rs_", "ek_"
CALL_CHARACTERS = 24
WORKER_CHARACTERS = 4
MAX_WORKER = 0xFFFF
RESUME_SHAPE = re.compile(rf"{RESUME_PREFIX}[0-9a-f]{{{CALL_CHARACTERS}}}[A-Za-z0-9_-]{{43}}")
"""The call, and 256 random bits, of which the server keeps only the hash."""
SECRET_SHAPE = re.compile(rf"{SECRET_PREFIX}[A-Za-z0-9_-]{{43}}")
_MARKED = re.compile(rf"(?:{CALL_PREFIX}|{RESUME_PREFIX}|{SECRET_PREFIX}|chatcmpl-|whep_|)([0-9a-f]{{{WORKER_CHARACTERS}}})")


class ThisWorker:
    """The number of this process among the workers of its server, 1 to 65535; 0 where there are none."""

    number = 0

    @classmethod
    def become(cls, number: int) -> None:
        """Take a number, before the first call. Raises ValueError for one that cannot be."""
        if not 0 <= number <= MAX_WORKER:
            raise ValueError(f"worker {number} cannot be, expected a number from 1 to {MAX_WORKER}")
        cls.number = number


def new_call_id() -> str:
    """The id of a new call."""
    return f"{CALL_PREFIX}{marked(secrets.token_hex(CALL_CHARACTERS // 2))}"


def new_resume_token(call_id: str) -> str:
    """A token that resumes a call: it holds the call's id."""
    return f"{RESUME_PREFIX}{call_id.removeprefix(CALL_PREFIX)}{secrets.token_urlsafe(32)}"


def call_of_token(token: str) -> str:
    """The id of the call that a resume token is for."""
    return f"{CALL_PREFIX}{token[len(RESUME_PREFIX) :][:CALL_CHARACTERS]}"


def marked(text: str) -> str:
    """Random text in which the number of this worker takes the place of the first four characters. Without workers it stays as
    it is."""
    return f"{ThisWorker.number:0{WORKER_CHARACTERS}x}{text[WORKER_CHARACTERS:]}" if ThisWorker.number else text


def worker_of(text: str) -> int:
    """The number of the worker that made an id, a token, a secret or a ticket; 0 for what names none. Without workers it says
    nothing."""
    found = _MARKED.match(text)
    return int(found[1], 16) if found else 0
