"""Finds the `@tool` functions of a Python file or an importable module. Every mistake is one line that names the file."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from voiceagent.errors import ConfigError
from voiceagent.tools.decorator import FunctionTool


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
