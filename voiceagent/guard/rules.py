"""The built-in guard: the rules that an agent's settings switch on, checked one after the other, without waiting."""

from __future__ import annotations

from typing_extensions import override

from voiceagent.guard.numbers import CardNumbers, PhoneNumbers
from voiceagent.guard.phrases import BlockedPhrases, Topics
from voiceagent.guard.secrets import Secrets
from voiceagent.guard.settings import GuardRules
from voiceagent.guard.steps import PausingRule, Steps, at_once
from voiceagent.guard.verdict import Guard, Rule, Verdict


class RuleGuard(Guard):
    """Checks text by an agent's rules. One for all calls."""

    def __init__(self, settings: GuardRules, code: str = "en") -> None:
        self._rules: list[Rule] = []
        if settings.secrets:
            self._rules.append(Secrets())
        if settings.cards:
            self._rules.append(CardNumbers(code))
        if settings.phones:
            self._rules.append(PhoneNumbers(settings.region, code))
        if settings.phrases:
            self._rules.append(BlockedPhrases(settings.phrases))
        if settings.topics:
            self._rules.append(Topics(settings.topics))

    def __bool__(self) -> bool:
        return bool(self._rules)

    @override
    def check_output(self, said: str, window: str, *, last: bool) -> Verdict:
        return at_once(self.output_steps(said, window, last=last))

    def output_steps(self, said: str, window: str, *, last: bool) -> Steps:
        """The steps of `check_output`, for checks that pause. The earlier text was allowed, so a hit in both together reaches
        into the window."""
        verdict = yield from self._steps(said + window, last=last)
        return Verdict(hold=min(verdict.hold, len(window))) if verdict.hold else verdict

    @override
    def check_input(self, text: str) -> Verdict:
        return at_once(self.input_steps(text))

    def input_steps(self, text: str) -> Steps:
        """The steps of `check_input`."""
        return self._steps(text, last=True)

    def _steps(self, text: str, *, last: bool) -> Steps:
        hold = 0
        for rule in self._rules:
            yield
            verdict = (yield from rule.steps(text, last=last)) if isinstance(rule, PausingRule) else rule.find(text, last=last)
            if verdict.blocked:
                return verdict
            hold = max(hold, verdict.hold)
        return Verdict(hold=hold)
