"""`python -m scripts.docs_site` builds build/site; `--serve` shows it on loopback and builds it anew when a page changes."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from scripts.docs_site import check, llms, settings
from scripts.docs_site.markdown import title_of
from scripts.docs_site.pages import ROOT, LinkError, gathered

BUILD = ROOT / "build"
PAGES = BUILD / "site-pages"
SITE = BUILD / "site"
CONFIG = BUILD / "zensical.toml"
ASSETS = {
    "assets/mermaid.js": ROOT / "node_modules" / "@mermaid-js" / "tiny" / "dist" / "mermaid.tiny.js",
    "assets/iframe-worker.js": ROOT / "node_modules" / "iframe-worker" / "shim" / "index.js",
    "assets/site.css": ROOT / "scripts" / "docs_site" / "site.css",
}
NOT_SEARCHED = "---\nsearch: {exclude: true}\n---\n\n"
"""Stands before tables of results, which would hide the pages that explain."""
MERMAID = 'class="mermaid"'


def gather() -> dict[str, str]:
    """Writes the pages and what they need; answers with the texts. A file that has not changed is not written."""
    texts: dict[str, str] = {}
    kept = set(ASSETS)
    for name, page in gathered().items():
        kept.add(name)
        if isinstance(page, Path):
            _write(PAGES / name, page.read_bytes())
        else:
            texts[name] = page
            _write(PAGES / name, ((NOT_SEARCHED if name.startswith("source/bench/") else "") + page).encode())
    for name, source in ASSETS.items():
        _write(PAGES / name, source.read_bytes())
    for file in PAGES.rglob("*"):
        if file.is_file() and file.relative_to(PAGES).as_posix() not in kept:
            file.unlink()
    _write(CONFIG, settings.for_build().encode())
    return texts


def _write(file: Path, content: bytes) -> None:
    if not file.exists() or file.read_bytes() != content:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def build() -> int:
    """Builds the site; 1 where a page or a link is wrong."""
    texts = gather()
    shutil.rmtree(SITE, ignore_errors=True)
    plain = {**os.environ, "NO_COLOR": "1"}
    ended = subprocess.run(_zensical("build", "--strict", "--clean"), capture_output=True, text=True, env=plain, check=False)
    said = ended.stdout + ended.stderr
    if ended.returncode or "arning" in said:
        print(said, file=sys.stderr)
        return 1
    for file in SITE.rglob("*.html"):
        html = file.read_text(encoding="utf-8")
        if MERMAID not in html:  # 2.5 MB that only the pages with a picture need
            file.write_text(_without_mermaid(html), encoding="utf-8")
    found = check.mistakes(SITE)
    for name in texts:
        if name.startswith("reference/"):
            html = (SITE / name).with_suffix(".html").read_text(encoding="utf-8")
            texts[name] = f"# {title_of(texts[name])}\n\n{llms.text_of(html)}"
    for name, text in texts.items():
        _write(SITE / name, text.encode())
    _write(SITE / "llms.txt", llms.index(settings.project(), texts).encode())
    _write(SITE / "llms-full.txt", llms.whole(settings.project(), texts).encode())
    print("\n".join(found), file=sys.stderr, end="\n" if found else "")
    print(f"build/site: {len(list(SITE.rglob('*.html')))} pages, {len(found)} links that lead nowhere")
    return 1 if found else 0


def _without_mermaid(html: str) -> str:
    before, found, after = html.partition('assets/mermaid.js"')
    return before[: before.rindex("<script")] + after.split("</script>", 1)[1] if found else html


def serve(address: str) -> int:
    """Serves the site, and gathers its pages anew each second, until it is interrupted."""
    gather()
    server = subprocess.Popen(_zensical("serve", "--dev-addr", address))
    try:
        while server.poll() is None:
            time.sleep(1)
            try:
                gather()
            except (LinkError, OSError) as error:
                print(error, file=sys.stderr)
    except KeyboardInterrupt:
        server.terminate()
        server.wait()
        return 0
    return server.returncode


def _zensical(verb: str, *options: str) -> list[str]:
    return [sys.executable, "-m", "zensical", verb, "--config-file", str(CONFIG), *options]


def main() -> int:
    """Reads the options."""
    parser = argparse.ArgumentParser(prog="python -m scripts.docs_site", description=__doc__)
    parser.add_argument("--serve", metavar="HOST:PORT", nargs="?", const="127.0.0.1:8001")
    asked = parser.parse_args()
    missing = [str(source.relative_to(ROOT)) for source in ASSETS.values() if not source.exists()]
    if missing:
        print(f"missing: {', '.join(missing)}; run make docs, which installs the npm packages", file=sys.stderr)
        return 2
    try:
        return serve(asked.serve) if asked.serve else build()
    except LinkError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
