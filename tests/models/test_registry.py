from collections.abc import Callable
from pathlib import Path

import pytest

from voiceagent.errors import ConfigError, ModelError
from voiceagent.models import model as model_module
from voiceagent.models import registry as registry_module
from voiceagent.models.registry import EngineSpec, load_registry, profile, registry, require, resolve, size_text
from voiceagent.resources import registry_file

GOOD = """
profiles:
  p: {description: d, stt: {engine: e, model: m}, llm: {engine: openai, model: l}, tts: {engine: v, model: b}}
models:
  m: {kind: stt, engine: e, repository: o/r, revision: REV, licence: MIT, source: s, languages: [en],
      files: [{path: d/model.bin, local: model.bin, size: 5, sha256: SHA}]}
  l: {kind: llm, engine: vllm, repository: o/l, revision: REV, licence: MIT, source: s, languages: [en],
      files: [{path: l.bin, size: 7000000, sha256: SHA}]}
  b: {kind: tts, engine: v, bundled: voice, licence: MIT, source: s, languages: [en]}
""".replace("REV", "c" * 40).replace("SHA", "a" * 64)


@pytest.fixture
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], registry_module.Registry]:
    """Makes a registry text the shipped one, with an empty cache and an empty folder of bundled models."""

    def load(text: str) -> registry_module.Registry:
        (tmp_path / "registry.yaml").write_text(text)
        loaded = load_registry(tmp_path / "registry.yaml")
        monkeypatch.setattr(registry_module, "registry", lambda: loaded)
        monkeypatch.setattr(model_module, "bundled_models_dir", lambda: tmp_path / "bundled")
        monkeypatch.setenv("VOICEAGENT_MODELS", str(tmp_path / "cache"))
        return loaded

    return load


def test_the_shipped_registry_is_whole() -> None:
    shipped = load_registry(registry_file())
    assert list(shipped.profiles) == ["embedded", "starter", "real-speech", "light", "cpu", "gpu", "vllm-cpu", "vllm-inside"]
    assert all(model.bundled for model in shipped.models_of("embedded"))
    names = ["whisper-small.en", "qwen3-1.7b", "piper-ljspeech", "smart-turn-v3.2"]
    assert [model.name for model in shipped.models_of("cpu")] == names
    assert size_text(sum(model.size_bytes for model in shipped.models_of("cpu"))) == "2.0 GB"
    assert not shipped.profile("gpu").llm.is_local
    assert registry() is registry()


def test_an_unknown_profile_or_model_is_told_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="no profile 'tpu'; expected one of embedded, starter, real-speech, light, cpu, gpu"):
        profile("tpu")
    with pytest.raises(ConfigError, match="no model 'hal'; the registry has micro-whisper, "):
        resolve("hal")


def test_options_go_over_the_profiles() -> None:
    spec = EngineSpec("e", "m", {"threads": 1, "stream": {"policy": "agreement", "trim_after_s": 12}})
    ours = spec.with_options({"threads": 2, "stream": {"policy": "alignatt"}})
    assert ours == EngineSpec("e", "m", {"threads": 2, "stream": {"policy": "alignatt", "trim_after_s": 12}})
    assert spec.options["threads"] == 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("a" * 64, "abc", "sha256"),
        ("size: 5", "size: big", "size"),
        ("kind: stt", "kind: ears", "kind"),
        ("licence: MIT, ", "", "licence"),
        ("path: d/model.bin", "path: ../model.bin", "'../model.bin' leaves the model's folder"),
        ("bundled: voice", "bundled: /etc", "'/etc' leaves the model's folder"),
        ("bundled: voice", "bundled: voice, repository: o/v", "models.b: expected either"),
        ("bundled: voice, ", "", "models.b: expected either `bundled`, or `files` with their sizes"),
        ("repository: o/r, revision: REVISION, ", "", "models.m: comes from nowhere; expected `repository` and `revision`, or"),
        ("o/r, revision: REVISION", "o/r", "models.m: expected `repository` and `revision` together"),
        ("repository: o/r", "packages: [{name: -r, version: 1, size: 1, folder: f}], repository: o/r", "name"),
        ("repository: o/r", "packages: [{name: p, version: '1', size: 1, folder: ../f}], repository: o/r", "'../f' leaves"),
        ("model: b}}", "model: b}, turn: [{engine: v, model: b}]}", "profiles.p.turn: b is a model for tts"),
        ("size: 5,", "size: 5, parts: [../a],", "'../a' leaves the model's folder"),
        ("repository: o/r", "made: {by: x, repository: o/s}, repository: o/r", "models.m: is made: where its parts come from"),
        ("repository: o/r, revision: REVISION", "made: {by: x}", "models.m: there is no maker 'x'"),
        ("model: b}", "model: c}", "profiles.p.tts: there is no model 'c'"),
        ("model: b}", "model: m}", "profiles.p.tts: m is a model for stt"),
        ("engine: v, model", "engine: w, model", "profiles.p.tts: b is run by v, not w"),
        ("profiles:", "profiles: [", "expected valid YAML"),
        ("  m: {", "  M!: {", "models.M!: is not a name"),
    ],
)
def test_a_wrong_registry_is_one_clear_line(
    known: Callable[[str], registry_module.Registry], old: str, new: str, message: str
) -> None:
    old = old.replace("REVISION", "c" * 40)
    assert old in GOOD
    with pytest.raises(ConfigError) as caught:
        known(GOOD.replace(old, new))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_model_says_its_size_and_the_command(known: Callable[[str], registry_module.Registry], tmp_path: Path) -> None:
    known(GOOD)
    with pytest.raises(ModelError, match=r"model l \(7\.0 MB\) is not in .*cache; fetch it with `voiceagent models pull l`"):
        resolve("l")
    (tmp_path / "bundled" / "voice").mkdir(parents=True)
    (tmp_path / "bundled" / "voice" / "voice.onnx").write_bytes(b"v")
    with pytest.raises(ModelError, match=r"profile p needs m \(5 bytes\), in all 5 bytes, .* models pull --profile p`"):
        require("p")


def test_a_missing_bundled_model_says_so(known: Callable[[str], registry_module.Registry]) -> None:
    known(GOOD)
    with pytest.raises(ModelError, match=r"the bundled model b is missing from .*voice; install voiceagent again"):
        require("p")


def test_a_present_model_resolves_to_its_folder(known: Callable[[str], registry_module.Registry], tmp_path: Path) -> None:
    model = known(GOOD).models["m"]
    folder = tmp_path / "cache" / ("m-" + "c" * 12)
    assert model.folder(tmp_path / "cache") == folder
    folder.mkdir(parents=True)
    (folder / "model.bin").write_bytes(b"1234")
    with pytest.raises(ModelError):
        resolve("m")
    (folder / "model.bin").write_bytes(b"12345")
    assert resolve("m") == folder


def test_sizes_are_for_people() -> None:
    assert [size_text(n) for n in (7, 4972, 63_536_351, 486_098_798, 16_400_000_000)] == [
        "7 bytes", "5.0 kB", "63.5 MB", "486 MB", "16.4 GB"
    ]  # fmt: skip
