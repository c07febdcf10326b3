"""Forms that bring an offer: what is read of them, and that no bytes do harm."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.server.http.offer import MAX_PARTS, form_fields
from voiceagent.server.http.problems import Problem

TYPE = 'multipart/form-data; boundary="b"'


def part(name: str, content: str, *headers: str) -> str:
    return "\r\n".join(["--b", f'Content-Disposition: form-data; name="{name}"', *headers, "", content, ""])


def test_a_form_has_its_fields() -> None:
    body = part("sdp", "v=0\r\no=é\r\n", "Content-Type: application/sdp; charset=UTF-8") + part("session", "{}") + "--b--\r\n"
    assert form_fields(body.encode(), TYPE) == {"sdp": "v=0\r\no=é\r\n", "session": "{}"}


def test_what_stands_before_and_behind_a_form_is_left_out() -> None:
    body = "before\r\n" + part("sdp", "v=0") + "--b--\r\nbehind"
    assert form_fields(body.encode(), TYPE) == {"sdp": "v=0"}


def test_a_part_with_a_file_name_is_a_field_as_well() -> None:
    body = '--b\r\ncontent-disposition: form-data; name="sdp"; filename="a.sdp"\r\n\r\nv=0\r\n--b--'
    assert form_fields(body.encode(), TYPE) == {"sdp": "v=0"}


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        ("", TYPE, 400),
        (part("sdp", "v=0"), TYPE, 400),
        (part("sdp", "v=0") * (MAX_PARTS + 1) + "--b--", TYPE, 400),
        (part("sdp", "v=0") + "--b--", "multipart/form-data", 400),
        (part("sdp", "v=0") + "--b--", f"multipart/form-data; boundary={'b' * 71}", 400),
        ("--b\r\nContent-Type: text/plain\r\n\r\nv=0\r\n--b--", TYPE, 400),
        ("--b\r\nv=0\r\n--b--", TYPE, 400),
        (part("sdp", "v=0", f"X: {'y' * 3000}") + "--b--", TYPE, 400),
        (part("sdp", "v=0", "Content-Type: text/plain; charset=utf-16") + "--b--", TYPE, 400),
        (part("sdp", "v=0", "Content-Transfer-Encoding: base64") + "--b--", TYPE, 415),
        (part("sdp", "v=0", "Content-Encoding: gzip") + "--b--", TYPE, 415),
    ],
)
def test_a_form_that_cannot_be_used_is_one_clear_line(body: str, content_type: str, status: int) -> None:
    with pytest.raises(Problem) as refused:
        form_fields(body.encode(), content_type)
    assert refused.value.status == status
    assert "\n" not in str(refused.value)


def test_as_many_parts_as_are_allowed_are_read() -> None:
    body = "".join(part(f"field{number}", "x") for number in range(MAX_PARTS)) + "--b--"
    assert len(form_fields(body.encode(), TYPE)) == MAX_PARTS


@given(st.binary(max_size=2000), st.text(max_size=200))
def test_any_bytes_are_a_form_or_are_refused(body: bytes, content_type: str) -> None:
    with suppress(Problem):
        form_fields(body, f"multipart/form-data; boundary=b; {content_type}")


@given(
    st.lists(
        st.sampled_from(
            [b"--b", b"--b--", b"\r\n", b"\r\n\r\n", b'Content-Disposition: form-data; name="sdp"', b"=?", b'"', b"\0", b"\xff"]
        )
    )
)
def test_any_pieces_of_a_form_are_a_form_or_are_refused(pieces: list[bytes]) -> None:
    with suppress(Problem):
        form_fields(b"".join(pieces), TYPE)
