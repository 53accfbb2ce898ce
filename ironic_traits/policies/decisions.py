"""An enforcer of oslo.policy that remembers its decisions."""

import time
from collections.abc import Iterable, MutableMapping
from typing import Any

from oslo_policy import policy

#: Seconds after which the policy files are looked at again.
MAX_AGE = 1
#: Decisions that a process remembers.
_MOST = 10_000


class Enforcer(policy.Enforcer):
    """An enforcer that decides once what is asked again, until a policy file changes.

    A request asks up to 19 questions. For each of them, oslo.policy looks for its files, and inspects the signature of
    each check of the rule, which takes 0.4 ms. If one of the rules asks another server (``http:``), nothing is
    remembered.
    """

    def __init__(self, conf: Any) -> None:
        #: {(rule, target, who asks): decision}; None if a rule asks another server.
        self._decisions: dict[tuple[str, str, str], bool] | None = None
        self._until = 0.0
        super().__init__(conf)

    def load_rules(self, force_reload: bool = False) -> None:
        """Read the policy files if they have changed. Look at them at most once a second."""
        if not force_reload and time.monotonic() <= self._until:
            return
        before = list(self.rules.values())
        super().load_rules(force_reload)
        if list(self.rules.values()) != before:
            self._forget()
        self._until = time.monotonic() + MAX_AGE

    def set_rules(self, rules: MutableMapping[str, Any], overwrite: bool = True, use_conf: bool = False) -> None:
        """Replace the rules, or some of them."""
        super().set_rules(rules, overwrite, use_conf)
        self._forget()

    def authorize(self, rule: str, target: Any, creds: Any, *arguments: Any, **options: Any) -> bool:
        """Whether a rule allows something. Decisions are remembered if ``creds`` is a Context.

        :raises oslo_policy.policy.PolicyNotRegistered: there is no such rule.
        """
        caller = getattr(creds, 'caller', None)
        self.load_rules()
        # Another thread may read other rules, and replace this dict: it then does not get the decision by the old ones.
        decisions = self._decisions
        if decisions is None or caller is None or arguments or options:
            return super().authorize(rule, target, creds, *arguments, **options)
        key = rule, repr(target), caller
        decision = decisions.get(key)
        if decision is None:
            decision = super().authorize(rule, target, creds)
            if len(decisions) >= _MOST:
                decisions.clear()
            decisions[key] = decision
        return decision

    def _forget(self) -> None:
        self._decisions = {} if _are_local(list(self.rules.values())) else None


def _are_local(checks: Iterable[Any]) -> bool:
    """Whether checks, and those in them, ask no other server: they are in oslo.policy's module of checks."""
    for check in checks:
        inner = [check.rule] if isinstance(check, policy.NotCheck) else getattr(check, 'rules', ())
        if type(check).__module__ != policy.Check.__module__ or not _are_local(inner):
            return False
    return True
