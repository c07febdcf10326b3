"""Marks in phrases and tools' results."""

from __future__ import annotations

from voiceagent.text_normalization.marks import marked, unmarked


def test_marks_are_taken_out_and_what_they_mark_is_known() -> None:
    text = '{"order": "<verbatim>AB-48271</verbatim>", "to": "<verbatim> jo@example.com </verbatim>"}'
    assert unmarked(text) == '{"order": "AB-48271", "to": "jo@example.com"}'
    assert marked(text) == ("AB-48271", "jo@example.com")


def test_what_is_no_mark_stays() -> None:
    text = "<verbatim></verbatim> <verbatim>" + "x" * 65 + "</verbatim> <b>"
    assert unmarked(text) == text
    assert marked(text) == ()
