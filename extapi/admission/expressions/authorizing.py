"""The variable ``authorizer`` of match conditions: checks that have to be waited for, in a language that does not wait.

A check without an answer ends the evaluation with :class:`Unanswered`; who evaluates asks the authorizer and evaluates again.
An expression can pay for two checks, so this happens a few times at most.
"""

from __future__ import annotations

from extapi.api.requestselectors import Selectors
from extapi.api.user import User
from extapi.authorization.authorizer import Attributes, AuthorizationError, Authorizer, Verdict
from extapi.errors import BadRequest, TooManyRequests
from extapi.schema.cel.library.authorization import DecisionValue, ResourceCheck

Question = tuple[str, str, tuple[str, ...], Attributes]
"""Name, uid and groups of a user, and what they want to do."""


class Unanswered(Exception):
    """A check that has to be asked first."""

    def __init__(self, user: User, attributes: Attributes) -> None:
        super().__init__()
        self.user = user
        self.attributes = attributes


class Checks:
    """The checks of one evaluation, and the answers so far (:class:`extapi.schema.cel.library.authorization.Checker`)."""

    def __init__(self, user: User, answers: dict[Question, DecisionValue] | None = None) -> None:
        self._user = user
        self._answers = {} if answers is None else answers

    def service_account(self, namespace: str, name: str) -> Checks:
        """See :class:`extapi.schema.cel.library.authorization.Checker`."""
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
        return Checks(User(f"system:serviceaccount:{namespace}:{name}", groups=groups), self._answers)

    def check_path(self, path: str, verb: str) -> DecisionValue:
        """See :class:`extapi.schema.cel.library.authorization.Checker`."""
        return self._answered(Attributes(verb, path))

    def check_resource(self, check: ResourceCheck, verb: str) -> DecisionValue:
        """See :class:`extapi.schema.cel.library.authorization.Checker`."""
        selectors = None
        if check.field_selector or check.label_selector:
            try:
                selectors = Selectors(check.label_selector, check.field_selector)
            except BadRequest as error:
                return DecisionValue(allowed=False, error=error.message)
        return self._answered(
            Attributes(
                verb,
                is_resource=True,
                group=check.group,
                version="*",
                namespace=check.namespace,
                resource=check.resource,
                subresource=check.subresource,
                name=check.name,
                selectors=selectors,
            )
        )

    async def answer(self, unanswered: Unanswered, authorizer: Authorizer) -> None:
        """Ask the authorizer."""
        user, attributes = unanswered.user, unanswered.attributes
        try:
            decision = await authorizer.authorize(user, attributes)
        except (AuthorizationError, TooManyRequests) as error:
            answer = DecisionValue(allowed=False, error=str(error))
        else:
            answer = DecisionValue(allowed=decision.verdict is Verdict.ALLOW, reason=decision.reason)
        self._answers[_question(user, attributes)] = answer

    def _answered(self, attributes: Attributes) -> DecisionValue:
        found = self._answers.get(_question(self._user, attributes))
        if found is None:
            raise Unanswered(self._user, attributes)
        return found


def _question(user: User, attributes: Attributes) -> Question:
    return user.name, user.uid, user.groups, attributes
