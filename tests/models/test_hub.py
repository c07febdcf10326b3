import errno
import fcntl
import hashlib
import random
import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.models.hub import REVISION, Hub, running
from voiceagent.errors import ConfigError, ModelError
from voiceagent.models import download as download_module
from voiceagent.models.model import Model, ModelFile
from voiceagent.models.pull import hub_endpoint, pull, verify

pytestmark = pytest.mark.usefixtures("impatient")
WEIGHTS = random.Random(1).randbytes(3_000_000)
CONFIG = b'{"a": 1}'
WEIGHTS_PATH = "int8/model.bin"


def model(*, repository: str = "acme/model", revision: str = REVISION, name: str = "m") -> Model:
    files = (
        ModelFile("config.json", len(CONFIG), hashlib.sha256(CONFIG).hexdigest()),
        ModelFile(WEIGHTS_PATH, len(WEIGHTS), hashlib.sha256(WEIGHTS).hexdigest(), local="model.bin"),
    )
    return Model(
        kind="stt",
        engine="e",
        licence="MIT",
        source="s",
        languages=("en",),
        files=files,
        repository=repository,
        revision=revision,
        name=name,
    )


@pytest.fixture
def hub() -> Iterator[Hub]:
    with running(Hub({"config.json": CONFIG, WEIGHTS_PATH: WEIGHTS})) as served:
        yield served


@pytest.fixture
def seen() -> list[tuple[str, int, int]]:
    return []


@pytest.fixture
def fetch(tmp_path: Path, hub: Hub, seen: list[tuple[str, int, int]]) -> Callable[..., Path]:
    def run(wanted: Model | None = None) -> Path:
        return pull(wanted or model(), tmp_path, hub.address, lambda *told: seen.append(told))

    return run


def leftovers(cache: Path) -> list[str]:
    return sorted(p.name for p in cache.iterdir() if not p.name.endswith(".lock"))


def test_a_pull_publishes_the_whole_model_at_once(
    fetch: Callable[..., Path], tmp_path: Path, seen: list[tuple[str, int, int]]
) -> None:
    folder = fetch()
    assert folder == tmp_path / "m-0123456789ab"
    assert (folder / "config.json").read_bytes() == CONFIG
    assert (folder / "model.bin").read_bytes() == WEIGHTS
    assert leftovers(tmp_path) == ["m-0123456789ab"]
    assert seen[-1] == (WEIGHTS_PATH, len(WEIGHTS), len(WEIGHTS))
    done = [told[1] for told in seen if told[0] == WEIGHTS_PATH]
    assert done == sorted(done)
    assert verify(model(), tmp_path, lambda *_: None) == []


def test_a_second_pull_asks_the_hub_nothing(fetch: Callable[..., Path], hub: Hub) -> None:
    fetch()
    asked = len(hub.requests)
    fetch()
    assert len(hub.requests) == asked


def test_a_cut_connection_is_resumed_where_it_broke(fetch: Callable[..., Path], hub: Hub) -> None:
    hub.cut_after = [len(CONFIG), 1_000_000]
    folder = fetch()
    assert (folder / "model.bin").read_bytes() == WEIGHTS
    ranges = [int(wanted.removeprefix("bytes=").rstrip("-")) for path, wanted in hub.requests if path == WEIGHTS_PATH and wanted]
    assert ranges == [1_000_000]


def test_a_later_pull_goes_on_where_an_interrupted_one_ended(fetch: Callable[..., Path], tmp_path: Path, hub: Hub) -> None:
    def interrupt(file: str, done: int, size: int) -> None:
        if file == WEIGHTS_PATH and done > 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pull(model(), tmp_path, hub.address, interrupt)
    assert leftovers(tmp_path) == ["m-0123456789ab.part"]
    kept = (tmp_path / "m-0123456789ab.part" / "model.bin.incomplete").stat().st_size
    assert 0 < kept < len(WEIGHTS)
    hub.requests.clear()
    folder = fetch()
    assert (folder / "model.bin").read_bytes() == WEIGHTS
    assert leftovers(tmp_path) == ["m-0123456789ab"]
    assert hub.requests == [(WEIGHTS_PATH, f"bytes={kept}-")]


def test_a_hub_without_ranges_is_read_from_the_start(fetch: Callable[..., Path], tmp_path: Path, hub: Hub) -> None:
    stage = tmp_path / "m-0123456789ab.part"
    stage.mkdir()
    (stage / "model.bin.incomplete").write_bytes(b"x" * 1000)
    hub.ignore_range = True
    assert (fetch() / "model.bin").read_bytes() == WEIGHTS


