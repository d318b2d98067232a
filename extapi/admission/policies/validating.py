"""ValidatingAdmissionPolicy: policies of the cluster that may refuse a write, warn of it or note it (behaviour I16).

Source: ``k8s.io/apiserver/pkg/admission/plugin/policy/validating`` dispatcher.go, plugin.go, policy_decision.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from extapi.admission.base import Review
from extapi.admission.expressions.authorizing import Checks
from extapi.admission.expressions.environment import Input
from extapi.admission.expressions.evaluating import INLINE, Evaluator, Expired
from extapi.admission.matching.rules import Subject
from extapi.admission.policies.checks import PolicyChecks
from extapi.admission.policies.definition import Binding, Hook, PolicyDefinition
from extapi.admission.policies.matching import PolicyMatcher
from extapi.admission.policies.params import ParamError, Params
from extapi.admission.policies.validations import Annotation, PolicyVerdict, ValidationDecision, Validations
from extapi.admission.rulesources import RuleSources
from extapi.admission.shown import ConvertedObjects, kind_name, request_members, subject
from extapi.api.types import Obj
from extapi.client.status import error_from_status
from extapi.clock import Clock, sleep
from extapi.codec import strictjson
from extapi.errors import ApiError, Forbidden, StatusCause, Timeout

NAME: Final = "ValidatingAdmissionPolicy"
FAILURE: Final = "validation.policy.admission.k8s.io/validation_failure"
_LONGEST: Final = 10 * 1024
"""Bytes of the value of one audit annotation."""
_CODES: Final = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413}
_INVALID: Final = 422


class _Denial(NamedTuple):
    """Why the write is refused."""

    definition: PolicyDefinition[Validations]
    binding: Binding | None
    message: str
    reason: str = ""


class ValidatingPolicies:
    """The plugin. It is a validator (:class:`extapi.admission.base.Validator`).

    Args:
        matcher: Finds policies.
        params: Knows their params.
        evaluator: Runs expressions.
        clock: The reactor's clock.
        checks: Counts what came of them.
    """

    plugin_name = NAME
    rules: RuleSources | None = None
    """All configurations of the cluster; the chain asks them before it asks the plugin."""

    def __init__(
        self,
        matcher: PolicyMatcher[Validations],
        params: Params,
        evaluator: Evaluator,
        clock: Clock,
        checks: PolicyChecks,
    ) -> None:
        self._matcher = matcher
        self._params = params
        self._evaluator = evaluator
        self._clock = clock
        self._checks = checks

    def handles(self, review: Review) -> bool:
        """Whether a policy may be about the write."""
        return self._matcher.may_match(review)

    async def validate(self, review: Review) -> None:
        """Ask all policies about a write.

        Raises:
            ApiError: A policy refuses the write. All of them are asked; the answer is the first one's.
        """
        hooks = await self._matcher.candidates(review)
        if not hooks:
            return
        about, objects, denials = subject(review), ConvertedObjects(review), list[_Denial]()
        began = self._clock.seconds()
        for hook in hooks:
            asked = _Asked(hook.definition, review, about, objects)
            await self._ask(asked, hook, denials)
            now = self._clock.seconds()
            if now - began >= INLINE:
                await sleep(self._clock, 0)  # others are served, too
                began = self._clock.seconds()
            if now >= review.deadline:
                raise Timeout("Timeout: request did not complete within requested timeout", with_details=True)
        if denials:
            raise _refusal(denials[0], review)

    async def _ask(self, asked: _Asked, hook: Hook[Validations], denials: list[_Denial]) -> None:
        """Ask one policy, once for each of its bindings."""
        review, definition = asked.review, hook.definition
        try:
            version = await self._matcher.version(definition.constraints, review, asked.about, review.requested_name())
            if version is None:
                return
            await self._params.check(definition.param_kind)
        except (ApiError, ParamError) as error:
            denials += _misconfigured(definition, None, str(error))
            return
        notes: dict[str, dict[str, None]] = {}
        for binding in hook.bindings:
            try:
                if not await self._matcher.binds(binding, review, asked.about, review.requested_name()):
                    continue
                params = await self._params.collect(definition.param_kind, binding.param_ref, review.namespace)
                if not params:
                    continue
                given = await asked.input(version)
            except (ApiError, ParamError) as error:
                denials += _misconfigured(definition, binding, str(error))
                continue
            given = given._replace(namespace=await self._matcher.namespace(review))
            verdicts = await self._evaluated(definition.evaluator, given, params, version, review)
            for verdict in verdicts:
                denials += self._enforced(definition, binding, verdict.decisions, review)
                refused = _noted(definition, binding, verdict.annotations, notes)
                for each in refused:
                    self._checks.note(definition.name, binding.name, each.message, "deny")
                denials += refused
        for key, values in notes.items():
            review.annotate(f"{definition.name}/{key}", ", ".join(values))

    async def _evaluated(
        self, validations: Validations, given: Input, params: Sequence[Obj | None], version: str, review: Review
    ) -> list[PolicyVerdict]:
        """What a policy says with each param. They are evaluated together, so that many of them do not hold up others."""

        def evaluate(checks: Checks, expired: Expired) -> list[PolicyVerdict]:
            found: list[PolicyVerdict] = []
            for param in params:
                if found and expired():
                    break  # evaluated again in a thread, or the request's time is up
                found.append(validations.evaluate(given._replace(params=param), version, checks, expired))
            return found

        return await self._evaluator.run(evaluate, given.user, review.deadline)

    def _enforced(
        self,
        definition: PolicyDefinition[Validations],
        binding: Binding,
        decisions: Sequence[ValidationDecision],
        review: Review,
    ) -> list[_Denial]:
        """Do what a binding says about what is denied; why the write is refused."""
        denials: list[_Denial] = []
        actions: Sequence[str] = binding.spec.get("validationActions") or ()
        for place, decision in enumerate(decisions):
            message = decision.message
            if not decision.denies:
                if decision.error:
                    self._checks.note(definition.name, binding.name, decision.error, "allow")
                continue
            for action in actions:
                if action == "Deny":
                    denials.append(_Denial(definition, binding, message, decision.reason))
                elif action == "Audit":
                    review.annotate(FAILURE, _failure(binding, place, message, actions))
                elif action == "Warn":
                    review.warn(
                        f"Validation failed for {NAME} '{definition.name}' with binding '{binding.name}': {message}"
                    )
                self._checks.note(definition.name, binding.name, decision.error, action.lower())
        return denials


class _Asked:
    """A policy that is asked about a write, and what its expressions look at."""

    __slots__ = ("_definition", "_objects", "about", "review")

    def __init__(
        self, definition: PolicyDefinition[Validations], review: Review, about: Subject, objects: ConvertedObjects
    ) -> None:
        self._definition = definition
        self.review = review
        self.about = about
        self._objects = objects

    async def input(self, version: str) -> Input:
        """What they look at, without params and namespace.

        Raises:
            ParamError: The objects cannot be converted.
        """
        review = self.review
        try:
            shown = await self._objects.at(version)
        except ApiError as error:
            raise ParamError(f"failed to convert object version: {error}") from None
        request_version = review.path_version
        kind, request_kind = kind_name(review, version), kind_name(review, request_version)
        name = review.requested_name()
        members = request_members(review, kind, request_kind, request_version, name)
        resource = (review.group, review.resource, review.subresource, review.namespace, name)
        return Input(shown.obj, shown.old, members, review.user, resource)


def _misconfigured(definition: PolicyDefinition[Validations], binding: Binding | None, why: str) -> list[_Denial]:
    """A policy or binding that cannot be used."""
    if definition.failure_policy == "Ignore":
        return []
    what = "policy" if binding is None else "binding"
    return [_Denial(definition, binding, f"failed to configure {what}: {why}")]


def _noted(
    definition: PolicyDefinition[Validations],
    binding: Binding,
    annotations: Sequence[Annotation],
    notes: dict[str, dict[str, None]],
) -> list[_Denial]:
    """Keep audit annotations by key, each value once; why the write is refused."""
    denials: list[_Denial] = []
    for each in annotations:
        if each.error:
            denials.append(_Denial(definition, binding, each.error))
        elif each.value:
            value = each.value.encode(errors="surrogatepass")[:_LONGEST].decode(errors="replace")
            notes.setdefault(each.key, {})[value] = None
    return denials


def _failure(binding: Binding, place: int, message: str, actions: Sequence[str]) -> str:
    """The value of the audit annotation for a write that is denied."""
    failure: dict[str, Any] = {
        "message": message,
        "policy": binding.policy,
        "binding": binding.name,
        "expressionIndex": place,
        "validationActions": list(actions),
    }
    return f"[{strictjson.encode_status(failure).decode()}]"


def _refusal(denial: _Denial, review: Review) -> ApiError:
    """The answer for a write that is denied.

    Source: ``k8s.io/apiserver/pkg/admission/plugin/policy/validating`` Dispatch, reasonToCode.
    """
    bound = "" if denial.binding is None else f" with binding '{denial.binding.name}'"
    message = f"{NAME} '{denial.definition.name}'{bound} denied request: {denial.message}"
    cause = StatusCause(message=message)
    error = Forbidden.on(review.resource, review.group, review.display_name(), message, causes=[cause])
    reason = denial.reason or "Invalid"
    code = _CODES.get(reason, _INVALID)
    return error_from_status({**error.status(), "reason": reason, "code": code}, code)
