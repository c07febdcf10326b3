"""A folder's documents in a full-text index: SQLite's FTS5 with Porter stems, ranked by BM25 (https://sqlite.org/fts5.html).
The index is a file that is kept between starts; only documents that changed are read again. Markdown, plain text and HTML are
cut at the borders of headings and paragraphs into pieces of about 120 words, so that a few of them fit into a prompt and each
can be understood alone."""

from __future__ import annotations

import hashlib
import logging
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

from voiceagent.conversation.history import Chunk
from voiceagent.data_files import is_locked, open_patiently, private_file
from voiceagent.errors import ConfigError, VoiceAgentError

log = logging.getLogger(__name__)

# --- documents --------------------------------------------------------------------------------------------------------

SUFFIXES = (".md", ".markdown", ".txt", ".html", ".htm")
PIECE_WORDS = 120
MIN_PIECE_WORDS = 30
"""A piece with fewer words takes in the next paragraph, even if that makes it too long."""
MAX_TITLE_CHARACTERS = 120

_HEADING = re.compile(r"#{1,6}\s+(.+?)\s*#*\s*")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_BLOCK_TAGS = """
address article aside blockquote br dd div dl dt figcaption footer form header hr li main nav ol p pre section table td th tr ul
"""
_BLOCKS = frozenset(_BLOCK_TAGS.split())
_HEADINGS = frozenset(("title", "h1", "h2", "h3", "h4", "h5", "h6"))
_UNREADABLE = frozenset(("script", "style", "template", "noscript", "svg"))


@dataclass(frozen=True, slots=True)
class DocumentPiece:
    """A part of a document."""

    title: str
    """The heading that it stands under; empty where there is none."""
    text: str


Paragraph = tuple[str, str]
"""The heading above, and the text."""


def pieces(text: str, suffix: str) -> list[DocumentPiece]:
    """A document's pieces; `suffix` is the suffix of its file, in lower case."""
    paragraphs = _html(text) if suffix in (".html", ".htm") else _markdown(text) if suffix != ".txt" else _plain(text)
    return list(_joined(part for title, text in paragraphs for part in _short(title, text)))


def _plain(text: str) -> Iterator[Paragraph]:
    for paragraph in re.split(r"\n\s*\n", text):
        yield "", paragraph


def _markdown(text: str) -> Iterator[Paragraph]:
    title, lines, fenced = "", list[str](), False
    for line in [*text.splitlines(), ""]:
        fenced ^= line.lstrip().startswith("```")
        heading = None if fenced else _HEADING.fullmatch(line)
        if line.strip() and heading is None:
            lines.append(line)
            continue
        if lines:
            yield title, "\n".join(lines)
            lines = []
        if heading is not None:
            title = heading[1][:MAX_TITLE_CHARACTERS]
    if lines:
        yield title, "\n".join(lines)


def _html(text: str) -> Iterator[Paragraph]:
    reader = _Html()
    reader.feed(text)
    reader.close()
    reader.end_block()
    return iter(reader.paragraphs)


