"""The Python modules that hold an agent's tools: files beside agent.yaml, which may import others beside them, and installed
modules. They can be loaded anew while the functions of the old ones still run."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType

from voiceagent.errors import ConfigError
from voiceagent.tools.decorator import FunctionTool

_OURS = "voiceagent"
_INSTALLED = frozenset({"site-packages", "dist-packages"})


def load_tools(name: str, base_dir: Path) -> list[FunctionTool[..., object]]:
    """The tools of `name`, in the order of their definition. `name` is a path that ends in `.py`, relative to `base_dir`, or a
    module's dotted name. Raises ConfigError: not found, fails to import, holds no tools."""
    module = _load_file(base_dir / name) if name.endswith(".py") else _load_module(name)
    found: list[FunctionTool[..., object]] = []
    for value in vars(module).values():
        if isinstance(value, FunctionTool) and not any(value is earlier for earlier in found):
            found.append(value)
    if not found:
        raise ConfigError(f"tools {name}: holds no @tool function; import `tool` from voiceagent.tools and decorate one")
    return found


def _load_file(path: Path) -> ModuleType:
    path = path.resolve()
    if not path.is_file():
        raise ConfigError(f"tools {path}: no such file; paths in `tools:` are relative to agent.yaml")
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))  # last: a module beside it takes no other one's place
    name = f"voiceagent_tools_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ConfigError(f"tools {path}: cannot be read as a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except ConfigError as error:
        del sys.modules[name]
        raise ConfigError(f"tools {path}: {error}") from error
    except Exception as error:
        del sys.modules[name]
        raise ConfigError(f"tools {path}{_line(error, path)}: fails to import ({_short(error)})") from error
    return module


def _load_module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ConfigError as error:
        raise ConfigError(f"tools {name}: {error}") from error
    except Exception as error:
        raise ConfigError(
            f"tools {name}: fails to import ({_short(error)}); expected a .py file beside agent.yaml or an installed module"
        ) from error


def _short(error: Exception) -> str:
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _line(error: Exception, path: Path) -> str:
    """`:12` when the traceback or the syntax error points into the file."""
    if isinstance(error, SyntaxError) and error.lineno:
        return f":{error.lineno}"
    line = ""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = f":{trace.tb_lineno}"
        trace = trace.tb_next
    return line


def own_modules(folders: Iterable[Path]) -> dict[str, ModuleType]:
    """The loaded modules whose files lie in these folders, by name: an agent's own code. Python's and installed ones are not
    among them, nor is this package."""
    roots = {f"{folder.resolve()}{os.sep}" for folder in folders}
    outside = {f"{Path(prefix).resolve()}{os.sep}" for prefix in (sys.prefix, sys.base_prefix)}
    outside = {prefix for prefix in outside if not any(root.startswith(prefix) for root in roots)}
    found: dict[str, ModuleType] = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or name == "__main__" or name.partition(".")[0] == _OURS:
            continue
        is_beside = any(file.startswith(root) for root in roots) and not any(file.startswith(prefix) for prefix in outside)
        if is_beside and not _INSTALLED.intersection(Path(file).parts):
            found[name] = module
    return found


def module_folders(names: Iterable[str], base_dir: Path) -> set[Path]:
    """The folders of the modules that `tools:` names, whose other modules are the agent's own, too: `base_dir`, and those of
    modules by their dotted names that are loaded."""
    tops = (sys.modules.get(name.partition(".")[0]) for name in names if not name.endswith(".py"))
    files = (getattr(module, "__file__", None) for module in tops)
    paths = {Path(file).parent for file in files if isinstance(file, str)}
    named = {(base_dir / name).parent for name in names if name.endswith(".py")}
    return {base_dir, *named, *(path for path in paths if not _INSTALLED.intersection(path.parts))}


@contextmanager
def loaded_anew(folders: Iterable[Path]) -> Iterator[None]:
    """In the body, the own modules of these folders are imported from their files again. If it raises, the old ones are back.
    Functions of old modules keep them, and run on."""
    roots = list(folders)
    old = own_modules(roots)
    for name, module in old.items():
        del sys.modules[name]
        _forget_compiled(module)
    importlib.invalidate_caches()
    try:
        yield
    except BaseException:
        for name in own_modules(roots):
            del sys.modules[name]
        sys.modules.update(old)
        raise


def _forget_compiled(module: ModuleType) -> None:
    """Delete a module's compiled file. Python takes it for current if the source has the same size and the same second."""
    compiled = getattr(module, "__cached__", None)
    if isinstance(compiled, str):
        with suppress(OSError):
            Path(compiled).unlink()
