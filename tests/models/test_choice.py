"""Which profile answers, and models of one's own: by their path, and by a models file of one's own."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from voiceagent.errors import ConfigError, ModelError
from voiceagent.models import choice
from voiceagent.models.choice import AUTO, PROFILE_VARIABLE, STARTER, choose_profile, profile_of, registry_of, wanted_profile
from voiceagent.models.registry import registry
from voiceagent.resources import bundled_models_dir, demo_agent_file
from voiceagent.settings.agent import AgentConfig, LlmSettings, load_agent

Write = Callable[[str], AgentConfig]


@pytest.fixture(autouse=True)
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PROFILE_VARIABLE, raising=False)
    monkeypatch.setenv("VOICEAGENT_MODELS", str(tmp_path / "cache"))


@pytest.fixture
def agent(tmp_path: Path) -> Write:
    def write(text: str) -> AgentConfig:
        (tmp_path / "agent.yaml").write_text(text + "\n")
        return load_agent(tmp_path / "agent.yaml")

    return write


def put_starter(cache: Path) -> None:
    """Files of the right sizes, as holes."""
    for model in registry().missing(registry().profile(STARTER), cache):
        for file in model.files:
            there = model.folder(cache) / file.name
            there.parent.mkdir(parents=True, exist_ok=True)
            with there.open("wb") as made:
                made.truncate(file.size)


def test_an_agent_that_names_no_profile_gets_the_best_that_is_here(agent: Write, tmp_path: Path) -> None:
    mine = agent("name: Mine")
    assert mine.profile == load_agent(demo_agent_file()).profile == AUTO
    name, why = choose_profile(mine, registry())
    assert name == "embedded"
    assert why.startswith(f"profile {STARTER} needs whisper-tiny.en (78.1 MB), ")
    assert f"`voiceagent models pull --profile {STARTER}`; until then embedded answers" in why
    put_starter(tmp_path / "cache")
    assert choose_profile(mine, registry()) == (STARTER, "")


def test_a_named_profile_is_never_replaced(agent: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PROFILE_VARIABLE, "embedded")
    assert choose_profile(agent("profile: cpu"), registry()) == ("cpu", "")
    with pytest.raises(ConfigError, match="no profile 'tpu'"):
        choose_profile(agent("profile: tpu"), registry())


def test_the_environment_says_what_auto_is(agent: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PROFILE_VARIABLE, "cpu")
    assert choose_profile(agent("name: Mine"), registry()) == ("cpu", "")
    assert wanted_profile(agent("name: Mine"), registry()) == "cpu"


def test_models_of_ones_own_take_the_places_of_the_profiles_without_its_options(agent: Write, tmp_path: Path) -> None:
    for name in ("whisper", "voice", "lm"):
        (tmp_path / name).symlink_to(bundled_models_dir() / name)
    mine = agent("profile: embedded\nstt: {path: whisper}\ntts: {path: voice/voice.onnx}\nllm: {path: lm/onnx}")
    found = profile_of(mine, registry())
    assert (found.stt.engine, found.stt.path, found.stt.options) == ("faster-whisper", str(tmp_path / "whisper"), {})
    assert (found.llm.engine, found.llm.path) == ("embedded", str(tmp_path / "lm" / "onnx"))
    assert (found.tts.engine, found.tts.path) == ("piper", str(tmp_path / "voice" / "voice.onnx"))
    assert registry().missing(found, tmp_path / "cache") == []
    assert profile_of(agent("profile: embedded\nllm: {path: lm/safetensors}"), registry()).llm.engine == "vllm"


def test_what_is_replaced_need_not_be_here(agent: Write, tmp_path: Path) -> None:
    put_starter(tmp_path / "cache")
    model = registry().model("piper-joe")
    (model.folder(tmp_path / "cache") / "voice.onnx").unlink()
    assert choose_profile(agent("name: Mine"), registry())[0] == "embedded"
    mine = agent(f"tts: {{path: {bundled_models_dir() / 'voice'}}}")
    assert choose_profile(mine, registry()) == (STARTER, "")


@pytest.mark.parametrize(
    ("setting", "files", "said"),
    [
        ("stt", ("model.bin",), r"stt\.path: .*mine is not a Whisper in CTranslate2 format: config\.json, tokenizer\.json, "
         r"vocabulary\.json or vocabulary\.txt are missing; expected model\.bin, config\.json"),
        ("llm", ("genai_config.json", "tokenizer.json"), r"llm\.path: .*mine is not a language model as onnxruntime-genai's "
         r"builder makes it: chat_template\.jinja or tokenizer_config\.json, decoder\.onnx are missing"),
        ("llm", ("model.safetensors", "config.json"), r"llm\.path: .* as transformers keeps it: tokenizer\.json, chat_template"),
        ("tts", ("voice.onnx",), r"tts\.path: .*mine is not a Piper voice: \*\.onnx\.json is missing"),
        ("tts", (), r"tts\.path: .*mine is not a Piper voice: \*\.onnx, \*\.onnx\.json are missing"),
    ],
)  # fmt: skip
def test_a_folder_that_is_no_such_model_says_what_is_missing(
    agent: Write, tmp_path: Path, setting: str, files: tuple[str, ...], said: str
) -> None:
    (tmp_path / "mine").mkdir()
    for file in files:
        (tmp_path / "mine" / file).write_text('{"model": {"decoder": {"filename": "decoder.onnx"}}}')
    with pytest.raises(ModelError, match=said) as caught:
        profile_of(agent(f"profile: embedded\n{setting}: {{path: mine}}"), registry())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("stt: {path: nowhere}", r"stt\.path: there is no .*nowhere; expected a Whisper in CTranslate2 format \(model\.bin, "),
        ("tts: {path: voice.onnx}", r"tts\.path: .*voice\.onnx is not a Piper voice: voice\.onnx\.json beside it is missing"),
        ("stt: {path: voice.onnx}", r"stt\.path: .*voice\.onnx is not a Whisper .*: a folder is missing"),
        ("stt: {engine: faster-whisper}", r"stt\.engine: faster-whisper needs a model; name its file or folder with stt\.path"),
        ("llm: {path: lm, base_url: 'http://127.0.0.1:1/v1'}", r"llm\.path: the language model is already llm\.base_url's"),
        ("stt: {pat: x}", "pat"),
        ("models: nowhere.yaml", r"nowhere\.yaml: cannot be read \(No such file or directory\); name a readable"),
    ],
)
def test_a_wrong_path_is_one_clear_line(agent: Write, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "voice.onnx").write_bytes(b"voice")
    (tmp_path / "lm").mkdir()

    def found() -> None:
        mine = agent(f"profile: embedded\n{text}")
        profile_of(mine, registry_of(mine))

    with pytest.raises((ConfigError, ModelError), match=said) as caught:
        found()
    assert "\n" not in str(caught.value)


OWN = """
profiles:
  mine:
    description: my own voice and model
    budgets: cpu
    stt: {engine: faster-whisper, model: micro-whisper}
    llm: {engine: embedded, model: my-lm}
    tts: {engine: piper, path: voices/mine.onnx, options: {volume: 0.5}}