def test_a_corrupt_file_is_removed_and_told(fetch: Callable[..., Path], tmp_path: Path, hub: Hub) -> None:
    hub.files[WEIGHTS_PATH] = WEIGHTS[:-1] + b"?"
    with pytest.raises(ModelError, match=r"m: int8/model.bin is corrupt .* was removed; pull it again"):
        fetch()
    assert [p.name for p in (tmp_path / "m-0123456789ab.part").iterdir()] == ["config.json"]
    hub.files[WEIGHTS_PATH] = WEIGHTS
    assert (fetch() / "model.bin").read_bytes() == WEIGHTS


@pytest.mark.parametrize("other", [WEIGHTS + b"more" * 100_000, WEIGHTS[:-5]])
def test_a_file_of_another_size_is_refused(fetch: Callable[..., Path], hub: Hub, other: bytes) -> None:
    hub.files[WEIGHTS_PATH] = other
    with pytest.raises(ModelError, match="another hub"):
        fetch()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"repository": "acme/none"}, r"m: http.* has no repository acme/none, or does not show it without a token"),
        ({"revision": "f" * 40}, r"has no revision f{40} of acme/model"),
    ],
)
def test_what_the_hub_does_not_have_is_told(fetch: Callable[..., Path], changed: dict[str, str], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        fetch(model(**changed))


def test_a_missing_file_is_told(fetch: Callable[..., Path], hub: Hub) -> None:
    del hub.files[WEIGHTS_PATH]
    with pytest.raises(ModelError, match=r"has no file int8/model\.bin in acme/model"):
        fetch()


def test_a_passing_server_error_is_survived_and_a_lasting_one_told(fetch: Callable[..., Path], hub: Hub) -> None:
    hub.answers = [503, 0]
    fetch()
    hub.answers = [503] * 50
    with pytest.raises(ModelError, match=r"answered 503 for config\.json; try again later"):
        fetch(model(name="other"))


def test_a_refusal_is_not_tried_again(fetch: Callable[..., Path], hub: Hub) -> None:
    hub.answers = [403] * 50
    with pytest.raises(ModelError, match="answered 403"):
        fetch()
    assert len(hub.requests) == 1


def test_an_unreachable_hub_is_one_clear_line(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}"
    with pytest.raises(ModelError, match=r"cannot be reached .*; check the network or name a mirror with --endpoint") as caught:
        pull(model(), tmp_path, address, lambda *_: None)
    assert "\n" not in str(caught.value)


def test_a_full_disk_is_told_before_and_during_a_pull(fetch: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: type("Usage", (), {"free": 1000}))
    with pytest.raises(ModelError, match=r"m: needs 3\.0 MB more, .* has 1\.0 kB free; .* --dir"):
        fetch()
    monkeypatch.undo()

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(download_module._Part, "write", full)
    with pytest.raises(ModelError, match=r"the disk of .* is full"):
        fetch()


def test_an_unwritable_cache_is_told(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ModelError, match=r"file cannot be written .*; choose another folder with --dir"):
        pull(model(), tmp_path / "file", hub.address, lambda *_: None)


def test_two_pulls_of_a_model_do_not_meet(fetch: Callable[..., Path], tmp_path: Path) -> None:
    with (tmp_path / ".m-0123456789ab.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(ModelError, match="another pull of it is running"):
            fetch()
    fetch()


def test_a_lost_file_is_fetched_again_and_the_others_are_kept(fetch: Callable[..., Path], hub: Hub) -> None:
    folder = fetch()
    (folder / "config.json").unlink()
    hub.requests.clear()
    fetch()
    assert [path for path, _ in hub.requests] == ["config.json"]
    assert (folder / "model.bin").read_bytes() == WEIGHTS


def test_verify_reads_every_byte(fetch: Callable[..., Path], tmp_path: Path) -> None:
    folder = fetch()
    (folder / "model.bin").write_bytes(WEIGHTS[:-1] + b"?")
    (folder / "config.json").write_bytes(b"{}")
    assert verify(model(), tmp_path, lambda *_: None) == [
        "config.json: has 2 bytes, expected 8",
        "model.bin: is corrupt (its SHA-256 is not the registry's)",
    ]
    (folder / "config.json").unlink()
    assert verify(model(), tmp_path, lambda *_: None)[0] == "config.json: is missing"


def test_the_endpoint_is_the_option_then_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://mirror.local/")
    assert hub_endpoint() == "http://mirror.local"
    assert hub_endpoint("https://other.local") == "https://other.local"
    with pytest.raises(ConfigError, match="'other' is not the address of a hub"):
        hub_endpoint("other")
