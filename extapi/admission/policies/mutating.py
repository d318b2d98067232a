"""MutatingAdmissionPolicy: policies of the cluster that may change an object, one after the other (behaviour I16).

Source: ``k8s.io/apiserver/pkg/admission/plugin/policy/mutating`` dispatcher.go, plugin.go, reinvocationcontext.go,
``.../policy/generic/policy_dispatcher.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from extapi.admission.base import Operation, Review
from extapi.admission.current import CurrentObjects
from extapi.admission.expressions.authorizing import Checks
from extapi.admission.expressions.environment import Input
from extapi.admission.expressions.evaluating import INLINE, Evaluator, Expired, ExpressionError
from extapi.admission.matching.rules import Subject
from extapi.admission.policies.checks import MutationChecks
from extapi.admission.policies.definition import Binding, Hook, PolicyDefinition
from extapi.admission.policies.matching import PolicyMatcher
from extapi.admission.policies.mutations import Mutations, Patch, changed
from extapi.admission.policies.params import ParamError, Params
from extapi.admission.reinvocation import ReinvocationContext
from extapi.admission.rulesources import RuleSources
from extapi.admission.shown import ShownObjects, converting, kind_name, request_members, subject
from extapi.api.jsonvalue import json_equal
from extapi.api.types import Obj
from extapi.client.status import error_from_status
from extapi.clock import Clock, sleep
from extapi.errors import ApiError, Forbidden, InternalError, StatusCause, Timeout, go_quote

NAME: Final = "MutatingAdmissionPolicy"
_INVALID: Final = "Invalid"

Key = tuple[str, str, str, str]
"""Names a policy, a binding, and the namespace and name of a param: what is asked once more, or is not."""


class _Invocation(NamedTuple):
    """A policy that is to change the object."""

    definition: PolicyDefinition[Mutations]
    binding: Binding
    version: str
    """The version in which it is shown the object."""
    param: Obj | None

    @property
    def key(self) -> Key:
        metadata = {} if self.param is None else self.param.get("metadata") or {}
        named = str(metadata.get("namespace") or ""), str(metadata.get("name") or "")
        return (self.definition.name, self.binding.name, *named)


class _Failure(NamedTuple):
    """Why the write is refused, unless the policy ignores failures."""

    definition: PolicyDefinition[Mutations]
    binding: Binding | None
    message: str
    reason: str = ""

    def __str__(self) -> str:
        name = self.definition.name
        if self.binding is None:
            return f"policy {go_quote(name)} denied request: {self.message}"
        return f"policy '{name}' with binding '{self.binding.name}' denied request: {self.message}"


class _Calls:
    """Which policies have been asked about one write, and which have to be asked again."""

    def __init__(self) -> None:
        self.invoked: set[Key] = set()
        """Those that may be asked again, and have seen the object as it is now."""
        self.due: set[Key] = set()

    def require(self) -> None:
        """The object has changed: whoever has seen it has to see it again."""
        self.due |= self.invoked
        self.invoked = set()


class MutatingPolicies:
    """The plugin. It is a mutator (:class:`extapi.admission.base.Mutator`).

    Args:
        matcher: Finds policies.
        params: Knows their params.
        evaluator: Runs expressions.
        clock: The reactor's clock.
        checks: Counts what came of them.
    """

    plugin_name = NAME
    compares_output = True
    rules: RuleSources | None = None
    """All configurations of the cluster; the chain asks them before it asks the plugin."""

    def __init__(
        self,
        matcher: PolicyMatcher[Mutations],
        params: Params,
        evaluator: Evaluator,
        clock: Clock,
        checks: MutationChecks,
    ) -> None:
        self._checks = checks
        self._matcher = matcher
        self._params = params
        self._evaluator = evaluator
        self._clock = clock

    def handles(self, review: Review) -> bool:
        """Whether a policy may be about the write. What is deleted has nothing to change."""
        return review.operation != Operation.DELETE and self._matcher.may_match(review)

    async def mutate(self, review: Review) -> None:
        """Ask all policies about a write, and change its object as they say.

        Raises:
            ApiError: A policy cannot be evaluated or applied. All of them are asked; the answer is the first one's.
        """
        hooks = await self._matcher.candidates(review)
        if not hooks:
            return
        current = CurrentObjects(review, "an admission policy")
        # Which policies are asked is found out before any of them has changed the object.
        finding = _Finding(self._matcher, self._params, review, current)
        for hook in hooks:
            await finding.look_at(hook)
        failures = finding.failures
        if finding.invocations:
            failures += await self._invoke(finding.invocations, review, current)
        refusing = [each for each in failures if each.definition.failure_policy != "Ignore"]
        if refusing:
            raise _refusal(refusing, review)

    async def _invoke(
        self, invocations: Sequence[_Invocation], review: Review, current: CurrentObjects
    ) -> list[_Failure]:
        """Ask policies, and change the object; what has failed."""
        context = review.reinvocation or ReinvocationContext()
        calls: _Calls = context.values.setdefault(NAME, _Calls())
        if context.again and context.outputs.get(NAME) != review.obj:
            calls.require()
        namespace = await self._matcher.namespace(review)
        run = _Run(self._evaluator, self._clock, self._checks, review, current, namespace)
        for each in invocations:
            if await run.matches(each) and not (context.again and each.key not in calls.due):
                if await run.mutate(each):
                    calls.require()
                if each.definition.evaluator.reinvoked:
                    calls.invoked.add(each.key)
            await run.give_way()
        if run.patched:
            # As there, whoever has seen the object sees it once more, even if it has not changed since.
            calls.require()
            context.wanted = True
        await current.finish()
        return run.failures


class _Finding:
    """Finds what is to be asked about one write."""

    def __init__(
        self, matcher: PolicyMatcher[Mutations], params: Params, review: Review, current: CurrentObjects
    ) -> None:
        self._matcher = matcher
        self._params = params
        self._review = review
        self._current = current
        self._about: Subject = subject(review)
        self._name = "" if current.unnamed else review.name
        self.invocations: list[_Invocation] = []
        self.failures: list[_Failure] = []

    async def look_at(self, hook: Hook[Mutations]) -> None:
        """Find out whether a policy is to be asked, for which bindings and with which params."""
        review, definition = self._review, hook.definition
        try:
            version = await self._matcher.version(definition.constraints, review, self._about, self._name)
            if version is None:
                return
            await self._params.check(definition.param_kind)
        except (ApiError, ParamError) as error:
            self._misconfigured(definition, None, error)
            return
        for binding in hook.bindings:
            try:
                if not await self._matcher.binds(binding, review, self._about, self._name):
                    continue
            except ApiError as error:
                self._misconfigured(definition, binding, error)
                continue
            try:
                await self._current.at(version)
            except ApiError as error:
                self._misconfigured(definition, None, error)
                continue
            try:
                params = await self._params.collect(definition.param_kind, binding.param_ref, review.namespace)
            except ParamError as error:
                self._misconfigured(definition, binding, error)
                continue
            self.invocations += [_Invocation(definition, binding, version, param) for param in params]

    def _misconfigured(self, definition: PolicyDefinition[Mutations], binding: Binding | None, why: Exception) -> None:
        what = "policy" if binding is None else "binding"
        self.failures.append(_Failure(definition, binding, f"failed to configure {what}: {why}"))


class _Run:
    """One pass of policies over the object of a write.

    Args:
        evaluator: Runs expressions.
        clock: The reactor's clock.
        checks: Counts mutations.
        review: The write.
        current: Its objects.
        namespace: Its namespace, as expressions see it.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        clock: Clock,
        checks: MutationChecks,
        review: Review,
        current: CurrentObjects,
        namespace: Obj | None,
    ) -> None:
        self._evaluator = evaluator
        self._checks = checks
        self._clock = clock
        self._began = clock.seconds()
        self._review = review
        self._current = current
        self._namespace = namespace
        self._versions = converting(review)
        self._name = "" if current.unnamed else review.name
        self.failures: list[_Failure] = []
        self.patched = False
        """Whether a patch has been applied, even if it has changed nothing."""

    async def give_way(self) -> None:
        """Let others be served if this has taken long.

        Raises:
            Timeout: The request's time is up.
        """
        if self._clock.seconds() - self._began >= INLINE:
            await sleep(self._clock, 0)
            self._began = self._clock.seconds()
        if self._began >= self._review.deadline:
            raise Timeout("Timeout: request did not complete within requested timeout", with_details=True)

    async def matches(self, invocation: _Invocation) -> bool:
        """Whether the match conditions of a policy are true."""
        shown = await self._current.at(invocation.version)
        conditions = invocation.definition.evaluator.conditions
        if not conditions:
            return True
        given = self._input(invocation, shown)

        def evaluate(checks: Checks, expired: Expired) -> bool:
            return conditions.evaluate(given, checks, expired)

        try:
            return await self._evaluator.run(evaluate, given.user, self._review.deadline)
        except ExpressionError as error:
            self._failed(invocation, error)
            return False

    async def mutate(self, invocation: _Invocation) -> bool:
        """Change the object as a policy says; whether that has changed it. Mutations after one that fails are made, too."""
        before = self._current.latest.obj
        for index in range(len(invocation.definition.evaluator)):
            if self._current.latest.obj is None:  # a connection has no object
                break
            why = ""
            try:
                await self._mutate_once(invocation, index)
            except ExpressionError as error:
                why = str(error)
                self._failed(invocation, error)
            except ApiError as error:
                why = str(error)
                raise
            finally:
                self._checks.note(invocation.definition.name, invocation.binding.name, why)
            await self.give_way()
        after = self._current.latest.obj
        return after is not before and not json_equal(after, before)

    async def _mutate_once(self, invocation: _Invocation, index: int) -> None:
        """Make one mutation.

        Raises:
            ExpressionError: It fails.
            ApiError: What it leaves is no object of the kind.
        """
        mutations = invocation.definition.evaluator
        shown = self._current.latest
        given = self._input(invocation, shown)

        def evaluate(checks: Checks, expired: Expired) -> Patch:
            return mutations.evaluate(index, given, checks, expired)

        patch = await self._evaluator.run(evaluate, given.user, self._review.deadline)
        obj: Any = shown.obj
        atom = None if self._versions is None else self._versions.atom(invocation.version)
        after = changed(obj, patch, atom)
        self._check_group(after)
        self.patched = True
        if after is not obj and not json_equal(after, obj):
            self._current.replace(after)

    def _check_group(self, obj: Obj) -> None:
        """Check that a changed object is of the group that it was of.

        Raises:
            InternalError: It is of another.
        """
        review, (group, _, version) = self._review, str(obj.get("apiVersion") or "").rpartition("/")
        if group != kind_name(review, review.path_version).group:
            unfit = f"{group}/{version}, Kind={obj.get('kind')} is unstructured and is not suitable for converting to"
            own = f"{review.group}/{review.path_version}"
            raise InternalError.because(f"failed to convert object: {unfit} {go_quote(own)}")

    def _input(self, invocation: _Invocation, shown: ShownObjects) -> Input:
        """What expressions look at."""
        review, name = self._review, self._name
        kind, request_kind = kind_name(review, invocation.version), kind_name(review, review.path_version)
        members = request_members(review, kind, request_kind, invocation.version, name)
        resource = (review.group, review.resource, review.subresource, review.namespace, name)
        return Input(shown.obj, shown.old, members, review.user, resource, invocation.param, self._namespace)

    def _failed(self, invocation: _Invocation, error: Exception) -> None:
        self.failures.append(_Failure(invocation.definition, invocation.binding, str(error), _INVALID))


def _refusal(failures: Sequence[_Failure], review: Review) -> ApiError:
    """The answer for a write that is refused: the first failure says why, the causes say all."""
    messages = list(map(str, failures))
    causes = [StatusCause(message=each) for each in messages]
    error = Forbidden.on(review.resource, review.group, review.display_name(), "", causes=causes)
    status = {**error.status(), "message": messages[0], "reason": failures[0].reason or error.reason}
    return error_from_status(status, error.code)