models:
  my-lm: {kind: llm, engine: embedded, repository: me/lm, revision: REV, licence: MIT, source: mine, languages: [en],
          files: [{path: a.bin, size: 5, sha256: SHA}]}
""".replace("REV", "c" * 40).replace("SHA", "a" * 64)


def test_a_models_file_of_ones_own_stands_beside_the_shipped_registry(agent: Write, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "models.yaml").write_text(OWN)
    mine = agent("models: mine/models.yaml\nprofile: mine")
    known = registry_of(mine)
    assert set(known.profiles) == {*registry().profiles, "mine"}
    assert choose_profile(mine, known) == ("mine", "")
    with pytest.raises(ModelError, match=r"tts of the profile: there is no .*mine/voices/mine\.onnx; expected a Piper voice"):
        profile_of(mine, known)
    (tmp_path / "mine" / "voices").mkdir()
    for name in ("mine.onnx", "mine.onnx.json"):
        (tmp_path / "mine" / "voices" / name).write_text("{}")
    found = profile_of(mine, known)
    assert found.tts.path == str(tmp_path / "mine" / "voices" / "mine.onnx")
    with pytest.raises(ModelError, match=r"profile mine needs my-lm \(5 bytes\), .* `voiceagent models pull --profile mine`"):
        known.require(found)
    assert [model.name for model in known.models_of("mine")] == ["micro-whisper", "my-lm"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("  mine:", "  cpu:", r"models\.yaml: profiles\.cpu: voiceagent ships one of this name; give yours another"),
        ("  my-lm:", "  micro-lm:", r"models\.yaml: models\.micro-lm: voiceagent ships one of this name"),
        ("repository: me/lm, revision: " + "c" * 40, "bundled: lm", r"models\.my-lm: `bundled` models ship with voiceagent"),
        ("path: voices/mine.onnx", "path: a, model: micro-voice", r"profiles\.mine\.tts: has both a `model` and a `path`"),
        ("model: my-lm", "model: your-lm", r"profiles\.mine\.llm: there is no model 'your-lm'"),
        (
            "description:",
            "descriptoin:",
            r"models\.yaml:4: profiles\.mine contains unknown field `descriptoin`; did you mean description\?",
        ),
    ],
)
def test_a_wrong_models_file_is_one_clear_line(agent: Write, tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in OWN
    (tmp_path / "models.yaml").write_text(OWN.replace(old, new))
    with pytest.raises(ConfigError, match=said) as caught:
        registry_of(agent("models: models.yaml\nprofile: mine"))
    assert "\n" not in str(caught.value)


def test_an_engine_of_a_plugin_may_do_without_a_path(agent: Write) -> None:
    found = profile_of(agent("profile: embedded\nstt: {engine: my-ears}"), registry())
    assert (found.stt.engine, found.stt.model, found.stt.path) == ("my-ears", "", "")


def test_the_starters_models_come_from_packages_too() -> None:
    pulled = [model for model in registry().models_of(choice.STARTER) if not model.bundled]
    assert pulled
    assert all("packages" in model.origin.sources for model in pulled)
    assert all("hub" in model.origin.sources for model in pulled if model.kind != "turn")


def test_what_is_not_replaced_stays_the_profiles(agent: Write) -> None:
    mine = msgspec.structs.replace(agent("profile: cpu"), llm=LlmSettings(engine="my-brain"))
    found = profile_of(mine, registry())
    assert (found.stt.model, found.llm.engine, found.tts.model) == ("whisper-small.en", "my-brain", "piper-ljspeech")


def test_an_agent_may_name_judges_of_its_own(agent: Write, tmp_path: Path) -> None:
    (tmp_path / "mine.onnx").write_bytes(b"")
    judges = "{model: smart-turn-v3.2}, {path: mine.onnx, options: {threads: 2}}, {engine: meaning}, {engine: my-judge}"
    first, second, third, fourth = profile_of(agent(f"profile: embedded\nturn: {{judges: [{judges}]}}"), registry()).turn
    assert (first.engine, first.model) == ("smart-turn", "smart-turn-v3.2")
    assert (second.engine, second.path, second.options) == ("smart-turn", str(tmp_path / "mine.onnx"), {"threads": 2})
    assert [(spec.engine, spec.path) for spec in (third, fourth)] == [("meaning", ""), ("my-judge", "")]


def test_without_a_word_of_it_the_profiles_judges_stay_and_an_empty_list_is_none(agent: Write) -> None:
    assert [spec.engine for spec in profile_of(agent("profile: cpu"), registry()).turn] == ["smart-turn", "meaning"]
    assert profile_of(agent("profile: cpu\nturn: {judges: []}"), registry()).turn == ()


@pytest.mark.parametrize(
    ("judge", "problem"),
    [
        ("{}", "turn.judges.engine: smart-turn needs a model"),
        ("{model: smart-turn-v3.2, path: x}", "both a `model` and a `path`"),
        ("{model: piper-joe}", "piper-joe is a model for tts"),
        ("{model: smart-turn-v9}", "there is no model 'smart-turn-v9'"),
        ("{path: nowhere.onnx}", "turn.judges: there is no .*expected Smart Turn v3"),
        ("{path: agent.yaml}", "agent.yaml is not Smart Turn v3: a folder is missing"),
    ],
)
def test_a_judge_that_cannot_be_is_one_clear_line(agent: Write, judge: str, problem: str) -> None:
    with pytest.raises((ConfigError, ModelError), match=problem) as caught:
        profile_of(agent(f"profile: embedded\nturn: {{judges: [{judge}]}}"), registry())
    assert "\n" not in str(caught.value)
