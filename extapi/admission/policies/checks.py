"""How often policies have been asked, and what came of it: for metrics. Must not know how they are shown.

Source: ``k8s.io/apiserver/pkg/admission/plugin/policy/validating`` errors.go, metrics/metrics.go.
"""

from __future__ import annotations

from typing import Final

MOST: Final = 10_000
"""Combinations that are counted; policies that come and go bring new ones."""

Labels = tuple[str, str, str, str]
"""Policy, binding, type of the error, action."""


class PolicyChecks:
    """Counts decisions."""

    def __init__(self) -> None:
        self.counts: dict[Labels, int] = {}

    def note(self, policy: str, binding: str, error: str, action: str) -> None:
        """Count a decision.

        Args:
            policy: The name of the policy.
            binding: The name of the binding.
            error: Why there is no answer; empty if there is one.
            action: ``allow``, ``deny``, ``warn`` or ``audit``.
        """
        labels = policy, binding, error_type(error), action
        if labels in self.counts or len(self.counts) < MOST:
            self.counts[labels] = self.counts.get(labels, 0) + 1


MutationLabels = tuple[str, str, str]
"""Policy, binding, type of the error."""


class MutationChecks:
    """Counts mutations.

    Source: ``k8s.io/apiserver/pkg/admission/plugin/policy/mutating`` errors.go, metrics/metrics.go.
    """

    def __init__(self) -> None:
        self.counts: dict[MutationLabels, int] = {}

    def note(self, policy: str, binding: str, error: str) -> None:
        """Count a mutation.

        Args:
            policy: The name of the policy.
            binding: The name of the binding.
            error: Why it has failed; empty if it has not.
        """
        labels = policy, binding, error_type(error) if error else "no_error"
        if labels in self.counts or len(self.counts) < MOST:
            self.counts[labels] = self.counts.get(labels, 0) + 1


def error_type(error: str) -> str:
    """The type of an error, as kube-apiserver tells it from the text; a decision that denies has one, too."""
    if error.startswith("compilation"):
        return "compile_error"
    if error.startswith("validation failed due to running out of cost budget"):
        return "out_of_budget"
    return "invalid_error"
