"""A folder's index: what is cut, found, read again."""

from __future__ import annotations

import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voiceagent.context.index import (
    FORMAT,
    LOCKED_TIMEOUT_S,
    MAX_DOCUMENT_BYTES,
    MAX_TERMS,
    PIECE_WORDS,
    FolderIndex,
    pieces,
    terms,
)
from voiceagent.errors import ConfigError

HOTEL = """# Hotel Aurora

The house has 40 rooms.

## Breakfast

Breakfast is served from seven to ten in the winter garden.

## Parking

The garage costs 12 euros a night. Bicycles stand in the cellar.
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    (folder / "more").mkdir(parents=True)
    (folder / "hotel.md").write_text(HOTEL)
    (folder / "more" / "spa.html").write_text(
        "<html><head><title>Spa</title><style>.x{}</style></head><body><h2>Sauna</h2><p>The sauna is <b>hot</b> at "
        "noon.</p><script>var sauna = 1</script></body></html>"
    )
    (folder / "notes.txt").write_text("Dogs are welcome.\n\nCats are not.")
    (folder / "picture.png").write_bytes(b"\x89PNG breakfast")
    (folder / ".hidden.md").write_text("breakfast secrets")
    return folder


def index(folder: Path, locked_timeout_s: float = LOCKED_TIMEOUT_S) -> FolderIndex:
    return FolderIndex(folder, folder.parent / "data" / "index.sqlite", locked_timeout_s=locked_timeout_s)


def test_a_question_finds_its_piece_by_stem_and_heading(folder: Path) -> None:
    found = index(folder)
    assert found.refresh().documents == 3
    (first, *_) = found.search("Is bicycle parking possible?", 3)
    assert first.source == "hotel.md: Parking"
    assert "cellar" in first.text
    assert [chunk.source for chunk in found.search("How hot is your sauna?", 3)] == ["more/spa.html: Sauna"]
    assert found.search("How hot is your sauna?", 3)[0].text == "The sauna is hot at noon."
    assert [chunk.source for chunk in found.search("dogs", 3)] == ["notes.txt"]


def test_what_every_sentence_has_finds_nothing(folder: Path) -> None:
    found = index(folder)
    found.refresh()
    assert found.search("Hello, how are you? Thank you, what is it?", 3) == []


@settings(max_examples=150, deadline=None)
@given(
    text=st.text(max_size=80) | st.sampled_from(['"', "NEAR(a b)", "title:x", "a* OR", "^b", "- -", "AND AND", "x'; DROP TABLE"])
)
def test_no_text_is_read_as_syntax(odd_index: FolderIndex, text: str) -> None:
    assert len(odd_index.search(text, 3)) <= 3


@pytest.fixture(scope="module")
def odd_index(tmp_path_factory: pytest.TempPathFactory) -> FolderIndex:
    folder = tmp_path_factory.mktemp("odd")
    (folder / "a.txt").write_text("a near and or not title drop table")
    found = FolderIndex(folder, folder / "index.sqlite")
    found.refresh()
    return found


def test_an_index_of_another_format_is_made_anew(folder: Path) -> None:
    index(folder).close()
    with closing(sqlite3.connect(folder.parent / "data" / "index.sqlite")) as database:
        database.execute(f"PRAGMA user_version = {FORMAT + 1}")
    assert index(folder).refresh().read == 3


@pytest.mark.parametrize("again", range(20))
def test_servers_that_make_an_index_at_once_share_it(folder: Path, again: int) -> None:
    """Each of twenty times, because some went wrong. None deletes the file that another has open."""
    with ThreadPoolExecutor(4) as servers:
        made = list(servers.map(lambda _: index(folder), range(4)))
    made[0].refresh()
    assert [one.search("dogs", 1)[0].source for one in made] == ["notes.txt"] * 4, again


def test_an_index_that_another_program_holds_is_left_alone(folder: Path) -> None:
    first = index(folder)
    first.refresh()
    first.close()
    file = folder.parent / "data" / "index.sqlite"
    kept = file.stat().st_ino
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(ConfigError, match="cannot be kept there \\(database is locked\\)"):
            index(folder, locked_timeout_s=0.05)
        other.execute("ROLLBACK")
    assert file.stat().st_ino == kept


def test_only_what_changed_is_read_again(folder: Path) -> None:
    first = index(folder)
    assert first.refresh().read == 3
    first.close()
    again = index(folder)
    assert again.refresh().read == 0
    (folder / "hotel.md").write_text(HOTEL.replace("winter garden", "ballroom"))
    (folder / "notes.txt").unlink()
    looked = again.refresh()
    assert (looked.read, looked.gone, looked.documents) == (1, 1, 2)
    assert "ballroom" in again.search("breakfast", 1)[0].text
    assert again.search("dogs", 3) == []
    os.utime(folder / "hotel.md")
    assert again.refresh().read == 0, "the same text is not indexed again"


def test_a_file_that_is_no_index_is_made_anew(folder: Path) -> None:
    file = folder.parent / "data" / "index.sqlite"
    file.parent.mkdir()
    file.write_bytes(b"no database at all" * 100)
    found = FolderIndex(folder, file)
    found.refresh()
    assert found.search("breakfast", 1)


def test_a_folder_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such folder"):
        FolderIndex(tmp_path / "nowhere", tmp_path / "index.sqlite")


def test_links_out_of_the_folder_and_huge_documents_are_left_out(folder: Path) -> None:
    outside = folder.parent / "outside.md"
    outside.write_text("breakfast elsewhere")
    (folder / "link.md").symlink_to(outside)
    (folder / "huge.txt").write_text("huge " * (MAX_DOCUMENT_BYTES // 4))
    assert index(folder).refresh().documents == 3


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from(["# Head", "word " * 7, "Sentence. " * 40, "x" * 50, "", "```", "- item"]), max_size=40))
def test_no_piece_is_much_longer_than_it_should_be_and_no_word_is_lost(lines: list[str]) -> None:
    text = "\n\n".join(lines)
    found = pieces(text, ".txt")
    assert all(len(piece.text.split()) <= 2 * PIECE_WORDS for piece in found)
    assert " ".join(piece.text for piece in found).split() == text.split()


def test_the_last_telling_words_count() -> None:
    assert terms("What time is the Breakfast, the breakfast, in room 7?") == ("time", "breakfast", "room", "7")
    assert len(terms(" ".join(f"word{n}" for n in range(100)))) == MAX_TERMS
