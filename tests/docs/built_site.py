"""The built documentation site in real Chromium, from the file system and over HTTP. `make test-docs` builds it and runs this."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from tests.browser.browsers import chromium

HERE = Path(__file__).parent
SITE = HERE.parents[1] / "build" / "site"


def test_the_site_is_read_and_searched_without_any_other_host(tmp_path: Path) -> None:
    shots = Path(os.environ.get("SHOTS", tmp_path))
    driven = subprocess.run(
        ["node", str(HERE / "built_site.mjs"), str(SITE), str(shots)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "CHROMIUM": chromium()},
        check=False,
    )
    assert driven.returncode == 0, driven.stderr
    seen = json.loads(driven.stdout)
    for kind in ("file", "http"):
        assert seen[kind]["elsewhere"] == []
        assert seen[kind]["errors"] == []
        assert "Raised by a tool" in seen[kind]["reference"] or "ToolError" in seen[kind]["reference"]
    assert seen["tooWide"] == []


def test_programs_find_every_page_as_text() -> None:
    index = (SITE / "llms.txt").read_text(encoding="utf-8")
    assert "- [Your own agent](agent.md): " in index
    whole = (SITE / "llms-full.txt").read_text(encoding="utf-8")
    assert "<!-- reference/voiceagent.tools.md -->" in whole
    assert (SITE / "reference" / "voiceagent.tools.md").read_text(encoding="utf-8").strip() in whole
    assert ":::" not in whole.split("<!-- reference/", 1)[1].split("<!-- glossary.md")[0]