class _Html(HTMLParser):
    """Collects the paragraphs of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.paragraphs: list[Paragraph] = []
        self._title = ""
        self._in_heading = False
        self._unreadable = 0
        self._text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _UNREADABLE:
            self._unreadable += 1
        elif tag in _BLOCKS or tag in _HEADINGS:
            self.end_block()
            self._in_heading = tag in _HEADINGS

    def handle_endtag(self, tag: str) -> None:
        if tag in _UNREADABLE:
            self._unreadable = max(0, self._unreadable - 1)
        elif tag in _BLOCKS or tag in _HEADINGS:
            self.end_block()

    def handle_data(self, data: str) -> None:
        if not self._unreadable:
            self._text.append(data)

    def end_block(self) -> None:
        """The collected text is a heading or a paragraph."""
        text = " ".join("".join(self._text).split())
        self._text = []
        if text and self._in_heading:
            self._title = text[:MAX_TITLE_CHARACTERS]
        elif text:
            self.paragraphs.append((self._title, text))
        self._in_heading = False


def _short(title: str, text: str) -> Iterator[Paragraph]:
    """A paragraph in parts that are not too long. It is cut at the ends of sentences, or between words where it must be."""
    words = list[str]()
    for sentence in _SENTENCE.split(text):
        more = sentence.split()
        if words and len(words) + len(more) > PIECE_WORDS:
            yield title, " ".join(words)
            words = []
        words += more
        while len(words) > PIECE_WORDS:
            yield title, " ".join(words[:PIECE_WORDS])
            words = words[PIECE_WORDS:]
    if words:
        yield title, " ".join(words)


def _joined(paragraphs: Iterator[Paragraph]) -> Iterator[DocumentPiece]:
    """Joins short neighbours under one heading."""
    title, parts, count = "", list[str](), 0
    for heading, text in paragraphs:
        words = len(text.split())
        if parts and (heading != title or (count + words > PIECE_WORDS and count >= MIN_PIECE_WORDS)):
            yield DocumentPiece(title, "\n".join(parts))
            parts, count = [], 0
        title = heading
        parts.append(text)
        count += words
    if parts:
        yield DocumentPiece(title, "\n".join(parts))


# --- the index --------------------------------------------------------------------------------------------------------

MAX_TERMS = 24
"""Most terms of a query: the last words of a long utterance count."""

_COMMON = """
a about above actually after again all also am an and any anyone anything are as ask at be because been before being but
by bye call can cannot could did do does doing down each else er even ever every for from get give go going good got had
has have having he hear hello help her here hey hi him his hm hmm how i if in into is it its just kindly know let like
ll look m maybe me mean might mm more most much must my need no not now of off oh ok okay on once one only or other our
out over please put re really right s said same say see shall she should so some something sorry still such sure t take
tell than thank thanks that the their them then there these they thing think this those to too uh um until up us ve very
want was we well were what when where which while who whom whose why will with without would yeah yes yet you your yours
"""
_STOP_WORDS = frozenset(_COMMON.split())
_WORD = re.compile(r"\w+")


def terms(text: str) -> tuple[str, ...]:
    """The words of `text` in order, in lower case, without repetitions and without words that every sentence has."""
    words = dict.fromkeys(word.casefold() for word in _WORD.findall(text))
    telling = [word for word in words if word not in _STOP_WORDS and (len(word) > 1 or word.isdigit())]
    return tuple(telling[-MAX_TERMS:])


MAX_DOCUMENTS = 10_000
MAX_DOCUMENT_BYTES = 4 * 1024 * 1024
MAX_PIECES = 200_000
FORMAT = 1
"""Raised when documents are cut or stored in another way: an index of another format is made anew."""
TITLE_WEIGHT = 2.0
"""A word in a heading counts as much as this many in the text."""
WORTH = 0.4
"""Pieces that rank below this share of the best one are left out."""
MAX_CHUNK_CHARACTERS = 2000
LOCKED_TIMEOUT_S = 5.0

_SCHEMA = """
CREATE TABLE IF NOT EXISTS documents (
    path TEXT PRIMARY KEY, mtime_ns INTEGER, bytes INTEGER, sha256 TEXT, first_row INTEGER, rows INTEGER
);
CREATE VIRTUAL TABLE IF NOT EXISTS pieces USING fts5 (
    title, text, path UNINDEXED, tokenize = 'porter unicode61 remove_diacritics 2'
);
"""
_SEARCH = """
SELECT path, title, text, bm25(pieces, ?, 1.0) AS rank FROM pieces WHERE pieces MATCH ? ORDER BY rank, rowid LIMIT ?
"""


class ContextError(VoiceAgentError):
    """A source of context cannot be asked."""


@dataclass(frozen=True, slots=True)
class Indexed:
    """The result of a refresh."""

    documents: int
    """Documents that the index holds now."""
    pieces: int
    read: int
    """Documents that were new or had changed."""
    gone: int


class FolderIndex:
    """The index of one folder. Not for two threads at a time."""

    def __init__(self, folder: Path, file: Path, *, locked_timeout_s: float = LOCKED_TIMEOUT_S) -> None:
        """`file` is where the index is kept; its folder is made when missing. A file that is no index, or one of another format,
        is replaced. Raises ConfigError: no such folder, the file cannot be written, or another program holds it for longer than
        `locked_timeout_s`."""
        if not folder.is_dir():
            raise ConfigError(f"context {folder}: no such folder; paths in `context:` are relative to agent.yaml")
        self.folder = folder
        self._seen: dict[str, tuple[int, int, str]] = {}
        try:
            private_file(file)
            try:
                self._database = open_patiently(lambda: _opened(file, locked_timeout_s), locked_timeout_s)
            except sqlite3.DatabaseError as error:
                if is_locked(error):
                    raise
                log.warning("%s: is not a usable index (%s); it is made anew", file, error)
                file.unlink()
                private_file(file)
                self._database = _opened(file, locked_timeout_s)
        except (OSError, sqlite3.Error) as error:
            raise ConfigError(f"{file}: the index of {folder} cannot be kept there ({error}); set $VOICEAGENT_DATA") from error

    def refresh(self) -> Indexed:
        """Read new and changed documents, and forget deleted ones. Raises ContextError when the index cannot be written."""
        try:
            with self._database:
                return self._refresh()
        except sqlite3.Error as error:
            raise ContextError(f"context {self.folder}: the index cannot be written ({error}); is the disk full?") from error

    def _refresh(self) -> Indexed:
        rows = self._database.execute("SELECT path, mtime_ns, bytes, sha256 FROM documents")
        known = {path: (mtime_ns, size, digest) for path, mtime_ns, size, digest in rows}
        left = MAX_PIECES - self._count("pieces")
        here, read = set[str](), 0
        for path in self._documents():
            name = path.relative_to(self.folder).as_posix()
            try:
                status = path.stat()
                if known.get(name, ())[:2] == (status.st_mtime_ns, status.st_size):
                    here.add(name)
                    continue
                data = path.read_bytes()
            except OSError as error:
                log.warning("context %s: cannot be read (%s), it is left out", path, error.strerror)
                continue
            here.add(name)
            digest = hashlib.sha256(data).hexdigest()
            if known.get(name, ())[2:] == (digest,):
                self._database.execute(
                    "UPDATE documents SET mtime_ns = ?, bytes = ? WHERE path = ?", (status.st_mtime_ns, status.st_size, name)
                )
                continue
            left += self._forget(name)
            found = pieces(data.decode("utf-8", "replace"), path.suffix.lower())
            if len(found) > left:
                log.warning("context %s: is left out, the index holds %d pieces already", path, MAX_PIECES)
                here.discard(name)
                continue
            left -= len(found)
            self._keep(name, (status.st_mtime_ns, status.st_size, digest), found)
            read += 1
        gone = set(known) - here
        for name in gone:
            self._forget(name)
        return Indexed(self._count("documents"), self._count("pieces"), read, len(gone))

    def _documents(self) -> Iterator[Path]:
        """Files that can be read, in order of their names; no hidden files, and no links that lead out of the folder."""
        root, count = self.folder.resolve(), 0
        for path in sorted(self.folder.rglob("*")):
            inside = path.relative_to(self.folder)
            if path.suffix.lower() not in SUFFIXES or any(part.startswith(".") for part in inside.parts) or not path.is_file():
                continue
            if not path.resolve().is_relative_to(root):
                continue
            if path.stat().st_size > MAX_DOCUMENT_BYTES:
                log.warning("context %s: has over %d MiB and is left out; divide it", path, MAX_DOCUMENT_BYTES >> 20)
                continue
            if count == MAX_DOCUMENTS:
                log.warning("context %s: holds over %d documents, the rest is left out", self.folder, MAX_DOCUMENTS)
                return
            count += 1
            yield path

    def _keep(self, name: str, seen: tuple[int, int, str], found: list[DocumentPiece]) -> None:
        (last,) = self._database.execute("SELECT coalesce(max(rowid), 0) FROM pieces").fetchone()
        rows = ((last + 1 + number, piece.title, piece.text, name) for number, piece in enumerate(found))
        self._database.executemany("INSERT INTO pieces (rowid, title, text, path) VALUES (?, ?, ?, ?)", rows)
        self._database.execute("INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?)", (name, *seen, last + 1, len(found)))

    def _forget(self, name: str) -> int:
        """Returns how many pieces it had."""
        row = self._database.execute("SELECT first_row, rows FROM documents WHERE path = ?", (name,)).fetchone()
        if row is None:
            return 0
        first, count = row
        self._database.execute("DELETE FROM pieces WHERE rowid BETWEEN ? AND ?", (first, first + count - 1))
        self._database.execute("DELETE FROM documents WHERE path = ?", (name,))
        return int(count)

    def _count(self, table: str) -> int:
        column = "count(*)" if table == "documents" else "coalesce(sum(rows), 0)"
        (count,) = self._database.execute(f"SELECT {column} FROM documents").fetchone()
        return int(count)

    def search(self, text: str, limit: int) -> list[Chunk]:
        """The pieces that fit `text` best, best first; none if it holds no telling word. Any text will do: nothing in it is read
        as a query's syntax. Raises ContextError when the index cannot be read."""
        wanted = " OR ".join(f'"{term}"' for term in terms(text))
        if not wanted:
            return []
        try:
            rows = self._database.execute(_SEARCH, (TITLE_WEIGHT, wanted, limit)).fetchall()
        except sqlite3.Error as error:
            raise ContextError(f"context {self.folder}: the index cannot be read ({error}); restart to make it anew") from error
        return [
            Chunk(f"{path}: {title}"[:MAX_TITLE_CHARACTERS] if title else path, found[:MAX_CHUNK_CHARACTERS])
            for path, title, found, rank in rows
            if rank <= rows[0][3] * WORTH
        ]

    def titles(self, limit: int) -> list[str]:
        """Headings of the documents, each once."""
        rows = self._database.execute("SELECT DISTINCT title FROM pieces WHERE title <> '' LIMIT ?", (limit,))
        return [title for (title,) in rows]

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def _opened(file: Path, locked_timeout_s: float) -> sqlite3.Connection:
    """The index in the file, made where there is none. Raises sqlite3.DatabaseError for a file that is none."""
    database = sqlite3.connect(file, check_same_thread=False, timeout=locked_timeout_s)
    try:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        with closing(database.execute("PRAGMA user_version")) as cursor:
            (found,) = cursor.fetchone()
        if found not in (0, FORMAT):
            raise sqlite3.DatabaseError(f"it has format {found}, this voiceagent keeps format {FORMAT}")
        if not found:
            with database:
                database.executescript(_SCHEMA + f"PRAGMA user_version = {FORMAT};")
    except sqlite3.Error:
        database.close()
        raise
    return database


def index_file(data_dir: Path, folder: Path) -> Path:
    """The file of a folder's index inside the data folder."""
    whole = str(folder.resolve())
    return data_dir / "context" / f"{folder.resolve().name}-{hashlib.sha256(whole.encode()).hexdigest()[:12]}.sqlite"
