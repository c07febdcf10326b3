from collections.abc import Callable
from dataclasses import dataclass

import pytest

from voiceagent.cli import main


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture
def voiceagent(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """Runs a command line in this process."""
    monkeypatch.setenv("COLUMNS", "140")
    monkeypatch.setattr("sys.excepthook", lambda *_: None)

    def run(*args: str) -> Outcome:
        with pytest.raises(SystemExit) as ended:
            main(args)
        captured = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Outcome(ended.value.code, captured.out, captured.err)

    return run
