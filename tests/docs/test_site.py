"""The documentation site: each page has its place, GitHub's Markdown is read as it was meant, and links lead somewhere. `make
test-docs` builds the site and opens it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from scripts.docs_site import check, llms, settings
from scripts.docs_site.markdown import first_sentence, title_of, with_links, with_wide_lists
from scripts.docs_site.pages import LinkError, gathered, public_modules

ROOT = Path(__file__).resolve().parents[2]


def test_every_page_has_a_place_in_the_navigation() -> None:
    pages = [page for _, found in settings.sections(settings.project()["nav"]) for page in found]
    written = {file.relative_to(ROOT / "docs").as_posix() for file in (ROOT / "docs").rglob("*.md")}
    assert written - set(pages) == set(), "zensical.toml does not have it: add it to `nav`"
    assert len(pages) == len(set(pages))
    assert set(pages) <= set(gathered())


def test_the_reference_has_a_page_for_each_public_module() -> None:
    pages = gathered()
    assert len(public_modules()) > 10
    for module, names in public_modules().items():
        page = pages[f"reference/{module}.md"]
        assert isinstance(page, str)
        assert [line.rpartition(".")[2] for line in page.splitlines() if line.startswith("::: ")] == list(names)
    assert "::: voiceagent.tools.tool\n" not in str(pages["reference/voiceagent.tools.md"])  # there is a module of this name


def test_the_index_for_programs_says_what_each_page_is_about() -> None:
    texts = {name: page for name, page in gathered().items() if isinstance(page, str)}
    text = llms.index(settings.project(), texts)
    assert text.startswith("# voiceagent\n\n> A self-hosted")
    assert "- [Values](values.md): A telephone number," in text
    assert not [line for line in text.splitlines() if line.startswith("- [") and line.endswith(": ")]
    assert "<!-- guard.md -->\n\n# Guardrails" in llms.whole(settings.project(), texts)


def test_the_settings_of_the_build_are_read_from_its_folder() -> None:
    project = tomllib.loads(settings.for_build())["project"]
    assert (project["docs_dir"], project["site_dir"]) == ("site-pages", "site")
    assert (ROOT / "build" / project["plugins"]["mkdocstrings"]["handlers"]["python"]["paths"][0]).resolve() == ROOT


@pytest.mark.parametrize(
    ("github", "site"),
    [
        ("Text:\n- one\n- two\n", "Text:\n\n- one\n- two\n"),
        ("- one\n  more\n\n  later\n- two", "- one\n    more\n\n    later\n\n- two"),
        ("1. one\n\n   ```sh\n   ls\n     x\n   ```\n2. two", "1. one\n\n    ```sh\n    ls\n      x\n    ```\n\n2. two"),
        ("- one\n  - inner\n    text\n- two", "- one\n    - inner\n        text\n- two"),
        ("```\n- code\n  - stays\n```\nText", "```\n- code\n  - stays\n```\nText"),
    ],
)
def test_lists_of_github_are_lists_of_the_site(github: str, site: str) -> None:
    assert with_wide_lists(github) == site


def test_links_are_moved_but_not_those_in_code() -> None:
    text = "see [the\npage](v.md) and [a](x.md) `[b](y.md)` ![c](z.png)\n```\n[d](w.md)\n```"
    assert with_links(text, lambda target: f"/{target}") == (
        "see [the\npage](/v.md) and [a](/x.md) `[b](y.md)` ![c](/z.png)\n```\n[d](w.md)\n```"
    )


def test_the_first_sentence_has_no_marks() -> None:
    assert first_sentence("# T\n\nSee [the page](x.md) for it. More.\n") == "See the page for it."
    assert first_sentence("# T\n\n- one thing\n\n::: x.y\n") == "one thing"
    assert title_of("```\n# no\n```\n# Yes\n") == "Yes"


def repository(folder: Path, **files: str) -> Path:
    for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/api.md"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(f"# {name}\n")
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_a_file_that_is_linked_becomes_a_page(tmp_path: Path) -> None:
    files = {
        "docs/a.md": "[x](../deploy/x.sh) [e](../examples) [r](../README.md#top)",
        "deploy/x.sh": "echo hello\n",
        "examples/desk/agent.yaml": "# A desk: it answers.\nname: Desk\n",
        "examples/desk/README.md": "# Desk\n\n[the page](../../docs/a.md)\n",
    }
    pages = gathered(repository(tmp_path, **files))
    assert pages["a.md"] == "[x](source/deploy/x.sh.md) [e](source/examples/index.md) [r](index.md#top)"
    assert pages["source/deploy/x.sh.md"] == "# deploy/x.sh\n\n~~~sh\necho hello\n~~~\n"
    assert "- [desk](desk/index.md): A desk" in str(pages["source/examples/index.md"])
    desk = str(pages["source/examples/desk/index.md"])
    assert "[the page](../../../a.md)" in desk
    assert "~~~yaml\n# A desk: it answers.\nname: Desk\n~~~" in desk


def test_a_link_that_leads_nowhere_is_named(tmp_path: Path) -> None:
    with pytest.raises(LinkError, match=r"docs/a\.md: \.\./gone\.md leads nowhere"):
        gathered(repository(tmp_path, **{"docs/a.md": "[x](../gone.md)"}))


def test_the_check_finds_lost_pages_lost_headings_and_what_comes_from_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="top"></h1><a href="b.html#there">1</a><a href="b.html#gone">2</a><a href="gone.html">3</a><a href="#top">4</a>'
        '<a href="/b.html">5</a><a href="https://example.org">6</a><script src="https://example.org/x.js"></script>'
    )
    (tmp_path / "b.html").write_text('<h2 id="there"></h2><link rel="canonical" href="https://example.org/b">')
    assert check.mistakes(tmp_path) == [
        "a.html: loads https://example.org/x.js",
        "a.html: b.html#gone leads to no heading",
        "a.html: gone.html leads nowhere",
    ]
