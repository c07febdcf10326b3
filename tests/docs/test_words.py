"""One word for one idea: the words that were given up stand nowhere any more, but where an old setting is told its new name."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
READ = (".py", ".md", ".yaml", ".yml", ".toml", ".js", ".html", ".css", ".json", ".sh")
LEFT_OUT = ("bench/results/", "models/train/turns/texts/", "models/bundled/", "voiceagent/evaluation/held_out/")
EXCEPT = {"CHANGELOG.md", "voiceagent/config.py", "tests/cli/test_bad_input.py", "tests/docs/test_words.py"}
"""They tell of the old names."""
GONE = {
    r"\b(GuessEnded|max_guesses|max_guess_tokens|settle_guess|call_guess|CallGuess)\b": "speculative reply; draft",
    r"\b(LookUp|LookedUp|LookUpEnded|CancelLookUp|lookup_id|max_lookups|end_lookups)\b": "speculative tool call",
    r"\b([Ff]oresight|foreseen|may_foresee)\b": "predictor, predicted",
    r"\b(SetHolds|shortest_hold_ms|longest_hold_ms|endpoint_hold_ms|set_holds)\b|\bHolds\(": "endpointing delay",
    r"\bact\.(Hold|Release|Drop|Cut|Discard|Withheld)\b": "PauseReply, ResumeReply, CancelReply, EndClauseAt …",
    r"\b(HeardFrame|wavering)\b": "InboundFrame; unstable",
    r"\bsigns? of listening\b": "backchannel",
    r"\btools[./]rule\b": "tools/policy",
    r"\b(mood|line)\.js\b|\bturn_server\.py\b": "call-status.js, voice-timeline.js, turn_relay.py",
    r"\bconversation[./](caller|replying|answering|lookups)\b": "caller_turn, reply_lifecycle, generation, speculative_tools",
    r"\bmedia[./](caller|dialogue|impairment|recording)\b": "client/",
    r"\bvoiceagent[./]speech\b": "text_normalization/",
    r"\b(ran|runs?|running) ahead\b": "speculative",
}


def text_files() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [name for name in listed.stdout.split("\n") if name.endswith(READ) and not name.startswith(LEFT_OUT)]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="reads the list of files from git")
@pytest.mark.parametrize("pattern", GONE)
def test_no_word_that_was_given_up_is_left(pattern: str) -> None:
    found = [
        f"{name}: {match.group(0)}"
        for name in text_files()
        if name not in EXCEPT and (ROOT / name).exists()
        for match in re.finditer(pattern, (ROOT / name).read_text(encoding="utf-8"))
    ]
    assert not found, f"write: {GONE[pattern]}"
