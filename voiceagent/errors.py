"""The error tree. Every error that a user can cause derives from `VoiceAgentError` and says, in one line,
what is wrong, which value was found, what was expected and what to do."""


class VoiceAgentError(Exception):
    """Base of all errors that are reported as one clear line instead of a traceback."""


class ConfigError(VoiceAgentError):
    """A configuration file, flag or environment variable holds a value that cannot be used."""


class UnknownNameError(ConfigError):
    """A profile or a model was named that does not exist. The command line exits with 2, as for any wrong usage."""


class ModelError(VoiceAgentError):
    """A model is missing, corrupt or cannot be loaded."""


class EngineError(VoiceAgentError):
    """An engine (speech recognition, language model, speech synthesis) failed while serving a call."""

    def __init__(self, message: str, kind: str = "failed") -> None:
        """`kind` is a slug under which the failure is counted."""
        super().__init__(message)
        self.kind = kind


class MediaError(VoiceAgentError):
    """A media leg was offered or received something that it cannot carry (malformed SDP, no audio …)."""


class ProtocolError(VoiceAgentError):
    """A client sent an event that the wire protocol does not allow."""
