from tests.cli.conftest import voiceagent

__all__ = ["voiceagent"]
