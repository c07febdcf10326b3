"""Settings: `agent.yaml` and environment variables as typed, frozen objects. Every mistake is one line that names the file, the
key and what was expected."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from voiceagent.addresses import check_address
from voiceagent.context.sources import ContextEntry
from voiceagent.conversation.rules import Rules
from voiceagent.guard.settings import GuardSettings
from voiceagent.media.webrtc.ice import IceSettings
from voiceagent.media.webrtc.ports import MediaSettings
from voiceagent.redaction import keep_secrets_of
from voiceagent.resources import default_budgets_file
from voiceagent.settings.steps import Steps, step_mistakes
from voiceagent.settings.telephone import TelephonySettings
from voiceagent.settings.values import Collected, parameter_mistakes
from voiceagent.settings_file import SettingsFile, did_you_mean
from voiceagent.store.database import VARIABLE, StoreAddress, chosen_store
from voiceagent.store.personal_data import PersonalKind
from voiceagent.store.redis_connection import EVENTS_VARIABLE, RedisAddress, chosen_redis
from voiceagent.stt.vocabulary import VocabularySettings, Words, words_of
from voiceagent.text_normalization.settings import SpeechSettings
from voiceagent.tools.settings import ToolEntry
from voiceagent.turn_taking.endpointing import ENDPOINTING_MANNERS, EndpointingManner, Manner
from voiceagent.turn_taking.spoken_language import AUTO, agents_languages, check_languages


class HttpSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The server for clients that speak HTTP."""

    allowed_origins: Annotated[tuple[str, ...], msgspec.Meta(max_length=256)] = ()
    """Origins whose pages may call, such as `https://shop.example`, or `*` for any. The server's own page always may."""
    client_mcp_servers: Annotated[tuple[str, ...], msgspec.Meta(max_length=64)] = ()
    """MCP servers that a client may name in its session: addresses, or origins for any address there. Without: none."""
    tls_cert: str = ""
    """A PEM file with the certificate and those between it and the root (relative to this file); empty: HTTP, without TLS."""
    tls_key: str = ""
    """The PEM file of its private key; empty: the file of the certificate holds it, too."""


Tokens = Annotated[int, msgspec.Meta(ge=0, le=10**12)]


class QueueSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Callers who wait for a place instead of being refused at once."""

    length: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 0
    """Most callers that wait; 0: none."""
    wait_s: Annotated[float, msgspec.Meta(ge=0, le=120)] = 10.0
    """Longest wait of a caller, who is refused after it."""


class QuotaSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of one client. A client is a key, or an address where the server has no keys."""

    calls: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 0
    """Calls at once; 0: all places, or three quarters of them where there are several keys."""
    connecting: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 0
    """Calls that were answered and are not connected yet, at least 4. 0: half of the places, or a quarter if there are several
    keys."""
    offers_per_s: Annotated[float, msgspec.Meta(gt=0, le=1000)] = 5.0
    """Calls offered a second, in the long run; twice `max_calls` may come at once."""
    minutes_a_day: Annotated[float, msgspec.Meta(ge=0, le=10**7)] = 0.0
    """Minutes of calls a day, regained evenly over it and counted since the server started; 0: no limit."""


class AdmissionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of the calls that are carried at once."""

    max_calls: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 16
    context_tokens_per_call: Annotated[int, msgspec.Meta(ge=1, le=10**9)] = 8192
    """The language model's memory that a call may grow to take: `voiceagent plan --context`."""
    kv_tokens: Tokens = 0
    """The memory of all calls together, if the language model cannot report it or others use it too; 0: what the model
    reports."""
    queue: QueueSettings = QueueSettings()
    per_client: QuotaSettings = QuotaSettings()


Seconds = Annotated[float, msgspec.Meta(ge=0)]
Timeout = Annotated[float, msgspec.Meta(gt=0)]
"""A time-out in seconds; there is always one."""
Milliseconds = Annotated[int, msgspec.Meta(ge=0)]
RULES = Rules()
"""The turn engine's rules, whose defaults are the settings' defaults: each stands only there."""


