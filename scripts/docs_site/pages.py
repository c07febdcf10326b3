"""The pages of the site, gathered from the repository: README, docs/, and every file that they link to. What a reader of the
repository would open, a reader of the site finds as a page of its own, under `source/`. The reference of the Python modules is
one page a module that docs/api.md lists; mkdocstrings fills it from the docstrings."""

from __future__ import annotations

import ast
import os
import posixpath
import re
from pathlib import Path

from scripts.docs_site.markdown import code_page, with_links, with_wide_lists

ROOT = Path(__file__).resolve().parents[2]
PLACES = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
LANGUAGES = {".py": "python", ".yaml": "yaml", ".yml": "yaml", ".html": "html", ".json": "json", ".toml": "toml", ".sh": "sh"}
PICTURES = {".png", ".webp", ".gif", ".svg", ".mp4"}
LARGEST_BYTES = 100_000
"""A file that is shown within the page of its folder."""


class LinkError(Exception):
    """A link that leads nowhere."""


def public_modules(root: Path = ROOT) -> dict[str, dict[str, str]]:
    """The modules of docs/api.md, each with its public names and what the page says of them."""
    page = (root / "docs" / "api.md").read_text(encoding="utf-8")
    found: dict[str, dict[str, str]] = {}
    for module, names, meaning in re.findall(
        r"^\| `(voiceagent\.[\w.]+)` \| ((?:`\w+`(?:, )?)+) \| ([^|]+) \|$", page, re.MULTILINE
    ):
        found.setdefault(module, {}).update(dict.fromkeys(re.findall(r"`(\w+)`", names), meaning))
    return found


def gathered(root: Path = ROOT) -> dict[str, str | Path]:
    """Each page of the site, by its path there: its text, or the file that is copied."""
    found: dict[str, str | Path] = {}
    waiting = [root / "README.md", root / "CHANGELOG.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]
    seen: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        if path.suffix in PICTURES:
            found[place(path, root)] = path
            continue
        links: set[Path] = set()
        found[place(path, root)] = _page(path, root, links)
        waiting.extend(links - seen)
    for module, names in public_modules(root).items():
        found[f"reference/{module}.md"] = _reference(module, names, root)
    return found


def place(path: Path, root: Path = ROOT) -> str:
    """The path in the site of a file or folder of the repository."""
    inside = path.relative_to(root).as_posix()
    if inside in PLACES:
        return PLACES[inside]
    if inside.startswith("docs/"):
        return inside.removeprefix("docs/")
    if path.is_dir():
        return f"source/{inside}/index.md"
    if path.name == "README.md":
        return f"source/{posixpath.dirname(inside)}/index.md"
    return f"source/{inside}" if path.suffix in {".md", *PICTURES} else f"source/{inside}.md"


def _page(path: Path, root: Path, links: set[Path]) -> str:
    if path.name == "README.md" and path.parent != root:
        path = path.parent
    if path.is_dir():
        return _folder(path, root, links)
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".md":
        title = path.relative_to(root).as_posix()
        return code_page(title, [(title, LANGUAGES.get(path.suffix, ""), text)])
    return _moved(text, path, place(path, root), root, links)


def _folder(path: Path, root: Path, links: set[Path]) -> str:
    here = place(path, root)
    inside = path.relative_to(root).as_posix()
    readme = path / "README.md"
    before = f"# {inside}\n"
    if readme.exists():
        before = _moved(readme.read_text(encoding="utf-8"), readme, here, root, links) + "\n"
    is_example = path.is_relative_to(root / "examples")
    files = [file for file in sorted(path.rglob("*")) if is_example and _shown(file)]
    own = [file for file in files if not _page_of_its_own(file, path)]
    folders = sorted({file.relative_to(path).parts[0] for file in files if _page_of_its_own(file, path)})
    links.update(path / name for name in folders)
    lists = "".join(f"- [{name}]({name}/index.md){_about(path / name)}\n" for name in folders)
    texts = [
        (file.relative_to(path).as_posix(), LANGUAGES.get(file.suffix, ""), file.read_text(encoding="utf-8")) for file in own
    ]
    return code_page(inside, texts, f"{before}\n{lists}") if texts else f"{before}\n{lists}"


def _shown(file: Path) -> bool:
    return file.suffix in {*LANGUAGES, ".md", ".txt"} and file.name != "README.md" and file.stat().st_size < LARGEST_BYTES


def _page_of_its_own(file: Path, folder: Path) -> bool:
    """Examples are shown one a page, other folders whole."""
    return folder.name == "examples" and file.parent != folder


def _about(folder: Path) -> str:
    """What the first comment of an example's agent says of it."""
    agent = folder / "agent.yaml"
    lines = agent.read_text(encoding="utf-8").splitlines() if agent.exists() else []
    comment = []
    for line in lines:
        if not line.startswith("#"):
            break
        comment.append(line.lstrip("# "))
    first = re.split(r"(?<=[.:]) ", " ".join(comment))[0].rstrip(".:")
    return f": {first}" if first else ""


def _moved(text: str, path: Path, here: str, root: Path, links: set[Path]) -> str:
    """A page's text, its links leading to the pages of the site."""

    def moved(target: str) -> str:
        if re.match(r"[a-z]+:", target) or target.startswith("#"):
            return target
        name, mark, anchor = target.partition("#")
        linked = Path(os.path.normpath(path.parent / name))
        if not linked.exists() or not linked.is_relative_to(root):
            raise LinkError(f"{path.relative_to(root)}: {target} leads nowhere")
        links.add(linked)
        return posixpath.relpath(place(linked, root), posixpath.dirname(here) or ".") + mark + anchor

    return with_wide_lists(with_links(text, moved))


def _reference(module: str, names: dict[str, str], root: Path) -> str:
    parts = [f"# {module}\n"]
    meanings = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", meaning) for meaning in dict.fromkeys(names.values()))
    parts.append("\n".join(f"- {meaning}" for meaning in meanings) + "\n")
    parts.extend(f"::: {_defined_in(module, name, root)}.{name}\n" for name in names)
    return "\n".join(parts)


def _defined_in(module: str, name: str, root: Path) -> str:
    """The module that a package takes a name from: a module of the package may have the same name."""
    package = root / module.replace(".", "/") / "__init__.py"
    for node in ast.parse(package.read_text(encoding="utf-8")).body if package.exists() else ():
        if isinstance(node, ast.ImportFrom) and node.module and name in {alias.name for alias in node.names}:
            return node.module
    return module
