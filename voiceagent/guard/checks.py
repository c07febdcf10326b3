"""All checks of one direction of a call: the built-in rules first, then the plugins, each within its deadline."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import isawaitable

from voiceagent.guard.breaker import Breaker
from voiceagent.guard.rules import RuleGuard
from voiceagent.guard.settings import GuardRules, GuardSettings, PluginSettings
from voiceagent.guard.verdict import ALLOWED, ClosingGuard, Guard, Verdict, in_moments
from voiceagent.plugins import load_plugin
from voiceagent.turn_taking.languages import language

OURS = {"http": "voiceagent.guard.screening", "nemo": "voiceagent.guard.nemo"}


def load_guard(name: str, options: Mapping[str, object], base_dir: str) -> Guard:
    """The guard that an agent names. Raises ConfigError, which names the installed guards, or says why it cannot be loaded."""
    guard: Guard = load_plugin("guard", name, "guard", OURS)(options, base_dir)
    return guard


log = logging.getLogger(__name__)

Answer = Verdict | Awaitable[Verdict]
Count = Callable[[str], object]
"""Counts a plugin's check by its outcome, such as `http: late`."""
OUTCOMES = ("answered", "late", "failed", "not_asked")


@dataclass(frozen=True, slots=True)
class Plugin:
    """A loaded plugin with its settings."""

    guard: Guard
    settings: PluginSettings
    breaker: Breaker = field(default_factory=Breaker)


class Checks:
    """The checks of one direction. All calls share them; they keep no state of any call."""

    def __init__(
        self, settings: GuardRules, line: str, base_dir: str, code: str = "en", count: Count = lambda outcome: None
    ) -> None:
        """`line` is said where the settings name none. Plugins find their files relative to `base_dir`. Raises ConfigError."""
        self._settings = settings
        self._line = settings.line or line
        self._count = count
        self._rules = RuleGuard(settings, code)
        self._plugins: Sequence[Plugin] = [
            Plugin(load_guard(chosen.name, chosen.options, base_dir), chosen) for chosen in settings.plugins
        ]

    def __bool__(self) -> bool:
        """True if anything is checked."""
        return bool(self._rules) or bool(self._plugins)

    @property
    def asks_plugins(self) -> bool:
        """True if a verdict may have to be waited for."""
        return bool(self._plugins)

    async def output(self, said: str, window: str, *, last: bool, asked: Callable[[str], object] | None = None) -> Verdict:
        """The verdict on a window of a reply, with the line to say. `asked` is told what plugins are asked about, before they
        answer."""
        verdict = await in_moments(self._rules.output_steps(said, window, last=last)) if self._rules else ALLOWED
        settled = window[: len(window) - verdict.hold]
        if not verdict.blocked and settled and self._plugins:
            if asked is not None:
                asked(settled)
            answer = await self._ask(lambda guard: guard.check_output(said, settled, last=last))
            verdict = replace(answer, hold=max(answer.hold, 0) + verdict.hold)
        return self._with_line(verdict)

    async def input(self, text: str) -> Verdict:
        """The verdict on an utterance of the caller, with the line to say."""
        verdict = await in_moments(self._rules.input_steps(text)) if self._rules else ALLOWED
        if not verdict.blocked and text and self._plugins:
            verdict = await self._ask(lambda guard: guard.check_input(text))
        return self._with_line(verdict)

    async def partial_input(self, stable: str, unstable: str) -> tuple[str, str]:
        """The part of an open utterance that may be prefilled, and the rest. Only the built-in rules check it, because they are
        quick. Words that may begin a hit wait with the unstable ones. A hit leaves nothing but a note."""
        if not self._rules:
            return stable, unstable
        verdict = await in_moments(self._rules.input_steps(f"{stable} {unstable}"))
        if verdict.blocked:
            return "", withheld(verdict)
        hold = (await in_moments(self._rules.output_steps("", stable, last=False))).hold
        settled = len(stable) - hold
        return stable[:settled].rstrip(), f"{stable[settled:]} {unstable}".strip() if hold else unstable

    async def _ask(self, check: Callable[[Guard], Answer]) -> Verdict:
        """The plugins' verdict: the first that blocks, else the longest hold of any."""
        verdicts = await asyncio.gather(*(self._ask_one(plugin, check) for plugin in self._plugins))
        blocked = next((verdict for verdict in verdicts if verdict.blocked), None)
        return blocked or Verdict(hold=max(verdict.hold for verdict in verdicts))

    async def _ask_one(self, plugin: Plugin, check: Callable[[Guard], Answer]) -> Verdict:
        chosen, breaker = plugin.settings, plugin.breaker
        outcome = "not_asked"
        if breaker.admits(time.monotonic()):
            try:
                async with asyncio.timeout(chosen.deadline_ms / 1000):
                    answer = check(plugin.guard)
                    verdict = await answer if isawaitable(answer) else answer
                self._count(f"{chosen.name}: answered")
                if breaker.succeeded():
                    log.warning("guard %s answers again", chosen.name)
                return verdict
            except TimeoutError:
                outcome = "late"
                log.warning("guard %s did not answer within %d ms: %s", chosen.name, chosen.deadline_ms, chosen.if_late)
            except Exception as error:  # noqa: BLE001 - a plugin may raise anything; its settings say what that counts as
                outcome = "failed"
                log.warning("guard %s failed (%s: %s): %s", chosen.name, type(error).__name__, error, chosen.if_late)
            if breaker.failed(time.monotonic()):
                log.warning("guard %s is left alone for now: %s", chosen.name, chosen.if_late)
        self._count(f"{chosen.name}: {outcome}")
        return Verdict(f"{chosen.name}: no answer") if chosen.if_late == "block" else ALLOWED

    async def close(self) -> None:
        """Close the plugins that hold connections."""
        for plugin in self._plugins:
            if isinstance(plugin.guard, ClosingGuard):
                await plugin.guard.close()

    def _with_line(self, verdict: Verdict) -> Verdict:
        if not verdict.blocked:
            return verdict
        return replace(verdict, line=self._settings.lines.get(verdict.rule) or verdict.line or self._line)


@dataclass(frozen=True, slots=True)
class Admitted:
    """The caller's words, as far as they may be used."""

    text: str
    """The caller's words, or a note that they are withheld."""
    verdict: Verdict
    guard_ms: float
    """Duration of the check."""


async def admit(checks: Checks, text: str) -> Admitted:
    """Check what the caller said."""
    began = time.perf_counter()
    verdict = await checks.input(text) if checks and text else ALLOWED
    guard_ms = (time.perf_counter() - began) * 1000 if checks else 0.0
    return Admitted(withheld(verdict) if verdict.blocked else text, verdict, guard_ms)


def withheld(verdict: Verdict) -> str:
    """The note that replaces the caller's words."""
    return f"(withheld: {verdict.rule})."


@dataclass(frozen=True, slots=True)
class Guards:
    """Both directions of an agent's calls."""

    output: Checks
    input: Checks
    window_tokens: int

    async def close(self) -> None:
        """Close the plugins' connections."""
        await self.output.close()
        await self.input.close()


def load_guards(settings: GuardSettings, base_dir: str = ".", code: str = "en", count: Count = lambda outcome: None) -> Guards:
    """The guards of an agent whose language has that code. Raises ConfigError when a plugin cannot be loaded."""
    sayings = language(code).sayings
    return Guards(
        Checks(settings.output, sayings.blocked_output, base_dir, code, lambda outcome: count(f"output: {outcome}")),
        Checks(settings.input, sayings.blocked_input, base_dir, code, lambda outcome: count(f"input: {outcome}")),
        settings.window_tokens,
    )
