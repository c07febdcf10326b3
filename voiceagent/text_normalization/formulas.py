"""Formulas as LaTeX writes them, to words. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable

_WORDS = {
    "times": "times",
    "cdot": "times",
    "div": "divided by",
    "pm": "plus or minus",
    "approx": "is about",
    "neq": "is not",
    "ne": "is not",
    "le": "is at most",
    "leq": "is at most",
    "ge": "is at least",
    "geq": "is at least",
    "to": "to",
    "rightarrow": "to",
    "Rightarrow": "so",
    "implies": "so",
    "infty": "infinity",
    "circ": "degrees",
    "ldots": "and so on",
    "dots": "and so on",
    "cdots": "and so on",
    "sum": "the sum of",
    "int": "the integral of",
    "percent": "percent",
}
_GREEK = frozenset(
    ("alpha", "beta", "gamma", "delta", "epsilon", "theta", "lambda", "mu", "pi", "rho", "sigma", "tau", "phi", "omega")
)
_SIGNS = {"=": "equals", "+": "plus", "×": "times", "÷": "divided by", "≈": "is about", "<": "is less than", ">": "is more than"}
_INNER = r"\{([^{}]*)\}"
_FRACTION = re.compile(rf"\\[dt]?frac\s*{_INNER}\s*{_INNER}")
_ROOT = re.compile(rf"\\sqrt\s*{_INNER}")
_POWER = re.compile(r"\^\s*(?:\{([^{}]*)\}|(\\[a-zA-Z]+|\w))")
_INDEX = re.compile(rf"_\s*(?:{_INNER}|(\w))")
_GROUP = re.compile(rf"\\[a-zA-Z]+\s*{_INNER}")
_COMMAND = re.compile(r"\\([a-zA-Z]+)")
_POWERS = {"2": "squared", "3": "cubed", "\\circ": "degrees"}
MOST_PASSES = 8


def is_command(name: str) -> bool:
    """True if `\\name` is known outside of a formula too."""
    return name in _WORDS or name in _GREEK


def in_english(formula: str) -> str:
    """A formula as it is read out."""
    formula = _structured(formula, " {} over {} ", " the square root of {} ", _power)
    formula = _COMMAND.sub(lambda match: f" {_WORDS.get(match[1], match[1] if match[1] in _GREEK else '')} ", formula)
    for sign, word in _SIGNS.items():
        formula = formula.replace(sign, f" {word} ")
    formula = re.sub(r"(?<=[\w)])\s+-\s+(?=[\w(])", " minus ", formula)
    return _bare(formula.replace("*", " times "))


def as_written(formula: str) -> str:
    """A formula without LaTeX's marks, in no language."""
    formula = _structured(formula, "{}/{}", "√{}", lambda exponent: "°" if exponent == "\\circ" else f"^{exponent}")
    return _bare(_COMMAND.sub(" ", formula.replace("\\times", "×").replace("\\cdot", "×")))


def _structured(formula: str, fraction: str, root: str, power: Callable[[str], str]) -> str:
    """Resolve the innermost groups first, then the outer ones."""
    for _ in range(MOST_PASSES):
        before = formula
        formula = _POWER.sub(lambda match: f" {power(match[1] if match[1] is not None else match[2])} ", formula)
        formula = _FRACTION.sub(lambda match: fraction.format(match[1], match[2]), formula)
        formula = _ROOT.sub(lambda match: root.format(match[1]), formula)
        formula = _GROUP.sub(lambda match: f" {match[1]} ", formula)
        formula = _INDEX.sub(lambda match: f" {match[1] or match[2] or ''} ", formula)
        if formula == before:
            break
    return formula


def _power(exponent: str) -> str:
    return _POWERS.get(exponent.strip(), f"to the power of {exponent}")


def _bare(formula: str) -> str:
    text = re.sub(r"\\[,;!: ]|\\\\|[{}$\\&]|~", " ", formula.replace("\\%", "%"))
    return re.sub(r"\s+([,.;:!?)%])", r"\1", " ".join(text.split()))
