"""Tools' Python files, loaded and loaded anew."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from voiceagent.errors import ConfigError
from voiceagent.tools.modules import load_tools, loaded_anew, module_folders, own_modules

TOOLS = """
from prices_of_{name} import PRICE
from voiceagent.tools import tool


@tool(effect="none")
def price() -> int:
    '''The price.'''
    return PRICE
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with tools, and a module beside them."""
    (tmp_path / "tools.py").write_text(TOOLS.format(name=tmp_path.name))
    write_price(tmp_path, 1)
    return tmp_path


def write_price(folder: Path, price: int) -> None:
    """The module, with the same size and time of change whatever the price."""
    file = folder / f"prices_of_{folder.name}.py"
    file.write_text(f"PRICE = {price}\n")
    os.utime(file, (1_000_000, 1_000_000))


def price(folder: Path) -> object:
    return load_tools("tools.py", folder)[0].function()


def test_a_file_imports_what_stands_beside_it(folder: Path) -> None:
    assert price(folder) == 1


def test_what_stands_beside_a_file_is_loaded_anew_even_in_the_same_second(folder: Path) -> None:
    old = load_tools("tools.py", folder)[0]
    write_price(folder, 2)
    assert price(folder) == 1, "it is loaded once"
    with loaded_anew([folder]):
        assert price(folder) == 2
    assert price(folder) == 2
    assert old.function() == 1, "a tool that runs keeps its module"


def test_after_a_mistake_the_old_modules_are_back(folder: Path) -> None:
    assert price(folder) == 1
    before = own_modules([folder])
    write_price(folder, 2)
    (folder / "tools.py").write_text("import nothing_of_this_name\n")
    with pytest.raises(ConfigError, match=r"tools.py:1: fails to import \(ModuleNotFoundError"), loaded_anew([folder]):
        load_tools("tools.py", folder)
    assert own_modules([folder]) == before
    assert price(folder) == 1


def test_neither_python_nor_installed_packages_nor_this_one_are_an_agents_own(folder: Path) -> None:
    tools = load_tools("tools.py", folder)[0].function.__module__
    assert set(own_modules([folder])) == {f"prices_of_{folder.name}", tools}
    everything = own_modules([Path("/")])
    assert not {"asyncio", "aiohttp", "voiceagent.tools.modules", "__main__"} & everything.keys()


def test_modules_by_name_bring_the_folder_they_stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    name = f"shop_{tmp_path.name}"
    (other / f"{name}.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(str(other))
    __import__(name)
    assert module_folders(["tools.py", name, "aiohttp.web"], folder) == {folder, other}
    del sys.modules[name]