class OwnJudge(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A turn judge in place of the profile's."""

    engine: str = ""
    """Empty: `smart-turn`, which runs what `model` or `path` names."""
    model: str = ""
    """A model of the registry."""
    path: str = ""
    """A model named by path (relative to agent.yaml): a Smart Turn's `.onnx`."""
    options: dict[str, object] = {}


class TurnSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rules of turn-taking."""

    fixed_endpointing_delay_ms: Milliseconds | None = None
    """A fixed silence that ends an utterance. Without it, the delay is predicted from words and voice."""
    manner: Manner | None = None
    """The balance between quick answers and callers who are cut off. None: `balanced`, or as the file in `endpointing` says, or
    as it suits an agent without turn judges."""
    endpointing: str = ""
    """A file with the agent's own endpointing weights (relative to agent.yaml). It is used unless there are turn judges that it
    does not weigh."""
    min_endpointing_delay_ms: Milliseconds | None = None
    """The silence that ends an utterance which is plainly complete. None: the manner's."""
    max_endpointing_delay_ms: Milliseconds | None = None
    """The silence that ends any utterance. None: the manner's."""
    interruption_endpointing_delay_ms: Milliseconds = int(RULES.endpointing.interruption_delay_ms)
    """The shortest silence that ends an utterance which interrupted the agent; no longer than `max_endpointing_delay_ms`."""
    max_speculative_replies: Annotated[int, msgspec.Meta(ge=0, le=10)] = RULES.speculation.max_replies
    """The most replies that a turn may begin before it is known that the caller has finished. 0: none, and no prefill."""
    max_speculative_tool_calls: Annotated[int, msgspec.Meta(ge=0, le=16)] = RULES.speculation.max_tool_calls
    """The most tools without effect that a turn may run before it is known that the caller has finished. 0: none."""
    overlap: Literal["eager", "duck", "wait"] = "eager"
    """The agent's reaction as soon as somebody speaks over it: speaks softly and is soon silent for a moment, speaks softly, or
    goes on. With the last two, sounds that are no interruption cause the fewest gaps; with the first, an interruption stops the
    agent soonest."""
    min_speech_ms: Milliseconds = 100
    """Speech shorter than this is not an utterance."""
    partial_interval_ms: Milliseconds = 300
    """The interval at which the open utterance is decoded again; longer if a decode takes more than three tenths of that."""
    silence_timeout_s: Seconds = RULES.limits.silence_timeout_ms / 1000
    """Silence of both sides before the agent asks whether the caller is there; the same again ends the call. 0: never."""
    max_call_s: Seconds = RULES.limits.max_call_ms / 1000
    """The longest call. 0: no limit."""
    resume_timeout_s: Seconds = RULES.limits.resume_timeout_ms / 1000
    """A call whose connection is lost waits this long for its caller. 0: it ends at once."""
    resume_after_restart: bool | Literal["always"] = False
    """True: a server that stops keeps what its calls need to go on at another one, for `resume_timeout_s`, sealed by their
    tokens. `always`: it keeps that while they last, so that they go on also if it is killed. False: they end with the server."""
    reply_timeout_s: Seconds = RULES.limits.reply_timeout_ms / 1000
    """A reply of which nothing came for this long, not even thoughts, is given up with an apology. 0: never."""
    thinking_timeout_s: Seconds = RULES.limits.thinking_timeout_ms / 1000
    """A language model that thinks for longer without an answer is given up with an apology. 0: never."""
    reply_filler_after_ms: Milliseconds = int(RULES.limits.reply_filler_after_ms)
    """A language model that gave nothing to say for this long is bridged with one of `phrases.fillers`. 0: never."""
    filler_after_ms: Milliseconds = int(RULES.limits.filler_after_ms)
    """A tool without a result after this time is bridged with one of `phrases.fillers` or of its own. 0: never."""
    tool_timeout_s: Timeout = 10.0
    """A tool that runs longer is ended, and the model is informed."""
    max_chunks: Annotated[int, msgspec.Meta(ge=0, le=50)] = RULES.memory.max_chunks
    """The most pieces of documents that a turn's prompt may take in."""
    max_chunk_characters: Annotated[int, msgspec.Meta(ge=0, le=100_000)] = RULES.memory.max_chunk_characters
    """The most characters that they may have together."""
    context_timeout_ms: Milliseconds = 30
    """Longest wait of an answer for documents about the last words."""
    handoff_summary_timeout_ms: Milliseconds = int(RULES.limits.handoff_summary_ms)
    """An agent that takes the call over waits this long for a summary of what was said, while the line for that is heard."""
    max_tool_rounds: Annotated[int, msgspec.Meta(ge=0, le=32)] = RULES.limits.max_tool_rounds
    """The number of times that one reply may go back to the model with tool results."""
    judges: Annotated[tuple[OwnJudge, ...], msgspec.Meta(max_length=8)] | None = None
    """The judges of whether a pause ends the caller's turn, in place of the profile's judges; `[]`: words and voice
    alone."""

    def __post_init__(self) -> None:
        shortest_ms, longest_ms = self.endpointing_delays_ms
        if shortest_ms > longest_ms:
            raise ValueError(
                f"min_endpointing_delay_ms is {shortest_ms:g}, max_endpointing_delay_ms "
                f"{longest_ms:g}; expected no more than that"
            )

    @property
    def endpointing_manner(self) -> EndpointingManner:
        """The manner's values."""
        return ENDPOINTING_MANNERS[self.manner or "balanced"]

    @property
    def endpointing_delays_ms(self) -> tuple[float, float]:
        """The shortest and the longest endpointing delay: the settings, or the manner's."""
        shortest, longest, manner = self.min_endpointing_delay_ms, self.max_endpointing_delay_ms, self.endpointing_manner
        return (
            manner.min_delay_ms if shortest is None else float(shortest),
            manner.max_delay_ms if longest is None else float(longest),
        )


class ExactLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A phrase with settings of its own."""

    text: str
    interruptible: bool = True
    """False: it is said to its end, once, whatever the caller says meanwhile; that is answered after it."""


class PhraseSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Phrases that the agent says by itself."""

    greeting: str | ExactLine = ""
    check_in: str | ExactLine | None = None
    """If this and the following ones are left out, the agent's language supplies them."""
    farewell: str | ExactLine | None = None
    apology: str | None = None
    not_understood: str | None = None
    """Said to a caller of whom no word was understood; empty: such speech gets no answer."""
    stopped: str | None = None
    """Said to a caller who only told the agent to stop or to wait; empty: the language model answers."""
    offer_person: str | None = None
    """Said to such a caller the third time, if they can be transferred to a person."""
    transfer: str | ExactLine | None = None
    """Said to a caller who asked for a person and is transferred."""
    transfer_failed: str | ExactLine | None = None
    """Said when nobody has taken that call over."""
    handoff: str | ExactLine = ""
    """Said before another agent takes the call over; empty: nothing is."""
    resumed: str | None = None
    """Said before the rest of a reply, to a caller whose connection was lost."""
    fillers: tuple[str, ...] | None = None
    """Phrases that may be said, in turn, while a tool takes its time; a tool may have its own."""

    def text(self, name: str) -> str | None:
        """The text of the phrase of this name."""
        phrase: str | ExactLine | None = getattr(self, name)
        return phrase.text if isinstance(phrase, ExactLine) else phrase

    @property
    def protected(self) -> tuple[str, ...]:
        """The names of the phrases that are said to their end."""
        given = {name: getattr(self, name) for name in self.__struct_fields__}
        return tuple(name for name, phrase in given.items() if isinstance(phrase, ExactLine) and not phrase.interruptible)

    def with_greeting(self, text: str) -> PhraseSettings:
        """The phrases with another greeting, which may be interrupted if theirs may."""
        greeting = msgspec.structs.replace(self.greeting, text=text) if isinstance(self.greeting, ExactLine) else text
        return msgspec.structs.replace(self, greeting=greeting)


class PromptSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Prompts for the language model besides the instructions; if one is left out, the agent's language supplies it."""

    summary: str | None = None
    """Put in front of the summary of the earlier conversation."""
    sum_up: str | None = None
    """Asks for that summary."""
    context: str | None = None
    """Put in front of what documents say."""
    tool_interrupted: str | None = None
    """Takes the place of a tool's result: it was ended with its reply."""
    tool_pending: str | None = None
    """Takes the place of a result that the reply does not wait for."""
    tool_running: str | None = None
    """Takes the place of a result: the tool goes on after its reply was cancelled."""
    tool_outcome_unknown: str | None = None
    """Takes the place of a result: the tool ran when its server stopped."""
    tool_not_confirmed: str | None = None
    """Takes the place of a result: the caller is asked first."""
    tool_other_unconfirmed: str | None = None
    """Takes the place of a result: the caller is asked about another one first."""
    tool_not_asked_for: str | None = None
    """Takes the place of a result: the caller's words asked for nothing, so the tool did not run."""
    end_call: str | None = None
    """Describes the tool `end_call`."""
    end_call_reason: str | None = None
    """Describes its argument."""
    call_ends: str | None = None
    """Its result."""
    note: str | None = None
    """Describes the tool `note`."""
    go_to_step: str | None = None
    """Describes the tool `go_to_step`."""
    known_values: str | None = None
    """Put in front of the values that are known when a step begins."""
    collected_values: str | None = None
    """Put in front of the names of the values that the agent collects without the language model."""
    tool_lacks_values: str | None = None
    """Takes the place of a tool's result: the caller is asked for values that it needs."""
    value_given_up: str | None = None
    """Takes the place of a value that the caller did not tell."""


KEY_GOES = "put the key into an environment variable and name that with api_key_env"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class LlmSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Overrides of the profile's language model: name `base_url` to use any OpenAI-compatible server."""

    engine: str = ""
    """The engine of a language model of your own; empty: the engine that fits the files at `path`."""
    path: str = ""
    """A language model of your own in place of the profile's, such as an onnxruntime-genai folder (relative to agent.yaml)."""
    base_url: str = ""
    """Such as http://127.0.0.1:8000/v1; several servers of the same model, separated by commas."""
    model: str = ""
    """The model to ask for there, or at the profile's server."""
    api_key_env: str = "VOICEAGENT_LLM_API_KEY"
    """The environment variable that holds the server's key."""
    temperature: Annotated[float, msgspec.Meta(ge=0, le=2)] = 0.0
    max_tokens: Annotated[int, msgspec.Meta(ge=1, le=4096)] = 200
    first_token_timeout_s: Timeout = 10.0
    """A server that has sent nothing for this long is given up; another server is asked if there is one."""
    inactivity_timeout_s: Timeout = 3.0
    """A reply that pauses for this long after its beginning is given up: the fallback continues it, or the apology is said."""
    total_timeout_s: Timeout = 60.0
    """A reply that takes longer is ended at the server."""
    fallback: str = ""
    """The profile whose language model answers while the server does not; empty: none does."""
    long_history_tokens: Annotated[int, msgspec.Meta(ge=0)] | None = None
    """A conversation of more, by estimate, instructions and tools not counted, loses its older half between turns. 0: only where
    the model's context is full. None: what the profile's language model names, else 6000."""
    summarise: bool = RULES.memory.summarise
    """True if the language model sums that half up."""

    def __post_init__(self) -> None:
        for url in filter(None, map(str.strip, self.base_url.split(","))):
            try:
                check_address(url, query=False, secrets_go=KEY_GOES)
            except ValueError as error:
                raise ValueError(f"base_url {error}") from error
        if not _VARIABLE.fullmatch(self.api_key_env):  # the name may be the key itself
            raise ValueError(f"api_key_env names no environment variable; {KEY_GOES}")


REMOTE = "remote"
"""The engine that asks a model server."""


class OwnModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model of your own in place of the profile's; its options are under `options`."""

    engine: str = ""
    """Empty: the engine that fits the files at `path`."""
    path: str = ""
    """Its file or folder (relative to agent.yaml): a Whisper in CTranslate2 format, a Piper voice's `.onnx`."""
    url: str = ""
    """In place of files, a model server that runs it: `grpc://HOST:PORT`, `grpcs://HOST:PORT`; the engine is `remote`."""

    def __post_init__(self) -> None:
        if self.url and self.path:
            raise ValueError("url and path are both set; a model server has models of its own: leave one of the two out")
        if self.url and self.engine not in ("", REMOTE):
            raise ValueError(f"url is set, and engine is {self.engine}; only the engine {REMOTE} has a model server")


class EngineOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of the engines, which override the profile's; each engine checks their names and values."""

    stt: dict[str, object] = {}
    llm: dict[str, object] = {}
    tts: dict[str, object] = {}


Example = Annotated[str, msgspec.Meta(min_length=1, max_length=120, pattern=r"\S")]
Keep = Literal["nothing", "facts", "transcripts", "event_logs"]


class TelemetrySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Traces and metrics by OpenTelemetry."""

    otlp: str = ""
    """A collector's address for OTLP by HTTP, such as http://127.0.0.1:4318; empty: nothing is sent."""

    def __post_init__(self) -> None:
        if self.otlp and not self.otlp.startswith(("http://", "https://")):
            raise ValueError("otlp: expected the address of a collector, such as http://127.0.0.1:4318")


class RecordSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The records of calls that the server keeps."""

    keep: Keep = "nothing"
    """`facts`: which call it was, how it ended, the times of its turns, the names of tools; no word that was said. `transcripts`:
    besides, what was said and heard, and what tools were given and answered. `event_logs`: besides, all that `voiceagent replay`
    needs to decide again."""
    keep_days: Annotated[int, msgspec.Meta(ge=1, le=3650)] = 30
    """Older calls are deleted when the server starts, and hourly."""
    max_calls: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 10_000
    """Only the newest so many are kept."""
    stream_hours: Annotated[int, msgspec.Meta(ge=1, le=8760)] = 24
    """The events of a call leave Redis so long after the last one, where `$VOICEAGENT_EVENTS` names a Redis."""
    redact: Annotated[tuple[PersonalKind, ...], msgspec.Meta(max_length=4)] = ()
    """Kinds of personal data that are taken out of all that is kept, of the log and of results."""

    def __post_init__(self) -> None:
        if self.redact and self.keep == "event_logs":
            raise ValueError(
                "redact cannot hold for keep: event_logs, because a log that replays has every word as it came; keep transcripts"
            )


class AgentConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One agent: `agent.yaml`."""

    name: str = "Agent"
    instructions: str = "You are a friendly voice assistant. Answer in one or two short sentences."
    language: str = "en"
    """The spoken language: a code such as `de`, or `auto`: one of `languages`. It sets the recogniser, how written forms are
    read, the guards' number words, turn-taking and what the agent says by itself."""
    languages: Annotated[tuple[str, ...], msgspec.Meta(max_length=32)] = ()
    """The languages that `auto` chooses among; the call begins in the first. Empty: English and those of `voices`, or without
    `voices` all that have a file."""
    examples: Annotated[tuple[Example, ...], msgspec.Meta(max_length=5)] = ()
    """Things that a caller could say, which the page offers."""
    profile: str = "auto"
    """A profile's name, or `auto`: the best whose models are on this machine, see `models.choice`."""
    models: str = ""
    """A file with models and profiles of your own, beside the shipped registry (relative to this file)."""
    budgets: str = ""
    """A file of latency budgets (relative to this file). Empty: the shipped ones. `--budgets` goes before it."""
    stt: OwnModel = OwnModel()
    tts: OwnModel = OwnModel()
    voices: Mapping[str, str] = {}
    """Piper voices by the code of the language that they speak (relative to this file), in place of the one voice."""
    tools: tuple[str | ToolEntry, ...] = ()
    """Python files (relative to this file) or importable modules that hold `@tool` functions, MCP servers, webhooks."""
    steps: Steps = {}
    """The agent's steps by name, if it is a graph; the first one is the beginning."""
    collect: Collected = {}
    """The parameters of tools that the turn engine collects before it runs them: their kinds, by `tool.parameter`."""
    agents: Mapping[str, AgentConfig] = {}
    """The agents to which steps hand the call off, by the names of their files: set when the file is loaded."""
    file: str = ""
    """The name of its own file among them: set when the file is loaded."""
    end_call: bool = False
    """True if the agent may end the call: the language model gets the tool `end_call`."""
    context: Annotated[tuple[ContextEntry, ...], msgspec.Meta(max_length=16)] = ()
    """Folders of documents (relative to this file) and other sources, asked while the caller speaks."""
    vocabulary: Words | VocabularySettings = ()
    """Names, products, streets and the like: what the recogniser reckons with, and how the voice says it."""
    phrases: PhraseSettings = PhraseSettings()
    prompts: PromptSettings = PromptSettings()
    turn: TurnSettings = TurnSettings()
    llm: LlmSettings = LlmSettings()
    options: EngineOptions = EngineOptions()
    guard: GuardSettings = GuardSettings()
    speech: SpeechSettings = SpeechSettings()
    admission: AdmissionSettings = AdmissionSettings()
    http: HttpSettings = HttpSettings()
    ice: IceSettings = IceSettings()
    media: MediaSettings = MediaSettings()
    telephony: TelephonySettings = TelephonySettings()
    records: RecordSettings = RecordSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    base_dir: str = "."
    """The folder where relative paths start: set to the file's folder when loaded."""

    def __post_init__(self) -> None:
        check_languages(self.language, self.languages, self.voices)
        words_of(self.vocabulary)

    @property
    def budgets_file(self) -> Path:
        """The file of its latency budgets."""
        return Path(self.base_dir) / self.budgets if self.budgets else default_budgets_file()

    @property
    def spoken_languages(self) -> tuple[str, ...]:
        """The codes of the languages that a caller may speak, that of a call's beginning first."""
        return agents_languages(self.languages, self.voices) if self.language == AUTO else (self.language,)


def load_agent(path: Path) -> AgentConfig:
    """Read `agent.yaml`, and the files of the agents that it hands calls off to. Raises ConfigError, which names the file, the
    line and the setting that is wrong."""
    first, file = _read(path)
    root = path.resolve()
    read = {root: (first, file)}
    names = {root: root.name}
    waiting = [root]
    while waiting:
        at = waiting.pop(0)
        agent, file = read[at]
        for step, settings in agent.steps.items():
            if not settings.handoff or (there := (at.parent / settings.handoff).resolve()) in read:
                continue
            if len(read) > MAX_AGENTS:
                raise file.error(f"step {step}: at most {MAX_AGENTS} agents can take a call over", "steps", step, "handoff")
            if not there.is_file():
                near = did_you_mean(settings.handoff, [os.path.relpath(one, at.parent) for one in there.parent.glob("*.y*ml")])
                raise file.error(f"step {step}: there is no file {settings.handoff!r:.80}{near}", "steps", step, "handoff")
            read[there] = _read(there)
            names[there] = Path(os.path.relpath(there, root.parent)).as_posix()
            _check_takes_over(first, root.name, *read[there])
            waiting.append(there)
    named = {at: _with_names(agent, at, names) for at, (agent, _) in read.items()}
    handed = {names[at] for at, (agent, _) in read.items() for at in _handed_off_to(agent, at)}
    agents = {names[at]: one for at, one in named.items() if names[at] in handed}
    return msgspec.structs.replace(named[root], agents=agents)


MAX_AGENTS = 16
"""The most agents that a call may be handed off to."""
ONE_PER_CALL = ("profile", "models", "stt", "llm", "admission", "http", "ice", "media", "telephony", "records")
"""Settings that cannot change within a call. An agent that takes it over has those of the first one."""


def _read(path: Path) -> tuple[AgentConfig, SettingsFile]:
    file = SettingsFile(path, "see docs/agent.md for the settings", "`name: My agent`")
    keep_secrets_of(file.data, os.environ)
    if "base_dir" in file.data:
        raise file.error("base_dir is no setting: relative paths start in the file's folder; leave it out", "base_dir")
    for key in ("agents", "file"):
        if key in file.data:
            raise file.error(f"{key} is no setting: a step names the file of another agent with `handoff`; leave it out", key)
    agent = file.converted(AgentConfig)
    for message, keys in step_mistakes(agent.steps):
        raise file.error(message, *keys)
    for message, key in parameter_mistakes(agent.collect, agent.steps):
        raise file.error(message, "collect", key)
    return msgspec.structs.replace(agent, base_dir=str(path.resolve().parent)), file


def _handed_off_to(agent: AgentConfig, at: Path) -> Iterator[Path]:
    return ((at.parent / step.handoff).resolve() for step in agent.steps.values() if step.handoff)


def _with_names(agent: AgentConfig, at: Path, names: Mapping[Path, str]) -> AgentConfig:
    """The agent, whose steps name other agents as `agents` does."""
    replace = msgspec.structs.replace
    steps = {
        name: replace(step, handoff=names[(at.parent / step.handoff).resolve()]) if step.handoff else step
        for name, step in agent.steps.items()
    }
    return replace(agent, steps=steps, file=names[at])


def _check_takes_over(first: AgentConfig, name: str, other: AgentConfig, file: SettingsFile) -> None:
    """Check that a call of the first agent, in a file of this name, can be handed off to the other one. Raises ConfigError."""
    for key in ONE_PER_CALL:
        if key in file.data and getattr(other, key) != getattr(first, key):
            raise file.error(f"{key} is another one than in {name}, and cannot change within a call; leave it out here", key)
    for part in ("stt", "llm"):
        options = getattr(other.options, part)
        if options and options != getattr(first.options, part):
            at = ("options", part)
            raise file.error(f"options.{part} are others than in {name}, and cannot change within a call; leave them out", *at)
    deaf = [code for code in other.spoken_languages if code not in first.spoken_languages]
    if deaf or (other.language == AUTO and first.language != AUTO):
        heard = ", ".join(first.spoken_languages)
        wanted = ", ".join(dict.fromkeys([*first.spoken_languages, *other.spoken_languages]))
        raise file.error(
            f"the language is {other.language}, and in a call of {name} only {heard} is heard; write `language: auto` and "
            f"`languages: [{wanted}]` there",
            "language",
        )


def taking_over(first: AgentConfig, other: AgentConfig) -> AgentConfig:
    """The other agent as it goes on with a call of the first one, whose models and lines it has. The first one's `stt`, `llm` and
    `telephony` name files by its own folder."""
    options = msgspec.structs.replace(other.options, stt=first.options.stt, llm=first.options.llm)
    turn = msgspec.structs.replace(other.turn, judges=first.turn.judges)
    return msgspec.structs.replace(other, options=options, turn=turn, **{key: getattr(first, key) for key in ONE_PER_CALL})


def data_dir() -> Path:
    """The folder of what a server keeps: `$VOICEAGENT_DATA`, else the user's data folder."""
    chosen = os.environ.get("VOICEAGENT_DATA")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "voiceagent"


def store_address() -> StoreAddress:
    """The store of calls: the database at `$VOICEAGENT_STORE`, else a file in the data folder. Raises ConfigError."""
    return chosen_store(os.environ.get(VARIABLE, "").strip(), data_dir())


def events_address() -> RedisAddress | None:
    """The Redis that calls' events go to, besides the store: that of `$VOICEAGENT_EVENTS`. Raises ConfigError."""
    return chosen_redis(os.environ.get(EVENTS_VARIABLE, "").strip())


def models_cache_dir() -> Path:
    """The folder of pulled models: `$VOICEAGENT_MODELS`, else the user's cache folder."""
    chosen = os.environ.get("VOICEAGENT_MODELS")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "voiceagent" / "models"
