import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Outcome
from tests.models.hub import REVISION, Hub, running
from voiceagent.cli import models as models_command
from voiceagent.models import registry as registry_module
from voiceagent.models.model import Model, ModelFile
from voiceagent.models.registry import Registry

Run = Callable[..., Outcome]
DATA = b"weights" * 1000


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub with the one model of a registry that has no other."""
    file = ModelFile("model.bin", len(DATA), hashlib.sha256(DATA).hexdigest())
    small = Model(
        "stt", "e", "MIT", "s", ("en",), repository="acme/model", revision=REVISION, files=(file,), name="small"
    )  # fmt: skip
    known = Registry({}, {"small": small})
    monkeypatch.setattr(models_command, "registry", lambda: known)
    monkeypatch.setattr(registry_module, "registry", lambda: known)
    monkeypatch.setenv("VOICEAGENT_MODELS", str(tmp_path))
    with running(Hub({"model.bin": DATA})) as served:
        monkeypatch.setenv("HF_ENDPOINT", served.address)
        yield served


def test_the_list_shows_every_model_and_what_is_here(voiceagent: Run, tmp_path: Path) -> None:
    outcome = voiceagent("models", "list", "--dir", str(tmp_path))
    assert outcome.code == 0
    assert all(name in outcome.out for name in ("micro-whisper", "whisper-small.en", "486 MB", "Apache-2.0"))
    rows = {row["name"]: row for row in json.loads(voiceagent("models", "list", "--json", "--dir", str(tmp_path)).out)}
    assert rows["piper-ljspeech"]["profiles"] == ["cpu", "gpu"]
    assert rows["piper-joe"]["sources"] == ["hub", "packages"]
    assert "lacks 2.0 GB" in outcome.out
    assert not rows["piper-ljspeech"]["present"]


def test_a_model_is_pulled_listed_and_verified(voiceagent: Run, hub: Hub, tmp_path: Path) -> None:
    pulled = voiceagent("models", "pull", "small")
    assert (pulled.code, pulled.out) == (0, f"small: 7.0 kB in {tmp_path / f'small-{REVISION[:12]}'}\n")
    assert voiceagent("models", "pull", "small").out == "small: is here\n"
    assert voiceagent("models", "verify").out == "small: ok\n"


def test_a_corrupt_model_fails_its_verification_and_says_what_to_do(voiceagent: Run, hub: Hub, tmp_path: Path) -> None:
    voiceagent("models", "pull", "small")
    (tmp_path / f"small-{REVISION[:12]}" / "model.bin").write_bytes(DATA[:-1] + b"?")
    outcome = voiceagent("models", "verify")
    assert outcome.code == 1
    assert "small: model.bin: is corrupt" in outcome.err
    assert "`voiceagent models pull small`" in outcome.err


def test_a_failed_pull_is_one_line(voiceagent: Run, hub: Hub) -> None:
    hub.files.clear()
    outcome = voiceagent("models", "pull", "small")
    assert outcome.code == 1
    assert outcome.err.startswith("error: small: http://127.0.0.1:")
    assert outcome.err.count("\n") == 1


def test_an_interrupted_pull_says_what_is_kept_and_how_to_go_on(
    voiceagent: Run, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(tell: object, part: str, done_bytes: int, size_bytes: int) -> None:
        if done_bytes:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(models_command._Tell, "__call__", interrupt)
        outcome = voiceagent("models", "pull", "small")
    assert outcome.code == 130
    assert outcome.err == f"small: interrupted; 7.0 kB of 7.0 kB are kept in {tmp_path}: the same command goes on from there\n"
    assert voiceagent("models", "pull", "small").code == 0


@pytest.mark.parametrize("language", ["klingon", "d", "German", "de_DE"])
def test_what_is_no_code_of_a_language_is_wrong_usage(voiceagent: Run, language: str) -> None:
    outcome = voiceagent("models", "list", "--language", language)
    assert (outcome.code, f"--language {language}: expected a code such as de" in outcome.err) == (2, True)


def test_pull_wants_models_or_a_profile_and_not_both(voiceagent: Run) -> None:
    outcome = voiceagent("models", "pull", "small", "--profile", "cpu")
    assert outcome.code == 2
    assert "name either models or --profile" in outcome.err
    outcome = voiceagent("models", "pull", "hal")
    assert outcome.code == 2
    assert "no model 'hal'" in outcome.err
